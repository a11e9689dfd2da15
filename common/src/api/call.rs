//! Says what one request asks for; builds it, never sends it.

use std::{borrow::Cow, fmt};

use http::{Request, header};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;

use super::resource::{Resource, Verb};

/// How much of an object the answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The whole object.
    Full,
    /// Its metadata only: a tenth of a pod.
    Metadata,
    /// The metadata only of each of many.
    MetadataList,
}

/// How much of each of many objects is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Its metadata only.
    Metadata,
    /// All of it.
    Full,
}

/// How a PATCH is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Server-side apply.
    Apply,
    /// A JSON merge patch: what it names is set, null takes away, lists are replaced.
    Merge,
}

/// An object of which only the metadata was asked for.
#[derive(Debug, Deserialize)]
pub struct MetadataOnly {
    /// `metadata`
    pub metadata: ObjectMeta,
}

/// Which objects of a resource are listed or watched.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The resource.
    pub resource: Resource,
    /// Where; `None` for all namespaces.
    pub namespace: Option<String>,
    /// A label selector.
    pub labels: String,
    /// A field selector, or nothing.
    pub fields: &'static str,
    /// How much of each.
    pub extent: Extent,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is done.
    pub verb: Verb,
    /// To what kind of object.
    pub resource: Resource,
    /// Where; empty for what has no namespace, and for all namespaces.
    pub namespace: String,
    /// To which object; empty for many.
    pub name: String,
    subresource: &'static str,
    query: Vec<(&'static str, Cow<'static, str>)>,
    answer: Answer,
    change: Change,
    body: Option<Value>,
}

impl Call {
    /// Reads one object.
    #[must_use]
    pub fn get(resource: Resource, namespace: &str, name: &str) -> Self {
        Self::new(Verb::Get, resource, namespace, name, None)
    }

    /// Reads the metadata of one object, as [`MetadataOnly`].
    #[must_use]
    pub fn get_metadata(resource: Resource, namespace: &str, name: &str) -> Self {
        Self { answer: Answer::Metadata, ..Self::get(resource, namespace, name) }
    }

    /// Creates one object; a field that the API does not know is refused rather than dropped.
    #[must_use]
    pub fn create(resource: Resource, namespace: &str, name: &str, object: Value, manager: &'static str) -> Self {
        let mut call = Self::new(Verb::Create, resource, namespace, name, Some(object));
        call.query = vec![("fieldManager", manager.into()), ("fieldValidation", "Strict".into())];
        call
    }

    /// Server-side apply without force: another manager's other value is a conflict. Answers with [`MetadataOnly`].
    #[must_use]
    pub fn apply(resource: Resource, namespace: &str, name: &str, object: Value, manager: &'static str) -> Self {
        let mut call = Self::new(Verb::Patch, resource, namespace, name, Some(object));
        call.query = vec![("fieldManager", manager.into()), ("force", "false".into())];
        call.answer = Answer::Metadata;
        call
    }

    /// Changes what a JSON merge patch names. With `metadata.resourceVersion` in it, only where the object still is the one
    /// that was judged.
    #[must_use]
    pub fn merge(resource: Resource, namespace: &str, name: &str, patch: Value, manager: &'static str) -> Self {
        let mut call = Self::new(Verb::Patch, resource, namespace, name, Some(patch));
        call.query = vec![("fieldManager", manager.into()), ("fieldValidation", "Strict".into())];
        call.change = Change::Merge;
        call
    }

    /// The same for the object's status, which is a resource of its own.
    #[must_use]
    pub fn of_status(mut self) -> Self {
        self.subresource = "status";
        self
    }

