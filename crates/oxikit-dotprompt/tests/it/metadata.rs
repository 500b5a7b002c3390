//! Front matter: keys, schemas, tools and configuration.

use oxikit_dotprompt::{Environment, ErrorKind, Prompt};
use oxikit_wire::ToolDefinition;
use serde_json::{Value, json};

use crate::object;

const HELLO: &str = r#"---
model: pm
description: says hello
config:
  temperature: 0.3
input:
  schema:
    name: string, who to greet
    age?: integer
  default:
    name: World
tools: [slowT, other]
maxTurns: 3
toolChoice: auto
returnToolRequests: true
use:
  - name: mw1
myext.foo: 1
metadata:
  owner: me
custom: prop
---
Hello {{name}}
"#;

/// The output schema after picoschema was expanded.
fn schema(short: &str) -> Result<Value, oxikit_dotprompt::Error> {
    let prompt = Prompt::parse(&format!("---\noutput:\n  schema: {short}\n---\n"))?;
    let metadata =
        Environment::new().schema("Known", json!({ "type": "number" })).metadata(&prompt)?;
    Ok(json!(metadata.output.and_then(|output| output.schema)))
}

#[test]
fn front_matter_is_read_with_genkits_own_keys() {
    let prompt = Prompt::parse(HELLO).unwrap();
    let metadata = &prompt.metadata;
    assert_eq!(prompt.template(), "Hello {{name}}");
    assert_eq!(metadata.model.as_deref(), Some("pm"));
    assert_eq!(metadata.description.as_deref(), Some("says hello"));
    assert_eq!(metadata.max_turns(), Some(3));
    assert_eq!(metadata.tool_choice(), Some("auto"));
    assert_eq!(metadata.return_tool_requests(), Some(true));
    assert_eq!(metadata.middleware(), Some(&json!([{ "name": "mw1" }])));
    assert_eq!(metadata.own_metadata(), Some(&object(json!({ "owner": "me" }))));
    assert_eq!(metadata.get("custom"), Some(&json!("prop")));
    assert_eq!(json!(metadata.ext), json!({ "myext": { "foo": 1 } }));
    assert_eq!(json!(metadata.default_input()), json!({ "name": "World" }));
}

#[test]
fn known_tools_become_definitions_and_unknown_ones_stay() {
    let tool = ToolDefinition { name: "slowT".into(), ..ToolDefinition::default() };
    let environment = Environment::new().tool(tool.clone());
    let metadata = environment.metadata(&Prompt::parse(HELLO).unwrap()).unwrap();
    assert_eq!(metadata.tools, Some(vec!["other".to_owned()]));
    assert_eq!(metadata.tool_defs, Some(vec![tool]));
}

#[test]
fn configuration_comes_from_the_model_then_the_file_then_the_options() {
    let defaults = object(json!({ "temperature": 1, "topK": 5, "version": "a" }));
    let environment = Environment::new().model_config("pm", defaults);
    let options = object(json!({ "config": { "version": "b" } }));
    let metadata = environment.metadata_with(&Prompt::parse(HELLO).unwrap(), &options).unwrap();
    assert_eq!(json!(metadata.config), json!({ "temperature": 0.3, "topK": 5, "version": "b" }));
}

#[test]
fn an_unknown_schema_name_is_a_schema_error() {
    let error = schema("Unknown").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("`Unknown`"));
}

#[test]
fn an_optional_array_may_be_null() {
    assert_eq!(
        schema("{ 'tags?(array, some)': Known }").unwrap()["properties"],
        json!({ "tags": {
            "type": ["array", "null"], "items": { "type": "number" }, "description": "some",
        } }),
    );
}

#[test]
fn words_that_old_yaml_takes_for_booleans_are_text() {
    let prompt = Prompt::parse("---\nanswer: yes\nreal: true\n---\n").unwrap();
    assert_eq!(json!(prompt.metadata.raw), json!({ "answer": "yes", "real": true }));
}

#[test]
fn merge_keys_are_keys_like_any_other() {
    let prompt = Prompt::parse("---\nconfig:\n  <<: { a: 1 }\n---\n").unwrap();
    assert_eq!(json!(prompt.metadata.config), json!({ "<<": { "a": 1 } }));
}

#[test]
fn a_text_that_only_looks_like_front_matter_is_a_template() {
    for source in ["--- not front matter\nHi", "---\nnever closed", "Hi\n---\na: 1\n---\n"] {
        assert_eq!(Prompt::parse(source).unwrap().template(), source);
    }
}

#[test]
fn comments_before_front_matter_and_crlf_are_accepted() {
    let prompt = Prompt::parse("# licence\r\n\r\n---\r\nmodel: m\r\n---\r\nHi\r\n").unwrap();
    assert_eq!(prompt.metadata.model.as_deref(), Some("m"));
    assert_eq!(prompt.template(), "Hi");
}

#[test]
fn front_matter_may_be_empty_and_may_end_the_file() {
    let prompt = Prompt::parse("---\n---").unwrap();
    assert_eq!((prompt.template(), prompt.metadata.raw.len()), ("", 0));
}
