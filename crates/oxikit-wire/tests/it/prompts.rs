//! Messages of the prompt manager. The samples of the plain protocol are those of its own document.

use oxikit_wire::prompts::{
    ChangeEvent, ClientMessage, Detail, Document, ErrorCode, Export, LintReport, NewDocument,
    PatchOp, PromptType, RESERVED_IDS, RevisionList, ServerMessage, is_reserved,
};
use serde_json::json;

use crate::sample::{check_reads, check_refuses, check_wire};

#[test]
fn the_plain_messages_of_the_server_are_those_of_the_document() {
    check_wire::<ServerMessage>(
        r#"{
          "action": "initial",
          "content": "...",
          "description": "...",
          "tags": ["tag1", "tag2"],
          "prompt_type": "standard",
          "updated_at": "2025-05-11T17:41:28.226Z"
        }"#,
    );
    check_wire::<ServerMessage>(
        r#"{"action": "update_status", "success": true, "timestamp": "2025-05-11T17:41:28.226Z"}"#,
    );
    check_wire::<ServerMessage>(
        r#"{
          "action": "expanded",
          "content": "...",
          "expanded": "...",
          "dependencies": ["dep1", "dep2"],
          "warnings": []
        }"#,
    );
    check_wire::<ServerMessage>(
        r#"{"action": "update", "content": "...", "timestamp": "2025-05-11T17:41:28.226Z"}"#,
    );
    check_wire::<ServerMessage>(
        r#"{
          "action": "update_metadata",
          "description": "...",
          "tags": ["tag1", "tag2"],
          "prompt_type": "standard",
          "timestamp": "2025-05-11T17:41:28.226Z"
        }"#,
    );
}

