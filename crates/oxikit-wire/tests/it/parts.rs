use oxikit_wire::{Media, Message, Part, PartKind, ToolRequest, ToolResponse};
use serde_json::json;

use crate::sample::{check_reads, check_refuses, check_wire};

#[test]
fn every_kind_of_part_comes_back_as_it_was_sent() {
    let samples = [
        r#"{"text":"Echo: hi there"}"#,
        r#"{"text":""}"#,
        r#"{"media":{"url":"data:image/png;base64,AA==","contentType":"image/png"}}"#,
        r#"{"media":{"url":"https://example.com/a.png"}}"#,
        r#"{"toolRequest":{"name":"add","ref":"r1","input":{"a":2,"b":3}}}"#,
        r#"{"toolRequest":{"name":"add","input":{"a":2},"partial":true}}"#,
        r#"{"toolRequest":{"name":"ping"}}"#,
        r#"{"toolResponse":{"name":"add","ref":"r1","output":5}}"#,
        r#"{"toolResponse":{"name":"nullT","ref":"r"}}"#,
        r#"{"toolResponse":{"name":"multi","ref":"r","output":{"a":1},"content":[{"text":"extra"},
            {"media":{"url":"data:image/png;base64,AA==","contentType":"image/png"}}]},"metadata":{"k":1}}"#,
        r#"{"data":{"a":[1,2.5,"x",null]}}"#,
        r#"{"data":"text"}"#,
        r#"{"custom":{"only":"here"}}"#,
        r#"{"reasoning":"First, I think."}"#,
        r#"{"resource":{"uri":"file:///notes.txt"}}"#,
        r#"{"metadata":{"purpose":"output","pending":true}}"#,
        r#"{"text":"P","metadata":{"purpose":"context"}}"#,
        r#"{}"#,
    ];
    for sample in samples {
        check_wire::<Part>(sample);
    }
}

#[test]
fn null_is_a_value_of_data_and_of_tool_results_but_not_of_other_members() {
    check_wire::<Part>(r#"{"data":null}"#);
    check_wire::<Part>(r#"{"toolRequest":{"name":"t","input":null}}"#);
    check_wire::<Part>(r#"{"toolResponse":{"name":"t","output":null}}"#);
    check_reads::<Part>(
        r#"{"text":"a","media":null,"metadata":null,"custom":null}"#,
        r#"{"text":"a"}"#,
    );
    let part: Part = serde_json::from_str(r#"{"data":null}"#).unwrap();
    assert_eq!(part.kind, PartKind::Data(json!(null)));
    let part: Part = serde_json::from_str("{}").unwrap();
    assert_eq!(part.kind, PartKind::Empty);
}

#[test]
fn unknown_members_of_a_part_are_passed_over() {
    check_reads::<Part>(r#"{"text":"a","thoughtSignature":"s"}"#, r#"{"text":"a"}"#);
    check_reads::<Part>(r#"{"somethingNew":1}"#, "{}");
}

#[test]
fn a_part_with_a_content_member_of_the_wrong_type_is_refused() {
    for sample in
        [r#"{"text":1}"#, r#"{"media":{}}"#, r#"{"toolRequest":{"input":1}}"#, r#"[]"#, r#""text""#]
    {
        check_refuses::<Part>(sample);
    }
}

#[test]
fn metadata_with_a_meaning_passes_through() {
    check_wire::<Part>(
        r#"{"toolRequest":{"name":"zeroT","input":{},"ref":"z"},"metadata":{"pendingOutput":0}}"#,
    );
    check_wire::<Part>(
        r#"{"toolRequest":{"name":"ask","input":{"q":"x"},"ref":"k"},"metadata":{"interrupt":true}}"#,
    );
    let part: Part =
        serde_json::from_str(r#"{"metadata":{"purpose":"output","pending":true}}"#).unwrap();
    assert_eq!(part.purpose(), Some("output"));
    assert!(part.is_pending());
}

#[test]
fn members_of_a_part_can_be_read_and_written_on_their_own() {
    check_wire::<Media>(r#"{"url":"https://example.com/a.png","contentType":"image/png"}"#);
    check_wire::<ToolRequest>(r#"{"name":"add","ref":"r1","input":{"a":2}}"#);
    check_wire::<ToolResponse>(r#"{"name":"add","ref":"r1","output":[5]}"#);
}

#[test]
fn every_role_has_messages() {
    for role in ["system", "user", "model", "tool"] {
        check_wire::<Message>(&format!(r#"{{"role":"{role}","content":[{{"text":"x"}}]}}"#));
    }
    check_wire::<Message>(r#"{"role":"tool","content":[],"metadata":{"resumed":true}}"#);
    check_wire::<Message>(
        r#"{"role":"model","content":[{"text":"{\"a\":1}"}],
            "metadata":{"generate":{"output":{"contentType":"application/json","format":"json"}}}}"#,
    );
    check_refuses::<Message>(r#"{"role":"assistant","content":[]}"#);
    check_refuses::<Message>(r#"{"role":"user"}"#);
}

#[test]
fn text_of_a_message_is_all_its_text_parts() {
    let message = Message::model("a").with_part(Part::reasoning("no")).with_part("b");
    assert_eq!(message.text(), "ab");
    assert_eq!(Message::from("hi").text(), "hi");
}
