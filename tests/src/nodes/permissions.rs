//! What a program of the cluster may do.

use serde_json::{Value, json};

/// A ClusterRole for a user, and its binding: both have the user's name.
pub(super) fn permit(user: &str, rules: &Value) -> Vec<Value> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    vec![
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "ClusterRole",
            "metadata": {"name": user},
            "rules": rules,
        }),
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": user},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
        }),
    ]
}
