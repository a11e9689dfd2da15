//! What a template can name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value as Json};

use crate::template::Shape;

/// The pod's own data, as far as it is known. An unknown value is an error only in a template that names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// `metadata.name` of the pod.
    pub pod_name: Option<String>,
    /// `metadata.namespace` of the pod.
    pub namespace: Option<String>,
    /// `metadata.uid` of the pod.
    pub pod_uid: Option<String>,
    /// `spec.nodeName` of the pod.
    pub node_name: Option<String>,
    /// `status.podIP` of the pod.
    pub pod_ip: Option<String>,
    /// `status.hostIP` of the pod.
    pub host_ip: Option<String>,
    /// `metadata.labels` of the pod; empty where the pod is known to have none.
    pub labels: Option<BTreeMap<String, String>>,
    /// `metadata.annotations` of the pod; empty where the pod is known to have none.
    pub annotations: Option<BTreeMap<String, String>>,
}

/// A name that a template can use, spelled as in the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The pod's name.
    PodName,
    /// The pod's namespace.
    Namespace,
    /// The pod's UID.
    PodUID,
    /// The name of the pod's node.
    NodeName,
    /// The pod's primary address.
    PodIP,
    /// The primary address of the pod's node.
    HostIP,
    /// The integer behind the last hyphen of the pod's name, which a StatefulSet gives to each of its pods.
    Ordinal,
    /// The pod's labels.
    Labels,
    /// The pod's annotations.
    Annotations,
}

impl Field {
    /// Every field.
    pub const ALL: [Self; 9] = [
        Self::PodName,
        Self::Namespace,
        Self::PodUID,
        Self::NodeName,
        Self::PodIP,
        Self::HostIP,
        Self::Ordinal,
        Self::Labels,
        Self::Annotations,
    ];

    /// The name in a template.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PodName => "PodName",
            Self::Namespace => "Namespace",
            Self::PodUID => "PodUID",
            Self::NodeName => "NodeName",
            Self::PodIP => "PodIP",
            Self::HostIP => "HostIP",
            Self::Ordinal => "Ordinal",
            Self::Labels => "labels",
            Self::Annotations => "annotations",
        }
    }

    /// The field of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    fn shape(self) -> Shape {
        match self {
            Self::Ordinal => Shape::Number,
            Self::Labels | Self::Annotations => {
                Shape::Object { fields: BTreeMap::new(), others: Some(Box::new(Shape::Text)) }
            }
            _ => Shape::Text,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The fields that a template names, so that the caller reads the pod only where one of them needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(BTreeSet<Field>);

impl Needs {
    /// The fields, each once.
    pub fn iter(&self) -> impl Iterator<Item = Field> {
        self.0.iter().copied()
    }
}

impl FromIterator<Field> for Needs {
    fn from_iter<T: IntoIterator<Item = Field>>(fields: T) -> Self {
        Self(fields.into_iter().collect())
    }
}

/// A value that the template names is not known.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownValue {
    /// Nobody said the pod's name.
    #[error("PodName is not known: set pod, or mount the service account token, which carries it")]
    PodName,
    /// Nobody said the namespace.
    #[error("Namespace is not known: set namespace, or mount the service account token, which carries it")]
    Namespace,
    /// Neither the token nor the API told the UID.
    #[error("PodUID is not known: set pod-uid from the field metadata.uid, or allow `get` on pods")]
    PodUID,
    /// Neither the token nor the API told the node.
    #[error("NodeName is not known: set node-name from the field spec.nodeName, or allow `get` on pods")]
    NodeName,
    /// The pod has no address yet as far as the API knows.
    #[error(
        "PodIP is not known: Kubernetes may set status.podIP only after the init containers have started; \
         set the environment variable POD_IP from the field status.podIP"
    )]
    PodIP,
    /// The API did not tell the node's address.
    #[error("HostIP is not known: set host-ip from the field status.hostIP, or allow `get` on pods")]
    HostIP,
    /// The pod's name ends in no number.
    #[error(
        "Ordinal is not known: the pod's name {0:?} does not end in a hyphen and a number, as a StatefulSet's does"
    )]
    Ordinal(String),
    /// The pod was not read.
    #[error("{0} are not known: they are read from the pod; allow `get` on pods")]
    Set(Field),
}

