//! The schema of `status.conditions`, as the API conventions have it.

use schemars::{Schema, SchemaGenerator, json_schema};

/// The schema of a list of `metav1.Condition`, which has none of its own here.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"description": "Type of the condition.", "type": "string", "maxLength": 316},
                "status": {"description": "Whether it holds.", "type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {
                    "description": "Why, in one word.", "type": "string", "minLength": 1, "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {"description": "Why, for people.", "type": "string", "maxLength": 32768},
                "lastTransitionTime": {
                    "description": "When the status changed last.", "type": "string", "format": "date-time",
                },
                "observedGeneration": {
                    "description": "Generation of the spec that this is about.", "type": "integer", "format": "int64", "minimum": 0,
                },
            },
        },
    })
}
