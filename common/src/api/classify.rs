//! Decides what an answer of the API means; it never acts on it.
//!
//! A number alone says little: a 403 may be RBAC, a quota, a policy or a namespace that is being deleted, and a 422 or a
//! 500 may be a node port that is not to be had. So code, reason, causes and, where Kubernetes gives nothing else, the
//! message decide. All texts were seen on Kubernetes 1.36.

use std::{fmt, time::Duration};

use serde::Deserialize;

use super::call::Call;

/// What an error answer means for the one who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The object is not there.
    NotFound,
    /// An object of this name is there already.
    AlreadyExists,
    /// The object is not, or no longer, the one that the request was about.
    Conflict,
    /// The resource version, or the rest of a list, is too old to be had.
    Expired,
    /// The node port that was asked for is in use.
    PortTaken,
    /// No node port of the whole range is free.
    RangeFull,
    /// A resource quota is used up.
    QuotaExceeded,
    /// RBAC does not allow it.
    Rbac,
    /// A policy, a webhook or the namespace's deletion does not allow it.
    Policy,
    /// The object is wrong: a field that is unknown, missing, or has a value that is not allowed.
    Invalid,
    /// The credentials are not accepted.
    Unauthorized,
    /// The API cannot answer now; the same request may succeed later.
    Unavailable,
    /// Nothing that the programs know.
    Unknown,
}

impl Meaning {
    /// Whether no node port is to be had for a new Service. Kubernetes judges ports and quota before the name, so an
    /// existing Service of the name can hide behind it.
    #[must_use]
    pub fn is_no_port(self) -> bool {
        matches!(self, Self::PortTaken | Self::RangeFull | Self::QuotaExceeded)
    }

    /// Whether the same request may succeed a moment later with nobody doing anything about it.
    ///
    /// A 401 counts: the kubelet rotates tokens, and the API server may not yet know a new one.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Unauthorized | Self::Unavailable)
    }
}

/// An error answer of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// The API's `reason`, empty where the answer was no Status object.
    pub reason: String,
    /// The API's own text.
    pub message: String,
    /// What is wrong in detail.
    pub causes: Vec<Cause>,
    /// How long the server asks to wait before the next try.
    pub retry_after: Option<Duration>,
}

/// One thing that is wrong with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// A word such as `FieldValueInvalid`.
    pub reason: String,
    /// The API's own text.
    pub message: String,
    /// The path of the field, such as `spec.ports[0].nodePort`.
    pub field: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
}

/// The longest Retry-After that is believed, in seconds: no deadline of ours is longer, and sums of it do not overflow.
const LONGEST_RETRY_AFTER: u64 = 60 * 60;

/// As much of an answer that is no Status object as a message can show.
const MAX_TEXT: usize = 300;

impl Refusal {
    /// Reads an error answer; one that is no Status object (priority and fairness answers in plain text, proxies in
    /// HTML) is kept as text.
    #[must_use]
    pub fn read(code: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status>(body).unwrap_or_else(|_| Status {
            message: String::from_utf8_lossy(body).trim().chars().take(MAX_TEXT).collect(),
            ..Status::default()
        });
        Self {
            code,
            reason: status.reason,
            message: status.message,
            causes: status.details.causes,
            // Kubernetes sends seconds; the date form of RFC 9110 comes from other servers only, and is passed over.
            retry_after: retry_after
                .and_then(|text| text.trim().parse().ok())
                .map(|seconds: u64| Duration::from_secs(seconds.min(LONGEST_RETRY_AFTER))),
        }
    }

