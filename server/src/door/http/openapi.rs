//! `/openapi.json`: what this door understands and answers, as OpenAPI 3.1, for people and for generators of clients.
//!
//! One table of operations (`operations`) and one of shapes (`schemas`), written by hand beside the types; tests compare
//! them with the routes that are there and with what is answered.

mod operations;
mod schemas;

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use self::operations::{Content, OPERATIONS, Operation, Parameter, Who};
use super::body::BODY_BYTES_MAX;

/// The description as it is sent: anybody may ask for it, so it is written once.
static TEXT: LazyLock<Bytes> = LazyLock::new(|| format!("{}\n", document()).into());

/// Answers with the description.
pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.clone()).into_response()
}

fn document() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "tallyring",
            "summary": "Has this key used up its allowance?",
            "description": format!(
                "Any decision is 200, allowed or not. A body has at most {BODY_BYTES_MAX} bytes, a rules document 4 MiB. \
                 Errors are problems (RFC 9457)."
            ),
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0 OR MIT" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn described(operation: &Operation) -> Value {
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "responses": responses(operation),
    });
    if !operation.parameters.is_empty() {
        described["parameters"] = operation.parameters.iter().map(parameter).collect();
    }
    if let Some(request) = operation.request {
        described["requestBody"] = json!({ "required": true, "content": content(request) });
    }
    if operation.who != Who::Anybody {
        // A node without tokens lets everybody do everything.
        described["security"] = json!([{}, { "token": [] }]);
    }
    described
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": parameter.schema.schema(),
    })
}

fn responses(operation: &Operation) -> Value {
    let mut responses = Map::new();
    for (status, description, body) in operation.responses {
        let mut response = json!({ "description": description });
        if *body != Content::Nothing {
            response["content"] = content(*body);
        }
        responses.insert(status.to_string(), response);
    }
    let errors = operation.errors().map(|(status, description)| (status.to_string(), problem(description)));
    responses.extend(errors);
    Value::Object(responses)
}

fn problem(description: &str) -> Value {
    json!({ "description": description, "content": content(Content::Problem) })
}

fn content(content: Content) -> Value {
    let types = content.media_types();
    Value::Object(
        types.iter().map(|(media, schema)| ((*media).to_owned(), json!({ "schema": schema.schema() }))).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference in a value.
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn what_is_referred_to_is_there() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20);
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let mut ids: Vec<&str> = OPERATIONS.iter().map(|operation| operation.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), OPERATIONS.len());
    }
}
