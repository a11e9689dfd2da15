//! The custom resource definitions of NetService, made of its Rust types; what no type says is in the rules. It serves nothing:
//! `make docs` writes them to the files that users apply.

mod conditions;
pub(crate) mod rules;
mod structural;

pub(crate) use conditions::conditions;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::resource::{Group, KIND, PLURAL, Spec, Status, VERSION};

/// The name in singular, and the short one: `ns` is that of namespaces.
const SINGULAR: &str = "netservice";
const SHORT: &str = "netsvc";

/// The definition of the resource in this group, as `apiextensions.k8s.io/v1` has it.
///
/// # Panics
/// When it is none.
#[must_use]
#[allow(clippy::expect_used, reason = "it depends on nothing but the types, and a test makes it")]
pub fn crd(group: Group) -> CustomResourceDefinition {
    let definition = json!({
        "metadata": {"name": format!("{PLURAL}.{group}")},
        "spec": {
            "group": group.as_str(),
            "scope": "Namespaced",
            // The demonstration's definition, of a time when it was true by default, is replaced with all that follows from that.
            "preserveUnknownFields": false,
            "names": {"plural": PLURAL, "singular": SINGULAR, "kind": KIND, "listKind": format!("{KIND}List"), "shortNames": [SHORT]},
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": schema()},
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
            }],
        },
    });
    serde_json::from_value(definition).expect("what types and rules make is a CustomResourceDefinition")
}

fn schema() -> Value {
    json!({
        "description": "A Service of the same name, whose endpoints are addresses of the selected pods on one network: an additional \
                        one, or the pod network.",
        "type": "object",
        "required": ["spec"],
        "properties": {"metadata": {"type": "object"}, "spec": of::<Spec>(), "status": of::<Status>()},
        "x-kubernetes-validations": rules::name(),
    })
}

fn of<T: JsonSchema>() -> Value {
    structural::settings().into_generator().into_root_schema_for::<T>().to_value()
}

/// What `kubectl get` shows.
fn columns() -> Value {
    let column = |name: &str, kind: &str, path: &str, description: &str| json!({"name": name, "type": kind, "jsonPath": path, "description": description});
    let mut columns = vec![
        column("Type", "string", ".spec.type", "Type of the Service"),
        column("Network", "string", ".spec.netAttachDef", "Network of the endpoints; none: the pod network"),
        column("Endpoints", "integer", ".status.endpoints", "Endpoints that are ready"),
        column(
            "Ready",
            "string",
            ".status.conditions[?(@.type==\"Ready\")].status",
            "Whether all is as the spec asks for",
        ),
        column("Reason", "string", ".status.conditions[?(@.type==\"Ready\")].reason", "Why, or why not"),
        column("Age", "date", ".metadata.creationTimestamp", "Time since it was created"),
    ];
    // Only with `--output wide`.
    columns[4]["priority"] = 1.into();
    columns.into()
}
