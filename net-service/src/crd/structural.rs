//! A schema of a Rust type in the form that the API server takes: structural, with the formats that it knows.

use kube_core::schema::StructuralSchemaRewriter;
use schemars::{
    Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};

/// How schemas are made.
pub(super) fn settings() -> SchemaSettings {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.with_transform(StructuralSchemaRewriter).with_transform(Plain)
}

/// What Kubernetes' own resources do otherwise than schemars.
#[derive(Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        schema.remove("title");
        // As in Kubernetes' own resources, a key without a value is as good as none: the API server drops it, and fills in defaults.
        schema.remove("nullable");
        // OpenAPI has no unsigned numbers; their ranges say it.
        if schema.get("format").and_then(|format| format.as_str()) == Some("uint16") {
            schema.insert("format".to_owned(), "int32".into());
        }
        // Line breaks are those of the source.
        if let Some(description) = schema.get("description").and_then(|text| text.as_str()) {
            let description = description.replace('\n', " ");
            schema.insert("description".to_owned(), description.into());
        }
    }
}
