//! The description of the actions.

use oxikit::prelude::*;
use oxikit_core::{Action, ActionKind, Schema};
use oxikit_serve::{ApiKey, Expose, Server};
use serde_json::{Value, json};

use crate::kit::{Answer, Client};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Tree {
    name: String,
    children: Vec<Tree>,
    leaf: Option<Leaf>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Leaf {
    color: String,
}

/// Schemas that people write, with every way to refer to something.
fn hand_written() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/order.json",
        "type": "object",
        "properties": {
            "again": { "$ref": "#" },
            "item": { "$ref": "#/definitions/Item" },
            "price": { "$ref": "#/definitions/Item/properties/price" },
            "odd": { "$ref": "#/definitions/a~1b%20c" },
            "same": { "$ref": "#/properties/price" },
            "modern": { "$ref": "#/$defs/Item" },
            // A property that is only called so.
            "$ref": { "type": "string" },
            "definitions": { "const": { "$ref": "#/definitions/data" } },
            "pair": { "items": [{ "type": "string" }, { "$ref": "#/definitions/Item" }],
                "additionalItems": false },
        },
        "definitions": {
            "Item": { "type": "object", "properties": {
                "price": { "type": "number" }, "next": { "$ref": "#/definitions/Item" } } },
            "a/b c": { "type": "boolean" },
        },
        "$defs": { "Item": { "type": "integer" } },
    })
}

fn server(ai: &Oxikit) -> Server {
    let tree = ai.define_flow("tree", |tree: Tree, _: Context, out: Emitter<Leaf>| async move {
        drop(out);
        Ok(tree)
    });
    let order = Action::builder(ActionKind::Tool, "order")
        .description("Takes an <b>order</b>.")
        .listed_input_schema(Schema::from_json(hand_written()).unwrap())
        .handler(|order: Value| async move { Ok(order) });
    let chat = Action::builder(ActionKind::Agent, "chat").bidi(
        |_: Option<Leaf>, _: oxikit_core::Inputs<String>, _: Context, _: Emitter<String>| async {
            Ok("bye")
        },
    );
    Server::new(ai)
        .path_prefix("api")
        .expose(&tree)
        .expose(Expose::new(&tree).path("tree/again"))
        .expose(order)
        .expose(chat)
        .port(0)
}

