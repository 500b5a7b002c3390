//! JSON Patch: the changes that are found, and documents after they are applied.

use oxikit_core::StatusCode;
use oxikit_core::json_patch::{apply, diff};
use oxikit_wire::JsonPatch;
use proptest::prelude::*;
use serde_json::{Value, json};

fn patch(operations: Value) -> JsonPatch {
    serde_json::from_value(operations).unwrap()
}

#[track_caller]
fn check_diff(old: Value, new: Value, expected: Value) {
    let found = diff(&old, &new);
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
    let mut document = old;
    apply(&mut document, &found).unwrap();
    assert_eq!(document, new);
}

#[track_caller]
fn check_apply(mut document: Value, operations: Value, expected: Value) {
    apply(&mut document, &patch(operations)).unwrap();
    assert_eq!(document, expected);
}

#[track_caller]
fn check_refused(mut document: Value, operations: Value, why: &str) {
    let status = apply(&mut document, &patch(operations)).unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains(why), "{status}");
}

#[test]
fn objects_are_compared_by_member() {
    check_diff(json!({ "a": 1 }), json!({ "a": 1 }), json!([]));
    check_diff(
        json!({ "gone": 1, "kept": 2, "other": { "x": 1 } }),
        json!({ "new": [], "other": { "x": 2 }, "kept": 2 }),
        json!([
            { "op": "remove", "path": "/gone" },
            { "op": "replace", "path": "/other/x", "value": 2 },
            { "op": "add", "path": "/new", "value": [] },
        ]),
    );
}

#[test]
fn lists_grow_and_shrink_at_their_end() {
    check_diff(
        json!([1, 2]),
        json!([1, 3, 4, 5]),
        json!([
            { "op": "replace", "path": "/1", "value": 3 },
            { "op": "add", "path": "/-", "value": 4 },
            { "op": "add", "path": "/-", "value": 5 },
        ]),
    );
    check_diff(
        json!({ "l": [1, 2, 3] }),
        json!({ "l": [2] }),
        json!([
            { "op": "replace", "path": "/l/0", "value": 2 },
            { "op": "remove", "path": "/l/2" },
            { "op": "remove", "path": "/l/1" },
        ]),
    );
}

#[test]
fn another_type_is_replaced_as_a_whole() {
    check_diff(json!([]), json!({}), json!([{ "op": "replace", "path": "", "value": {} }]));
    check_diff(
        json!({ "a": 1 }),
        json!({ "a": null }),
        json!([{ "op": "replace", "path": "/a", "value": null }]),
    );
}

#[test]
fn names_are_escaped() {
    check_diff(
        json!({ "a/b": 1, "~1": 1, "": 1 }),
        json!({ "a/b": 2, "~1": 2, "": 2 }),
        json!([
            { "op": "replace", "path": "/a~1b", "value": 2 },
            { "op": "replace", "path": "/~01", "value": 2 },
            { "op": "replace", "path": "/", "value": 2 },
        ]),
    );
}

#[test]
fn a_reserved_name_is_told_with_the_object_around_it() {
    check_diff(
        json!({ "o": { "x": 1, "__proto__": 1 } }),
        json!({ "o": { "x": 2, "__proto__": 2 } }),
        json!([{ "op": "replace", "path": "/o", "value": { "x": 2, "__proto__": 2 } }]),
    );
    check_diff(
        json!({ "constructor": 1, "x": 1 }),
        json!({ "constructor": 1, "x": 2 }),
        json!([{ "op": "replace", "path": "/x", "value": 2 }]),
    );
}

#[test]
fn what_does_not_quite_fit_is_forgiven() {
    check_apply(
        json!(null),
        json!([{ "op": "add", "path": "/a/b", "value": 1 }]),
        json!({ "a": { "b": 1 } }),
    );
    check_apply(
        json!({ "a": 1 }),
        json!([
            { "op": "remove", "path": "/b" },
            { "op": "remove", "path": "/b/c" },
            { "op": "replace", "path": "/b", "value": 1 },
            { "op": "replace", "path": "/a/b", "value": 1 },
        ]),
        json!({ "a": 1 }),
    );
    check_apply(
        json!([1]),
        json!([
            { "op": "remove", "path": "/7" },
            { "op": "replace", "path": "/7", "value": 7 },
            { "op": "add", "path": "/7", "value": 7 },
            { "op": "add", "path": "/0", "value": 0 },
        ]),
        json!([0, 1, 7]),
    );
    check_apply(json!({ "a": 1 }), json!([{ "op": "replace", "path": "" }]), json!(null));
    check_apply(json!({ "a": 1 }), json!([{ "op": "remove", "path": "" }]), json!(null));
}