    /// What it means.
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        match (self.code, self.reason.as_str()) {
            // Before the code: a webhook's refusal has whichever code it chose (400 where it chose none), a policy's 422.
            _ if self.is_denied_by_admission() => Meaning::Policy,
            (404, _) => Meaning::NotFound,
            (409, "AlreadyExists") => Meaning::AlreadyExists,
            (409, _) => Meaning::Conflict,
            (410, _) => Meaning::Expired,
            (422, _) if self.only_ports_taken() => Meaning::PortTaken,
            (422, _) if self.only_lacks_some_address() => Meaning::Unavailable,
            (400 | 422, _) => Meaning::Invalid,
            (401, _) => Meaning::Unauthorized,
            (403, _) if self.is_about_quota() => Meaning::QuotaExceeded,
            // No usable token arrived, as while its file is being replaced; no rule would help.
            (403, _) if self.denied_user() == Some("system:anonymous") => Meaning::Unauthorized,
            (403, _) if self.denied_user().is_some() => Meaning::Rbac,
            (403, _) => Meaning::Policy,
            // Not `allocate a serviceIP: range is full`, which is another range.
            (500, _) if self.message.contains("allocate a nodePort: range is full") => Meaning::RangeFull,
            (408 | 429 | 500 | 502 | 503 | 504, _) => Meaning::Unavailable,
            _ => Meaning::Unknown,
        }
    }

    /// `admission webhook "w" denied the request: …`, `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: …`.
    fn is_denied_by_admission(&self) -> bool {
        const TEXTS: [&str; 4] = [
            "denied the request:",
            "denied the request without explanation",
            "denied request:",
            "does not support dry run",
        ];
        TEXTS.iter().any(|text| self.message.contains(text))
    }

    /// A quota that was just created has no status yet, and refuses everything until it has.
    fn is_about_quota(&self) -> bool {
        self.message.contains("exceeded quota") || self.message.contains("status unknown for quota")
    }

    /// Whether the API turned the request away before it looked at what was asked: nothing of it was carried out.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        matches!(self.code, 401 | 429)
    }

    fn only_ports_taken(&self) -> bool {
        !self.causes.is_empty()
            && self.causes.iter().all(|cause| cause.message.contains("provided port is already allocated"))
    }

    /// Kubernetes 1.36 calls a Service invalid where its store failed while it chose a cluster IP: `failed to allocate IP:
    /// rpc error: …`. One that was asked for is named before the colon, and is the template's affair.
    fn only_lacks_some_address(&self) -> bool {
        let is_choice =
            |cause: &Cause| cause.field == "spec.clusterIPs" && cause.message.contains("failed to allocate IP: ");
        !self.causes.is_empty() && self.causes.iter().all(is_choice)
    }

    /// The user of an RBAC refusal: `… User "system:serviceaccount:ns:sa" cannot create resource "services" …`.
    #[must_use]
    pub fn denied_user(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once("User \"")?;
        let (user, rest) = rest.split_once("\" cannot ")?;
        rest.contains(" resource \"").then_some(user)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.as_str(), self.reason.as_str()) {
            ("", "") => write!(f, "HTTP {}", self.code),
            ("", reason) => write!(f, "{reason} ({})", self.code),
            (message, _) => write!(f, "{message} ({})", self.code),
        }
    }
}

