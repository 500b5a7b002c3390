use oxikit_wire::{ActionDescriptor, MiddlewareDescriptor, ModelInfo};

use crate::sample::check_wire;

#[test]
fn descriptors_of_actions() {
    check_wire::<ActionDescriptor>(
        r#"{"key":"/model/echo/model","name":"echo/model","actionType":"model","description":"d",
            "inputSchema":{"type":"object"},"outputSchema":true,"streamSchema":{},"initSchema":{},
            "metadata":{"model":{"label":"Echo","versions":[]},"bidi":true}}"#,
    );
    check_wire::<ActionDescriptor>(r#"{"key":"/flow/x","name":"x"}"#);
}

#[test]
fn an_absent_member_of_a_descriptor_is_never_null() {
    let text = serde_json::to_string(&ActionDescriptor::default()).unwrap();
    assert!(!text.contains("null"), "{text}");
}

#[test]
fn abilities_of_models() {
    check_wire::<ModelInfo>(
        r#"{"label":"Echo","versions":["1"],"supports":{"multiturn":true,"media":false,"tools":true,"systemRole":true,
            "output":["text","json"],"contentType":["text/plain"],"context":false,"constrained":"no-tools",
            "toolChoice":true,"longRunning":false},"customOptions":{"type":"object"},"configSchema":{},"stage":"stable"}"#,
    );
    for stage in ["featured", "stable", "unstable", "legacy", "deprecated"] {
        check_wire::<ModelInfo>(&format!(r#"{{"stage":"{stage}"}}"#));
    }
    for constrained in ["none", "all", "no-tools"] {
        check_wire::<ModelInfo>(&format!(r#"{{"supports":{{"constrained":"{constrained}"}}}}"#));
    }
}

#[test]
fn descriptors_of_middleware() {
    check_wire::<MiddlewareDescriptor>(
        r#"{"name":"shout","description":"upper-cases the reply","configSchema":{"type":"object",
            "properties":{"bang":{"type":"boolean"}},"additionalProperties":true},"metadata":{"kind":"demo"}}"#,
    );
}