#[test]
fn the_plain_messages_of_clients_are_those_of_the_document() {
    check_wire::<ClientMessage>(r#"{"action": "update", "content": "..."}"#);
    check_wire::<ClientMessage>(
        r#"{
          "action": "update_metadata",
          "description": "...",
          "tags": ["tag1", "tag2"],
          "prompt_type": "standard"
        }"#,
    );
    check_wire::<ClientMessage>(r#"{"action": "expand", "content": "..."}"#);
}

#[test]
fn null_and_unknown_members_are_tolerated() {
    check_reads::<ClientMessage>(
        r#"{"action":"update_metadata","description":null,"tags":null,"x":{"y":1}}"#,
        r#"{"action":"update_metadata"}"#,
    );
    check_reads::<ClientMessage>(
        r#"{"content":"a","base_rev":null,"op":null,"action":"update"}"#,
        r#"{"action":"update","content":"a"}"#,
    );
    // A description that is missing is written as `null`, as the plain protocol does.
    check_wire::<ServerMessage>(
        r#"{"action":"initial","content":"","description":null,"tags":[],"updated_at":"2025-05-11T17:41:28.226Z"}"#,
    );
}

#[test]
fn messages_that_cannot_be_meant_are_refused() {
    for text in [
        "[]",
        "\"update\"",
        "{}",
        r#"{"action":null}"#,
        r#"{"action":"shutdown"}"#,
        r#"{"action":"update"}"#,
        r#"{"action":"update","content":5}"#,
        r#"{"action":"update","content":"","base_rev":-1}"#,
        r#"{"action":"update","content":"","on_conflict":"ask"}"#,
        r#"{"action":"update_metadata","prompt_type":"other"}"#,
        r#"{"action":"expand"}"#,
        r#"{"action":"patch","base_rev":1}"#,
        r#"{"action":"patch","base_rev":1,"ops":[["keep","a"]]}"#,
        r#"{"action":"patch","base_rev":1,"ops":[["insert",1]]}"#,
        r#"{"action":"patch","base_rev":1,"ops":[["keep",1,2]]}"#,
        r#"{"action":"restore"}"#,
    ] {
        check_refuses::<ClientMessage>(text);
    }
}

#[test]
fn the_additions_are_read_and_written_as_their_table_says() {
    for text in [
        r#"{"action":"update","content":"a","base_rev":3,"op":"7f","on_conflict":"reject","author":"Ada"}"#,
        r#"{"action":"update_metadata","tags":[],"op":"8","author":"Ada"}"#,
        r#"{"action":"expand","content":"[[a]]","op":"9"}"#,
        r#"{"action":"hello","protocol":{"name":"oxikit.prompts","version":1,"features":[]},"client":"page","resume":{"rev":3,"hash":"00"}}"#,
        r#"{"action":"patch","base_rev":3,"ops":[["keep",2],["insert","é"],["delete",1]],"op":"1"}"#,
        r#"{"action":"presence","cursor":3,"selection":{"start":1,"end":3},"name":"Ada","rev":3}"#,
        r#"{"action":"history","limit":10,"before":4}"#,
        r#"{"action":"restore","rev":2}"#,
    ] {
        check_wire::<ClientMessage>(text);
    }
    for text in [
        r#"{"action":"initial","content":"a","description":null,"tags":[],"prompt_type":"system","updated_at":"2025-05-11T17:41:28.226Z","rev":3,"hash":"00","id":"a","kind":"prompt","protocol":{"name":"oxikit.prompts","version":1,"features":["patch"]}}"#,
        r#"{"action":"update_status","success":true,"timestamp":"t","rev":4,"hash":"01","op":"7f","merged":true,"conflicts":[{"base":"a","stored":"b","incoming":"c"}]}"#,
        r#"{"action":"update_status","success":false,"timestamp":"t","op":"7f","error":{"code":"too_large","message":"m"}}"#,
        r#"{"action":"update","content":"a","timestamp":"t","rev":4,"base_rev":3,"hash":"01","reason":"external","author":"file"}"#,
        r#"{"action":"update_metadata","description":"d","tags":[],"prompt_type":"custom","timestamp":"t","rev":5,"op":"8","author":"Ada"}"#,
        r#"{"action":"expanded","content":"[[a]]","expanded":"b","dependencies":["a"],"warnings":["w"],"op":"9","revs":{"a":2},"spans":[{"start":0,"end":1,"id":"a"}]}"#,
        r#"{"action":"welcome","session":"s1","rev":4,"features":["patch"]}"#,
        r#"{"action":"patched","rev":4,"base_rev":3,"ops":[["delete",1]],"author":"Ada"}"#,
        r#"{"action":"presence","clients":[{"session":"s1","name":"Ada","cursor":3}]}"#,
        r#"{"action":"dependency_changed","id":"b","rev":2}"#,
        r#"{"action":"renamed","id":"c"}"#,
        r#"{"action":"history","revisions":[{"rev":1,"kind":"external","author":"file","timestamp":"t","hash":"00","bytes":1,"applied":true}],"labels":{"production":1}}"#,
        r#"{"action":"error","code":"bad_request","message":"m","op":"1"}"#,
    ] {
        check_wire::<ServerMessage>(text);
    }
}

#[test]
fn every_error_code_has_the_name_of_the_table() {
    let names: Vec<_> = ErrorCode::ALL.iter().map(|code| json!(code)).collect();
    let expected = [
        "conflict",
        "bad_request",
        "too_large",
        "not_found",
        "read_only",
        "storage",
        "unauthorized",
    ];
    assert_eq!(names, expected);
}

#[test]
fn prompt_types_are_lower_case() {
    for name in ["standard", "composite", "system", "user", "custom"] {
        check_wire::<PromptType>(&format!("\"{name}\""));
    }
    assert_eq!(PromptType::default(), PromptType::Standard);
}

#[test]
fn ids_that_are_paths_of_the_api_are_reserved() {
    assert!(RESERVED_IDS.is_sorted());
    for id in ["all", "ALL", "ws", "history", "openapi.json", "fragments/a"] {
        assert!(is_reserved(id), "{id}");
    }
    for id in ["", "alls", "greeting", "a/all"] {
        assert!(!is_reserved(id), "{id}");
    }
}

#[test]
fn steps_of_a_patch_are_pairs() {
    let ops = vec![PatchOp::Keep(2), PatchOp::Insert("x".to_owned()), PatchOp::Delete(1)];
    let text = serde_json::to_string(&ops).unwrap();
    assert_eq!(text, r#"[["keep",2],["insert","x"],["delete",1]]"#);
}

#[test]
fn bodies_and_responses_of_the_rest_api_are_read_and_written() {
    check_wire::<Document>(
        r#"{"id":"joke","filename":"joke.md","directory":"/p","directory_name":"p","content":"a","description":null,"prompt_type":"standard","tags":[],"created_at":"t","updated_at":"t","name":"joke","display_name":"joke","unique_id":"p/joke","is_composite":false,"kind":"prompt","rev":1,"hash":"00","is_dotprompt":false}"#,
    );
    check_reads::<NewDocument>(
        r#"{"id":"joke","content":null,"directory":"/p","prompt_type":"user"}"#,
        r#"{"id":"joke","content":"","directory":"/p","prompt_type":"user"}"#,
    );
    check_wire::<Detail>(r#"{"detail":"Prompt 'x' not found"}"#);
    check_wire::<Detail>(
        r#"{"detail":[{"loc":["body","content"],"msg":"field required","type":"missing"}]}"#,
    );
    check_wire::<RevisionList>(
        r#"{"id":"joke","rev":2,"revisions":[{"rev":2,"parent":1,"kind":"edit","author":"Ada","timestamp":"t","hash":"00","bytes":3,"applied":true,"labels":["production"]}],"next":2,"labels":{"production":2}}"#,
    );
    check_wire::<ChangeEvent>(
        r#"{"change":"renamed","id":"b","old_id":"a","kind":"prompt","rev":3,"hash":"00"}"#,
    );
    check_wire::<ChangeEvent>(r#"{"change":"reload"}"#);
}

#[test]
fn an_export_has_all_texts_and_their_revisions() {
    check_wire::<Export>(
        r#"{
          "label": "production",
          "prompts": [
            {"name": "footer", "kind": "fragment", "id": "_footer", "rev": 3, "source": "Bye", "fragments": {}},
            {"name": "jokes/dad", "kind": "prompt", "id": "dad", "rev": 12, "source": "Be brief.",
             "fragments": {"brief": 2}, "warnings": ["..."]}
          ]
        }"#,
    );
    for other in ["{}", "[]", r#"{"prompts": null}"#] {
        check_refuses::<Export>(other);
    }
}

#[test]
fn mistakes_name_their_file_and_line() {
    check_wire::<LintReport>(
        r#"{
          "documents": 2,
          "findings": [
            {"directory": "p", "file": "dad.prompt", "id": "dad", "line": 4, "severity": "error",
             "code": "missing_inclusion", "message": "..."},
            {"directory": "p", "file": "old.md", "severity": "warning", "code": "unused_fragment",
             "message": "..."}
          ]
        }"#,
    );
}