/// Says which rule an RBAC refusal asks for, as it would stand in a Role.
#[must_use]
pub fn missing_rule(call: &Call, refusal: &Refusal) -> String {
    let who = refusal.denied_user().unwrap_or("the user");
    let who = match who.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':')) {
        Some((namespace, name)) => format!("service account {namespace}/{name}"),
        None => format!("user {who}"),
    };
    let (scope, role) = match call.namespace.as_str() {
        "" => (String::new(), "ClusterRole"),
        namespace => (format!(" in namespace {namespace}"), "Role"),
    };
    format!(
        "{who} may not {verb} {resource}{scope}: add {{apiGroups: [\"{group}\"], resources: [\"{resource}\"], verbs: [\"{verb}\"]}} to its {role}",
        verb = call.verb.as_str(),
        group = call.resource.group(),
        resource = call.rule(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::resource::Resource;

    fn status(code: u16, reason: &str, message: &str, causes: &[(&str, &str)]) -> Refusal {
        let causes: Vec<_> = causes
            .iter()
            .map(|(field, message)| serde_json::json!({"reason": "FieldValueInvalid", "field": field, "message": message}))
            .collect();
        let body = serde_json::json!({"kind": "Status", "reason": reason, "message": message, "code": code, "details": {"causes": causes}});
        Refusal::read(code, None, body.to_string().as_bytes())
    }

    const RBAC: &str = "services is forbidden: User \"system:serviceaccount:t:creator\" cannot create resource \"services\" in API group \"\" in the namespace \"t\"";

    #[test]
    fn answers_mean_what_kubernetes_means() {
        let taken = "Invalid value: 30100: provided port is already allocated";
        let table = [
            (status(404, "NotFound", "services \"a\" not found", &[]), Meaning::NotFound),
            (status(409, "AlreadyExists", "services \"a\" already exists", &[]), Meaning::AlreadyExists),
            (
                status(409, "AlreadyExists", "object is being deleted: services \"d2\" already exists", &[]),
                Meaning::AlreadyExists,
            ),
            (status(409, "Conflict", "the UID in the precondition (X) does not match", &[]), Meaning::Conflict),
            (
                status(422, "Invalid", "Service \"a\" is invalid", &[("spec.ports[0].nodePort", taken)]),
                Meaning::PortTaken,
            ),
            (
                status(
                    422,
                    "Invalid",
                    "Service \"a\" is invalid",
                    &[("spec.ports[0].nodePort", taken), ("metadata.name", "x")],
                ),
                Meaning::Invalid,
            ),
            (status(422, "Invalid", "…", &[("spec.ports[0].nodePort", "not in the valid range")]), Meaning::Invalid),
            (
                status(
                    422,
                    "Invalid",
                    "Service \"a\" is invalid",
                    &[(
                        "spec.clusterIPs",
                        "Invalid value: [\"\"]: failed to allocate IP: rpc error: code = Unavailable desc = error reading from server: EOF",
                    )],
                ),
                Meaning::Unavailable,
            ),
            (
                status(
                    422,
                    "Invalid",
                    "Service \"a\" is invalid",
                    &[(
                        "spec.clusterIPs",
                        "Invalid value: [\"10.96.0.9\"]: failed to allocate IP 10.96.0.9: provided IP is already allocated",
                    )],
                ),
                Meaning::Invalid,
            ),
            (status(410, "Expired", "The provided continue parameter is too old", &[]), Meaning::Expired),
            (status(422, "Invalid", "no causes", &[]), Meaning::Invalid),
            (status(400, "BadRequest", "strict decoding error: unknown field \"spec.x\"", &[]), Meaning::Invalid),
            (status(403, "Forbidden", RBAC, &[]), Meaning::Rbac),
            (
                status(
                    403,
                    "Forbidden",
                    "pods is forbidden: User \"system:anonymous\" cannot get resource \"pods\" in API group \"\"",
                    &[],
                ),
                Meaning::Unauthorized,
            ),
            (
                status(
                    403,
                    "Forbidden",
                    "services \"q2\" is forbidden: exceeded quota: nq, requested: services.nodeports=1",
                    &[],
                ),
                Meaning::QuotaExceeded,
            ),
            (
                status(
                    403,
                    "Forbidden",
                    "services \"a\" is forbidden: unable to create new content in namespace t because it is being terminated",
                    &[],
                ),
                Meaning::Policy,
            ),
            (
                status(403, "Forbidden", "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no", &[]),
                Meaning::Policy,
            ),
            (
                status(
                    403,
                    "Forbidden",
                    "services \"a\" is forbidden: status unknown for quota: nq, resources: services",
                    &[],
                ),
                Meaning::QuotaExceeded,
            ),
            (status(400, "BadRequest", "admission webhook \"w.example\" denied the request: no", &[]), Meaning::Policy),
            (
                status(
                    400,
                    "BadRequest",
                    "admission webhook \"w.example\" denied the request without explanation",
                    &[],
                ),
                Meaning::Policy,
            ),
            (
                status(400, "BadRequest", "admission webhook \"w.example\" does not support dry run", &[]),
                Meaning::Policy,
            ),
            (
                status(
                    422,
                    "Invalid",
                    "services \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no",
                    &[("", "no")],
                ),
                Meaning::Policy,
            ),
            (
                status(429, "TooManyRequests", "admission webhook \"w.example\" denied the request: slow down", &[]),
                Meaning::Policy,
            ),
            (status(401, "Unauthorized", "Unauthorized", &[]), Meaning::Unauthorized),
            (
                status(
                    500,
                    "InternalError",
                    "Internal error occurred: failed to allocate a nodePort: range is full",
                    &[],
                ),
                Meaning::RangeFull,
            ),
            (
                status(
                    500,
                    "InternalError",
                    "Internal error occurred: failed to allocate a serviceIP: range is full",
                    &[],
                ),
                Meaning::Unavailable,
            ),
            (status(500, "InternalError", "etcdserver: leader changed", &[]), Meaning::Unavailable),
            (status(504, "Timeout", "", &[]), Meaning::Unavailable),
            (status(415, "UnsupportedMediaType", "", &[]), Meaning::Unknown),
        ];
        for (refusal, meaning) in table {
            assert_eq!(refusal.meaning(), meaning, "{refusal}");
        }
    }

    #[test]
    fn priority_and_fairness_answers_in_plain_text() {
        let refusal = Refusal::read(429, Some("1"), b"Too many requests, please try again later.\n");
        assert_eq!(refusal.meaning(), Meaning::Unavailable);
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(1)));
        assert_eq!(refusal.to_string(), "Too many requests, please try again later. (429)");
    }

    #[test]
    fn a_retry_after_beyond_all_reason_is_cut() {
        let refusal = Refusal::read(429, Some("18446744073709551615"), b"");
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(LONGEST_RETRY_AFTER)));
    }

    #[test]
    fn odd_answers_are_read_without_fail() {
        for body in [&b""[..], b"<html>", b"[]", b"null", b"{\"details\":null}", b"\xff\xfe"] {
            assert_eq!(Refusal::read(502, Some("Wed, 21 Oct 2026 07:28:00 GMT"), body).meaning(), Meaning::Unavailable);
        }
        assert_eq!(Refusal::read(500, None, b"").to_string(), "HTTP 500");
        assert!(Refusal::read(502, None, "ä".repeat(5000).as_bytes()).message.chars().count() <= MAX_TEXT);
    }

    #[test]
    fn an_rbac_refusal_names_the_rule_to_add() {
        let refusal = status(403, "Forbidden", RBAC, &[]);
        let call = Call::create(Resource::Services, "t", "app-0", serde_json::json!({}), "me");
        assert_eq!(
            missing_rule(&call, &refusal),
            "service account t/creator may not create services in namespace t: add {apiGroups: [\"\"], resources: [\"services\"], verbs: [\"create\"]} to its Role"
        );
    }
}
