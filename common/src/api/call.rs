//! Says what one request asks for; builds it, never sends it.

use std::fmt;

use http::{Method, Request, header};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;

/// A resource of the core group that the programs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// `services`
    Services,
    /// `pods`
    Pods,
    /// `configmaps`
    ConfigMaps,
    /// `nodes`, which have no namespace.
    Nodes,
    /// `events`
    Events,
}

impl Resource {
    /// The name in RBAC rules and request paths.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Services => "services",
            Self::Pods => "pods",
            Self::ConfigMaps => "configmaps",
            Self::Nodes => "nodes",
            Self::Events => "events",
        }
    }

    /// The kind, for messages.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Services => "Service",
            Self::Pods => "Pod",
            Self::ConfigMaps => "ConfigMap",
            Self::Nodes => "Node",
            Self::Events => "Event",
        }
    }
}

/// An RBAC verb of a request about one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// GET
    Get,
    /// POST
    Create,
    /// PATCH, here always a server-side apply.
    Patch,
    /// DELETE
    Delete,
}

impl Verb {
    /// The verb in RBAC rules.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Create => Method::POST,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }
}

/// How much of an object the answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The whole object.
    Full,
    /// Its metadata only: a tenth of a pod.
    Metadata,
}

/// An object of which only the metadata was asked for.
#[derive(Debug, Deserialize)]
pub struct MetadataOnly {
    /// `metadata`
    pub metadata: ObjectMeta,
}

/// One request about one object.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is done.
    pub verb: Verb,
    /// To what kind of object.
    pub resource: Resource,
    /// Where; empty for what has no namespace.
    pub namespace: String,
    /// To which object.
    pub name: String,
    query: Vec<(&'static str, &'static str)>,
    answer: Answer,
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
        call.query = vec![("fieldManager", manager), ("fieldValidation", "Strict")];
        call
    }

    /// Server-side apply without force: another manager's other value is a conflict. Answers with [`MetadataOnly`].
    #[must_use]
    pub fn apply(resource: Resource, namespace: &str, name: &str, object: Value, manager: &'static str) -> Self {
        let mut call = Self::new(Verb::Patch, resource, namespace, name, Some(object));
        call.query = vec![("fieldManager", manager), ("force", "false")];
        call.answer = Answer::Metadata;
        call
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
        self.query.push(("dryRun", "All"));
        self
    }

    fn new(verb: Verb, resource: Resource, namespace: &str, name: &str, body: Option<Value>) -> Self {
        Self {
            verb,
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            query: Vec::new(),
            answer: Answer::Full,
            body,
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
        };
        let content_type = match self.verb {
            // JSON is YAML; the apply endpoint takes no other media type that every supported version knows.
            Verb::Patch => "application/apply-patch+yaml",
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
        let mut uri = String::from("/api/v1");
        if !self.namespace.is_empty() {
            uri.push_str("/namespaces/");
            uri.push_str(&self.namespace);
        }
        uri.push('/');
        uri.push_str(self.resource.plural());
        if self.verb != Verb::Create {
            uri.push('/');
            uri.push_str(&self.name);
        }
        for (index, (key, value)) in self.query.iter().enumerate() {
            uri.push(if index == 0 { '?' } else { '&' });
            uri.push_str(key);
            uri.push('=');
            uri.push_str(value);
        }
        uri
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

        let (method, uri, _, body) = parts(&Call::get(Resource::Nodes, "", "node-1")).await;
        assert_eq!((method.as_str(), uri.as_str(), body.as_str()), ("GET", "/api/v1/nodes/node-1", ""));
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