async fn get(server: Server, headers: &str) -> (Client, Answer) {
    let server = server.bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let mut client = Client::connect(address).await;
    let request = format!("GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
    client.send(request).await;
    let answer = client.answer().await.unwrap();
    (client, answer)
}

async fn document() -> Value {
    get(server(&Oxikit::builder().build().unwrap()), "").await.1.json()
}

/// Every reference in a schema or object of the document; data is not looked at.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("$ref", Value::String(reference)) => found.push(reference),
                    ("const" | "enum" | "default" | "examples", _) => {}
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_document_has_the_shape_of_openapi() {
    let document = document().await;
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let paths = document["paths"].as_object().unwrap();
    let names: Vec<_> = paths.keys().collect();
    assert_eq!(names, ["/api/chat", "/api/order", "/api/tree", "/api/tree/again"]);
    let mut ids = std::collections::BTreeSet::new();
    for (path, item) in paths {
        let operation = &item["post"];
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{path}");
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(body["properties"]["data"].is_object(), "{path}");
        let responses = &operation["responses"];
        let ok = &responses["200"];
        assert!(ok["description"].is_string());
        let result = &ok["content"]["application/json"]["schema"]["properties"]["result"];
        assert!(result.is_object(), "{path}");
        assert!(ok["content"]["text/event-stream"]["schema"]["description"].is_string());
        for code in ["400", "401", "403", "404", "413", "415", "500", "503"] {
            let error = responses[code]["$ref"].as_str().unwrap_or_default();
            let error = document.pointer(error.trim_start_matches('#')).unwrap();
            let schema = &error["content"]["application/json"]["schema"];
            assert_eq!(schema["$ref"], "#/components/schemas/Error", "{path} {code}");
        }
        assert_eq!(responses.get("default"), None);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(!name.is_empty() && name.chars().all(is_name), "{name}");
        assert!(schema.is_object() || schema.is_boolean(), "{name}: {schema}");
    }
    assert_eq!(paths["/api/order"]["post"]["tags"], json!(["tool"]));
    assert_eq!(paths["/api/order"]["post"]["description"], "Takes an <b>order</b>.");
    let init = &paths["/api/chat"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert!(init["properties"]["init"].is_object());
    assert_eq!(document.get("security"), None);
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    let document = document().await;
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 15, "{found:?}");
    for reference in found {
        let pointer =
            reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} is remote"));
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn references_still_mean_the_same() {
    let document = document().await;
    let schema = &document["components"]["schemas"]["order.input"];
    let follow = |name: &str| {
        let reference = schema["properties"][name]["$ref"].as_str();
        reference.map(|reference| document.pointer(&reference[1..]).unwrap())
    };
    assert_eq!(follow("again").unwrap(), schema);
    let item = follow("item").unwrap();
    assert_eq!(item["properties"]["price"], json!({ "type": "number" }));
    let next = item["properties"]["next"]["$ref"].as_str().unwrap();
    assert_eq!(document.pointer(&next[1..]).unwrap(), item);
    assert_eq!(follow("price").unwrap(), &json!({ "type": "number" }));
    assert_eq!(follow("odd").unwrap(), &json!({ "type": "boolean" }));
    assert_eq!(follow("modern").unwrap(), &json!({ "type": "integer" }));
    assert_eq!(follow("same").unwrap(), &schema["properties"]["price"]);
    assert_eq!(schema["properties"]["$ref"], json!({ "type": "string" }));
    let data = &schema["properties"]["definitions"]["const"];
    assert_eq!(data, &json!({ "$ref": "#/definitions/data" }));
    let pair = &schema["properties"]["pair"];
    assert_eq!(
        (&pair["prefixItems"][0]["type"], &pair["items"]),
        (&json!("string"), &json!(false))
    );
    assert_eq!((schema.get("$id"), schema.get("definitions")), (None, None));
}

#[tokio::test]
async fn it_says_how_callers_show_who_they_are() {
    let server = server(&Oxikit::builder().build().unwrap()).auth(ApiKey::new("key"));
    let document = get(server, "authorization: Bearer key\r\n").await.1.json();
    assert_eq!(document["components"]["securitySchemes"]["caller"]["scheme"], "bearer");
    assert_eq!(document["security"], json!([{ "caller": [] }]));
}

#[tokio::test]
async fn streams_that_are_kept_have_their_headers() {
    let ai = Oxikit::builder().build().unwrap();
    let kept = ai.define_flow("kept", |text: String| async move { Ok(text) });
    let plain = ai.define_flow("plain", |text: Option<String>| async move { Ok(text) });
    let server = Server::new(&ai)
        .expose(Expose::new(&kept).durable())
        .expose(&plain)
        .stream_store(std::sync::Arc::new(oxikit_core::ports::memory::MemoryStreams::default()))
        .port(0);
    let document = get(server, "").await.1.json();
    let names = |path: &str| -> Vec<String> {
        let parameters = document["paths"][path]["post"]["parameters"].as_array().unwrap();
        parameters.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("/kept"), ["stream", "x-genkit-stream-id", "x-oxikit-stream-position"]);
    assert_eq!(names("/plain"), ["stream"]);
    let required = |path: &str| {
        let body = &document["paths"][path]["post"]["requestBody"];
        body["content"]["application/json"]["schema"].get("required").cloned()
    };
    assert_eq!((required("/kept"), required("/plain")), (Some(json!(["data"])), None));
    assert!(document["paths"]["/kept"]["post"]["responses"]["204"].is_object());
    assert!(document["paths"]["/plain"]["post"]["responses"]["204"].is_null());
}

#[tokio::test]
async fn a_known_version_is_not_sent_again() {
    let (mut client, answer) = get(server(&Oxikit::builder().build().unwrap()), "").await;
    let tag = answer.header("etag").unwrap();
    let again = format!(
        "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nif-none-match: W/\"x\", {tag}\r\n\r\n"
    );
    client.send(again).await;
    let answer = client.head().await.unwrap();
    assert_eq!((answer.status, answer.header("etag")), (304, Some(tag)));
}

#[tokio::test]
async fn the_api_of_agents_is_described_too() {
    let server = Server::new(&Oxikit::builder().build().unwrap()).agents_api().port(0);
    let served: Vec<_> =
        server.paths().into_iter().filter(|path| path.starts_with("/api/agents")).collect();
    let document = get(server, "").await.1.json();
    let mut described: Vec<_> = document["paths"].as_object().unwrap().keys().cloned().collect();
    described.sort();
    assert_eq!(described, served);
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in found {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference} leads nowhere");
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        let named = item["parameters"].as_array().map_or(0, Vec::len);
        assert_eq!(named, path.matches('{').count(), "{path}");
        for (method, operation) in item.as_object().unwrap() {
            if method != "parameters" {
                assert!(operation["responses"]["200"]["content"].is_object(), "{method} {path}");
                assert_eq!(operation["tags"], json!(["agents"]));
            }
        }
    }
    let turn = &document["paths"]["/api/agents/{agent}/execute"]["post"];
    let request = &turn["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let request = document.pointer(&request.as_str().unwrap()[1..]).unwrap();
    assert!(request["properties"]["telemetryLabels"].is_object(), "{request}");
}
