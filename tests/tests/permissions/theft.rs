//! What a stolen token can be used for, and what the API server says to it.

use serde_json::Value;

/// One use of a stolen token.
#[derive(Debug)]
pub(crate) struct Theft {
    /// What is tried.
    pub(crate) what: &'static str,
    /// The policy that refuses it, by its file.
    pub(crate) policy: &'static str,
    /// The message of its clause that does.
    pub(crate) refusal: &'static str,
    /// Whose token it is.
    pub(crate) thief: Thief,
    /// The request.
    pub(crate) deed: Deed,
}

/// Whose token was stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thief {
    /// This pod's.
    Pod(&'static str),
    /// One of the account, bound to no pod.
    Unbound,
    /// The account's from a Secret, as before Kubernetes 1.24; it says nothing of any pod.
    Secret,
    /// That of the pod of this name in another namespace, of the same account.
    Neighbour(&'static str),
    /// The watcher's.
    Watcher,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// A Service is created.
    CreateService(Value),
    /// The Service of this name is changed, by a merge patch.
    ChangeService(&'static str, Value),
    /// The pod of this name is changed, by a strategic merge patch.
    ChangePod(&'static str, Value),
    /// The Service of this name is deleted.
    DeleteService(&'static str),
}

/// Whether a request takes effect where it is not refused. It is judged alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It does.
    Stored,
    /// It does not.
    DryRun,
}

/// The value with the fields of the change in it; null takes one away (RFC 7386).
pub(crate) fn merged(mut value: Value, change: &Value) -> Value {
    let Value::Object(fields) = change else { return change.clone() };
    if !value.is_object() {
        value = Value::Object(serde_json::Map::new());
    }
    for (key, field) in fields {
        if field.is_null() {
            value.as_object_mut().unwrap().remove(key);
        } else {
            value[key] = merged(value[key].take(), field);
        }
    }
    value
}