    /// Deletes one object, provided that it still is the one that was judged.
    #[must_use]
    pub fn delete(resource: Resource, namespace: &str, name: &str, uid: &str, resource_version: &str) -> Self {
        let options = serde_json::json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": { "uid": uid, "resourceVersion": resource_version },
        });
        Self::new(Verb::Delete, resource, namespace, name, Some(options))
    }

    /// Asks the API to judge the request in full and to store nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.query.push(("dryRun", "All".into()));
        self
    }

    /// Lists at most `limit` objects, from where an earlier page ended.
    #[must_use]
    pub fn list(selection: &Selection, limit: u32, continued: Option<&str>) -> Self {
        let mut call = Self::of_many(Verb::List, selection);
        call.answer = match selection.extent {
            Extent::Metadata => Answer::MetadataList,
            Extent::Full => Answer::Full,
        };
        call.query.push(("limit", limit.to_string().into()));
        call.query.extend(continued.map(|token| ("continue", token.to_owned().into())));
        call
    }

    /// Watches objects from a resource version on, with bookmarks.
    #[must_use]
    pub fn watch(selection: &Selection, resource_version: &str) -> Self {
        let mut call = Self::of_many(Verb::Watch, selection);
        call.answer = match selection.extent {
            Extent::Metadata => Answer::Metadata,
            Extent::Full => Answer::Full,
        };
        call.query.push(("watch", "true".into()));
        call.query.push(("allowWatchBookmarks", "true".into()));
        call.query.push(("resourceVersion", resource_version.to_owned().into()));
        call
    }

    fn of_many(verb: Verb, selection: &Selection) -> Self {
        let namespace = selection.namespace.as_deref().unwrap_or_default();
        let mut call = Self::new(verb, selection.resource, namespace, "", None);
        let selectors =
            [("labelSelector", selection.labels.clone().into()), ("fieldSelector", selection.fields.into())];
        call.query.extend(selectors.into_iter().filter(|(_, selector): &(_, Cow<'_, str>)| !selector.is_empty()));
        call
    }

    fn new(verb: Verb, resource: Resource, namespace: &str, name: &str, body: Option<Value>) -> Self {
        Self {
            verb,
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: "",
            query: Vec::new(),
            answer: Answer::Full,
            change: Change::Apply,
            body,
        }
    }

    /// The resource as RBAC rules name it.
    #[must_use]
    pub fn rule(&self) -> String {
        match self.subresource {
            "" => self.resource.plural().to_owned(),
            subresource => format!("{}/{subresource}", self.resource.plural()),
        }
    }

    /// Builds the HTTP request.
    ///
    /// # Errors
    /// Where a name makes no URI; names that came from the API or were validated never do.
    pub fn request(&self) -> Result<Request<Body>, http::Error> {
        let accept = match self.answer {
            Answer::Full => "application/json",
            Answer::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Answer::MetadataList => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        };
        let content_type = match (self.verb, self.change) {
            // JSON is YAML; the apply endpoint takes no other media type that every supported version knows.
            (Verb::Patch, Change::Apply) => "application/apply-patch+yaml",
            (Verb::Patch, Change::Merge) => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(self.verb.method()).uri(self.uri()).header(header::ACCEPT, accept);
        let body = match &self.body {
            Some(value) => {
                request = request.header(header::CONTENT_TYPE, content_type);
                Body::from(value.to_string().into_bytes())
            }
            None => Body::empty(),
        };
        request.body(body)
    }

    fn uri(&self) -> String {
        let mut uri = match self.resource.group() {
            "" => String::from("/api/"),
            group => format!("/apis/{group}/"),
        };
        uri.push_str(self.resource.version());
        if !self.namespace.is_empty() {
            uri.push_str("/namespaces/");
            uri.push_str(&self.namespace);
        }
        uri.push('/');
        uri.push_str(self.resource.plural());
        if self.verb != Verb::Create && !self.name.is_empty() {
            uri.push('/');
            uri.push_str(&self.name);
        }
        if !self.subresource.is_empty() {
            uri.push('/');
            uri.push_str(self.subresource);
        }
        for (index, (key, value)) in self.query.iter().enumerate() {
            uri.push(if index == 0 { '?' } else { '&' });
            uri.push_str(key);
            uri.push('=');
            uri.extend(form_urlencoded::byte_serialize(value.as_bytes()));
        }
        uri
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.verb, Verb::List | Verb::Watch) {
            write!(f, "{} {} in ", self.verb.as_str(), self.resource.plural())?;
            return match self.namespace.as_str() {
                "" => f.write_str("all namespaces"),
                namespace => write!(f, "namespace {namespace}"),
            };
        }
        write!(f, "{} {} ", self.verb.as_str(), self.resource.kind())?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parts(call: &Call) -> (String, String, Option<String>, String) {
        let (head, body) = call.request().unwrap().into_parts();
        let content_type = head.headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
        let body = String::from_utf8(body.collect_bytes().await.unwrap().to_vec()).unwrap();
        (head.method.to_string(), head.uri.to_string(), content_type, body)
    }

    #[tokio::test]
    async fn requests_carry_method_path_query_and_body() {
        let service = serde_json::json!({"kind": "Service"});
        let (method, uri, content_type, body) =
            parts(&Call::create(Resource::Services, "ns", "app-0", service.clone(), "me").dry_run()).await;
        assert_eq!(method, "POST");
        assert_eq!(uri, "/api/v1/namespaces/ns/services?fieldManager=me&fieldValidation=Strict&dryRun=All");
        assert_eq!(content_type.as_deref(), Some("application/json"));
        assert_eq!(body, r#"{"kind":"Service"}"#);

        let (method, uri, content_type, _) = parts(&Call::apply(Resource::Pods, "ns", "app-0", service, "me")).await;
        assert_eq!(method, "PATCH");
        assert_eq!(uri, "/api/v1/namespaces/ns/pods/app-0?fieldManager=me&force=false");
        assert_eq!(content_type.as_deref(), Some("application/apply-patch+yaml"));

        let status = serde_json::json!({"status": {"endpoints": 3}});
        let (method, uri, content_type, body) =
            parts(&Call::merge(Resource::OriginalNetServices, "ns", "web", status.clone(), "me").of_status()).await;
        assert_eq!(method, "PATCH");
        assert_eq!(
            uri,
            "/apis/svcctl.metaswitch.com/v1alpha1/namespaces/ns/netservices/web/status?fieldManager=me&fieldValidation=Strict"
        );
        assert_eq!((content_type.as_deref(), body), (Some("application/merge-patch+json"), status.to_string()));

        let (_, uri, ..) = parts(&Call::create(Resource::EndpointSlices, "ns", "web-0", status, "me")).await;
        assert!(uri.starts_with("/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices?"), "{uri}");

        let (method, uri, _, body) = parts(&Call::get(Resource::Nodes, "", "node-1")).await;
        assert_eq!((method.as_str(), uri.as_str(), body.as_str()), ("GET", "/api/v1/nodes/node-1", ""));
    }

    #[tokio::test]
    async fn many_are_asked_for_by_selectors_and_as_metadata() {
        let pods = Selection {
            resource: Resource::Pods,
            namespace: Some("ns".into()),
            labels: "ipfPodName,tier in (a, b),product!=ipfv2".into(),
            fields: "status.phase!=Failed",
            extent: Extent::Metadata,
        };
        let call = Call::list(&pods, 250, Some("eyJ2IjoibWV0YS5rOHMuaW8vdjEi=="));
        let (method, uri, ..) = parts(&call).await;
        assert_eq!(method, "GET");
        assert_eq!(
            uri,
            "/api/v1/namespaces/ns/pods?labelSelector=ipfPodName%2Ctier+in+%28a%2C+b%29%2Cproduct%21%3Dipfv2&fieldSelector=status.phase%21%3DFailed&limit=250&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEi%3D%3D"
        );
        assert!(
            call.request().unwrap().headers()[header::ACCEPT].to_str().unwrap().contains("PartialObjectMetadataList;")
        );
        assert_eq!(call.to_string(), "list pods in namespace ns");

        let services = Selection {
            namespace: None,
            resource: Resource::Services,
            labels: "a=b".into(),
            fields: "",
            extent: Extent::Metadata,
        };
        let call = Call::watch(&services, "42");
        let (_, uri, ..) = parts(&call).await;
        assert_eq!(uri, "/api/v1/services?labelSelector=a%3Db&watch=true&allowWatchBookmarks=true&resourceVersion=42");
        // The form for lists would make the API answer with an empty stream.
        assert!(call.request().unwrap().headers()[header::ACCEPT].to_str().unwrap().contains("PartialObjectMetadata;"));
        assert_eq!(call.to_string(), "watch services in all namespaces");

        let whole = Selection { extent: Extent::Full, ..services };
        for call in [Call::list(&whole, 250, None), Call::watch(&whole, "42")] {
            assert_eq!(call.request().unwrap().headers()[header::ACCEPT], "application/json");
        }
    }

    #[tokio::test]
    async fn a_delete_names_the_very_object_that_was_judged() {
        let (method, uri, content_type, body) =
            parts(&Call::delete(Resource::Services, "ns", "app-0", "u1", "42")).await;
        assert_eq!((method.as_str(), uri.as_str()), ("DELETE", "/api/v1/namespaces/ns/services/app-0"));
        // Any other media type would make the API ignore the preconditions, and delete.
        assert_eq!(content_type.as_deref(), Some("application/json"));
        let options: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(options["preconditions"], serde_json::json!({"uid": "u1", "resourceVersion": "42"}));
    }
}