impl Values {
    fn ordinal(&self) -> Option<i64> {
        self.pod_name.as_deref().and_then(ordinal)
    }

    /// Whether the field can be rendered.
    ///
    /// # Errors
    /// The field is not known; the error says what to set.
    pub fn require(&self, field: Field) -> Result<(), UnknownValue> {
        match field {
            Field::PodName if self.pod_name.is_none() => Err(UnknownValue::PodName),
            Field::Namespace if self.namespace.is_none() => Err(UnknownValue::Namespace),
            Field::PodUID if self.pod_uid.is_none() => Err(UnknownValue::PodUID),
            Field::NodeName if self.node_name.is_none() => Err(UnknownValue::NodeName),
            Field::PodIP if self.pod_ip.is_none() => Err(UnknownValue::PodIP),
            Field::HostIP if self.host_ip.is_none() => Err(UnknownValue::HostIP),
            Field::Ordinal if self.pod_name.is_none() => Err(UnknownValue::PodName),
            Field::Labels if self.labels.is_none() => Err(UnknownValue::Set(field)),
            Field::Annotations if self.annotations.is_none() => Err(UnknownValue::Set(field)),
            _ => Ok(()),
        }
    }

    /// The known values under their names in a template. What is not known is left out, never null.
    pub(crate) fn to_json(&self) -> Json {
        let texts = [
            (Field::PodName, &self.pod_name),
            (Field::Namespace, &self.namespace),
            (Field::PodUID, &self.pod_uid),
            (Field::NodeName, &self.node_name),
            (Field::PodIP, &self.pod_ip),
            (Field::HostIP, &self.host_ip),
        ];
        let sets = [(Field::Labels, &self.labels), (Field::Annotations, &self.annotations)];
        let texts = texts.into_iter().filter_map(|(field, text)| Some((field, Json::from(text.as_deref()?))));
        let sets = sets.into_iter().filter_map(|(field, set)| {
            let set = set.as_ref()?.iter().map(|(key, value)| (key.clone(), Json::from(value.as_str())));
            Some((field, Json::Object(set.collect())))
        });
        let ordinal = self.ordinal().map(|ordinal| (Field::Ordinal, Json::from(ordinal)));
        let all = texts.chain(sets).chain(ordinal);
        Json::Object(all.map(|(field, value)| (field.name().to_owned(), value)).collect::<Map<_, _>>())
    }

    /// The shape of every template's values: which names there are, and what each of them is.
    pub(crate) fn shape() -> Shape {
        let fields = Field::ALL.into_iter().map(|field| (field.name().to_owned(), field.shape())).collect();
        Shape::Object { fields, others: None }
    }
}

/// The integer behind the last hyphen of a pod's name, which a StatefulSet gives to each of its pods; none where
/// there is no such integer.
#[must_use]
pub fn ordinal(pod_name: &str) -> Option<i64> {
    let (_, last) = pod_name.rsplit_once('-')?;
    let is_canonical = last.bytes().all(|b| b.is_ascii_digit()) && (last == "0" || !last.starts_with('0'));
    if is_canonical { last.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ordinal_is_the_number_behind_the_last_hyphen() {
        for (pod, ordinal) in [
            ("app-0", Some(0)),
            ("my-app-12", Some(12)),
            ("app", None),
            ("app-", None),
            ("app-7d9c-x2x4z", None),
            ("app-01", None),
            ("app--1", Some(1)),
            ("app-+1", None),
            ("123", None),
            ("app-99999999999999999999", None),
        ] {
            assert_eq!(super::ordinal(pod), ordinal, "of {pod}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let values = Values { pod_name: Some("a-1".to_owned()), labels: Some(BTreeMap::new()), ..Values::default() };
        assert_eq!(values.to_json(), serde_json::json!({"PodName": "a-1", "Ordinal": 1, "labels": {}}));
        for field in Field::ALL {
            let known = matches!(field, Field::PodName | Field::Ordinal | Field::Labels);
            assert_eq!(values.require(field).is_ok(), known, "{field}");
        }
    }
}
