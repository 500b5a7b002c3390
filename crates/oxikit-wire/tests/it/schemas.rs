//! Our types against the JSON Schemas that the official runtime publishes.

use std::collections::BTreeSet;

use oxikit_wire::*;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Official members that our types leave out on purpose.
const NOT_OURS: [(&str, &str); 2] = [
    // Deprecated, and of no use to a model that answers once.
    ("GenerateRequest", "candidates"),
    // Deprecated; read into `message`, never written.
    ("GenerateResponse", "candidates"),
];

#[test]
fn generate_types_fit_the_published_schemas() {
    let schemas = oxikit_recordings::json("generate/schemas.json");
    let mut checked = BTreeSet::new();
    let message = json!({"role":"model","content":all_parts(),"metadata":{"k":1}});
    let request = json!({
        "messages":[message],"config":{"temperature":0.5},
        "tools":[tool()],"toolChoice":"auto","docs":[{"content":[{"text":"d"}],"metadata":{"ref":"a"}}],
        "output":{"format":"json","schema":{"type":"object"},"constrained":true,"contentType":"application/json"},
    });
    let mut check = |name, value| checked.insert(check_by_name(&schemas, name, value));
    check("GenerateRequest", request.clone());
    check(
        "GenerateResponse",
        json!({
            "message":message,"finishReason":"stop","finishMessage":"m","latencyMs":1.5,"custom":{"c":1},"raw":{"r":1},
            "usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3,"inputCharacters":1,"outputCharacters":1,
                "inputImages":1,"outputImages":1,"inputVideos":1,"outputVideos":1,"inputAudioFiles":1,
                "outputAudioFiles":1,"thoughtsTokens":1,"cachedContentTokens":1,"custom":{"x":1}},
            "request":request,"operation":{"action":"/a","id":"i","done":true,"output":1,"error":{"message":"m"},
                "metadata":{"k":1}},
        }),
    );
    check(
        "GenerateResponseChunk",
        json!({
            "role":"model","index":0,"content":all_parts(),"custom":{"c":1},"aggregated":false,
        }),
    );
    check(
        "GenerateActionOptions",
        json!({
            "model":"m","docs":[{"content":[{"text":"d"}]}],"messages":[message],"tools":["t"],"resources":["r"],
            "toolChoice":"required","config":{},"output":{"format":"json","contentType":"a/b","instructions":"i",
                "jsonSchema":{},"constrained":true},
            "resume":{"respond":[{"toolResponse":{"name":"t"}}],"restart":[{"toolRequest":{"name":"t"}}],
                "metadata":{"k":1}},
            "returnToolRequests":false,"maxTurns":5,"stepName":"s","use":[{"name":"n","config":{"c":1}}],
        }),
    );
    check("ToolDefinition", tool());
    check(
        "ModelInfo",
        json!({
            "versions":["1"],"label":"l","configSchema":{},"stage":"stable","supports":{"multiturn":true,"media":true,
                "tools":true,"systemRole":true,"output":["text"],"contentType":["a/b"],"context":true,
                "constrained":"no-tools","toolChoice":true},
        }),
    );
    check("MultipartToolResponse", json!({"output":null,"content":all_parts(),"metadata":{"k":1}}));
    for part in all_parts().as_array().unwrap() {
        check("Part", part.clone());
    }
    assert_eq!(checked, names(&schemas), "a published schema has no sample here");
}

#[test]
fn session_types_fit_the_published_schemas() {
    let schemas = oxikit_recordings::json("agents/schemas.json");
    let artifact = json!({"name":"a","parts":all_parts(),"metadata":{"k":1}});
    let state = json!({
        "sessionId":"s","messages":[{"role":"user","content":[{"text":"t"}]}],"custom":{"c":null},"artifacts":[artifact],
    });
    check_schema::<Artifact>(&schemas, "Artifact", artifact);
    check_schema::<SessionState>(&schemas, "SessionState", state.clone());
    for status in ["pending", "completed", "aborted", "failed", "expired"] {
        check_schema::<SessionSnapshot>(
            &schemas,
            "SessionSnapshot",
            json!({
                "snapshotId":"i","sessionId":"s","parentId":"p","createdAt":"c","updatedAt":"u","heartbeatAt":"h",
                "status":status,"finishReason":"detached","error":{"status":"INTERNAL","message":"m","details":1},
                "state":state,
            }),
        );
    }
}

fn check_by_name(schemas: &Value, name: &'static str, sample: Value) -> String {
    match name {
        "GenerateRequest" => check_schema::<GenerateRequest>(schemas, name, sample),
        "GenerateResponse" => check_schema::<GenerateResponse>(schemas, name, sample),
        "GenerateResponseChunk" => check_schema::<GenerateResponseChunk>(schemas, name, sample),
        "GenerateActionOptions" => check_schema::<GenerateActionOptions>(schemas, name, sample),
        "ToolDefinition" => check_schema::<ToolDefinition>(schemas, name, sample),
        "ModelInfo" => check_schema::<ModelInfo>(schemas, name, sample),
        "MultipartToolResponse" => check_schema::<MultipartToolResponse>(schemas, name, sample),
        "Part" => check_schema::<Part>(schemas, name, sample),
        other => panic!("no type for the schema {other}"),
    }
    name.to_owned()
}

/// Checks that a value is written as the official schema demands, and that our type has all
/// its members. The sample must contain every member, so that none is left unchecked.
fn check_schema<T: Serialize + DeserializeOwned + JsonSchema>(
    schemas: &Value,
    name: &str,
    sample: Value,
) {
    let official = &schemas[name];
    let value: T = serde_json::from_value(sample.clone()).unwrap();
    let written = serde_json::to_value(&value).unwrap();
    assert_eq!(written, sample, "{name}");
    let validator =
        jsonschema::options().with_draft(jsonschema::Draft::Draft7).build(official).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(&written).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");

    let ours = schemars::schema_for!(T).to_value();
    let ours = names(&ours["properties"]);
    let theirs = names(&official["properties"]);
    let unknown: Vec<_> = theirs
        .difference(&ours)
        .filter(|member| !NOT_OURS.contains(&(name, member.as_str())))
        .collect();
    assert!(unknown.is_empty(), "{name} lacks {unknown:?}");
    let unsampled: Vec<_> = theirs
        .intersection(&ours)
        .filter(|member| name != "Part" && sample.get(member.as_str()).is_none())
        .collect();
    assert!(unsampled.is_empty(), "the sample of {name} lacks {unsampled:?}");
}

fn names(object: &Value) -> BTreeSet<String> {
    object.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default()
}

fn tool() -> Value {
    json!({"name":"t","key":"/tool/t","description":"d","inputSchema":{"type":"object"},
        "outputSchema":{"type":"string"},"metadata":{"originalName":"n/t"}})
}

fn all_parts() -> Value {
    json!([
        {"text":"t","metadata":{"purpose":"output"}},
        {"media":{"url":"data:,x","contentType":"text/plain"}},
        {"toolRequest":{"name":"t","ref":"r","input":{"a":1},"partial":false}},
        {"toolResponse":{"name":"t","ref":"r","output":null,"content":[{"text":"t"}]}},
        {"data":{"a":null}},
        {"custom":{"a":1}},
        {"reasoning":"r"},
        {"resource":{"uri":"u"}},
        {"metadata":{"purpose":"s","pending":true}},
    ])
}
