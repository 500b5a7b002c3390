//! The description of the API, made from the table of routes.

use serde_json::{Map, Value, json};

use super::reply::{Answer, json as answer};
use super::routes::{Described, described};

/// `GET /api/v1/openapi.json`.
pub(crate) async fn document() -> Answer {
    answer(&describe())
}

fn describe() -> Value {
    let mut paths = Map::new();
    // What official tools call is described by them.
    let is_own = |path: &str| path.starts_with("/api/v1/") || path.starts_with("/api/agents");
    for route in described().filter(|(_, path, _)| is_own(path)) {
        let path = paths.entry(route.1.replace("{*", "{")).or_insert_with(|| json!({}));
        path[route.0.to_ascii_lowercase()] = operation(&route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "oxikit developer tools", "version": env!("CARGO_PKG_VERSION")},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Error": {
                "description": "What went wrong, and what to do about it",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            }},
            "schemas": {"Error": {
                "type": "object",
                "required": ["code", "status", "message"],
                "properties": {
                    "code": {"type": "integer", "description": "The HTTP status"},
                    "status": {"type": "string", "description": "Such as NOT_FOUND"},
                    "message": {"type": "string"},
                    "details": {},
                },
            }},
        },
    })
}

fn operation((_, path, summary): &Described) -> Value {
    let in_path = path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({
            "name": name.trim_start_matches('*'), "in": "path", "required": true,
            "schema": {"type": "string"},
        }))
    });
    json!({
        "summary": summary,
        "parameters": in_path.collect::<Vec<_>>(),
        "responses": {
            "200": {"description": "Done"},
            "default": {"$ref": "#/components/responses/Error"},
        },
    })
}