#[test]
fn all_operations_of_the_standard_are_understood() {
    check_apply(
        json!({ "a": { "x": 1 }, "l": [1] }),
        json!([
            { "op": "test", "path": "/a/x", "value": 1 },
            { "op": "copy", "from": "/a", "path": "/b" },
            { "op": "move", "from": "/a/x", "path": "/l/0" },
            { "op": "move", "from": "/nothing", "path": "/c" },
        ]),
        json!({ "a": {}, "l": [1, 1], "b": { "x": 1 } }),
    );
}

#[test]
fn what_is_no_patch_is_refused() {
    let one = |op: &str, path: &str| json!([{ "op": op, "path": path, "value": 1 }]);
    check_refused(json!({ "a": 2 }), one("test", "/a"), "tests for another value");
    check_refused(json!({}), one("test", "/a"), "tests for another value");
    check_refused(json!({}), one("add", "a"), "must begin with `/`");
    check_refused(json!({ "a": 1 }), one("add", "/a/b"), "has no members");
    check_refused(json!([]), one("add", "/a"), "names a member of a list");
    check_refused(json!([]), one("add", "/0/a"), "an element that is not there");
    check_refused(json!({}), one("copy", "/a"), "has no `from`");
    for name in ["__proto__", "prototype", "constructor"] {
        check_refused(json!({}), one("add", &format!("/a/{name}/b")), "reserved");
    }
    let into_itself = json!([{ "op": "move", "from": "/a", "path": "/a/b" }]);
    check_refused(json!({ "a": {} }), into_itself, "into itself");
}

#[test]
fn a_document_cannot_be_blown_up() {
    let deep = "/x".repeat(200);
    check_refused(json!({}), json!([{ "op": "add", "path": deep, "value": 1 }]), "too deep");
    let nested: Value =
        serde_json::from_str(&format!("{}{}", "[".repeat(100), "]".repeat(100))).unwrap();
    let below = "/x".repeat(50);
    check_refused(json!({}), json!([{ "op": "add", "path": below, "value": nested }]), "too deep");
    let double = json!({ "op": "copy", "from": "/l", "path": "/l/-" });
    let doubled = json!({ "l": ["x".repeat(1024)] });
    check_refused(doubled, Value::Array(vec![double; 30]), "copies more");
}

/// Goes through the recorded states: our patches are those of the official agent.
#[test]
fn the_recorded_patches_are_ours() {
    let probes = oxikit_recordings::json("agents/in-process-probes.json");
    let mut state = Value::Null;
    let mut compared = 0;
    for chunk in probes["patch-sequence"]["ch"].as_array().unwrap() {
        let Some(operations) = chunk.get("customPatch") else { continue };
        let before = state.clone();
        apply(&mut state, &patch(operations.clone())).unwrap();
        // It tells undefined from null, which JSON does not.
        if before != state && operations[0].get("value").is_some()
            || operations[0]["op"] == "remove"
        {
            assert_eq!(serde_json::to_value(diff(&before, &state)).unwrap(), *operations);
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
    assert_eq!(state, probes["patch-sequence"]["o"]["state"]["custom"]);
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let names = prop_oneof!["[ab~/]{0,2}", Just("__proto__".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_changes_make_the_old_document_into_the_new(old in documents(), new in documents()) {
        let mut document = old.clone();
        apply(&mut document, &diff(&old, &new)).unwrap();
        prop_assert_eq!(document, new);
    }

    #[test]
    fn any_patch_ends(document in documents(), path in "(/[ab0-]?){0,4}", from in "(/[ab0-]?){0,4}", op in 0..6usize) {
        let op = ["add", "remove", "replace", "move", "copy", "test"][op];
        let mut changed = document;
        let _ = apply(&mut changed, &patch(json!([{ "op": op, "path": path, "from": from, "value": 1 }])));
    }
}
