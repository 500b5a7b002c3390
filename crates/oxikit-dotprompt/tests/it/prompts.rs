//! Rendering of prompts to messages.

use std::sync::Arc;

use oxikit_dotprompt::{Environment, Prompt, RenderInput};
use oxikit_wire::{Document, Message};
use serde_json::{Value, json};

use crate::{messages, object};

fn with_history(source: &str) -> Value {
    let prompt = Prompt::parse(source).expect("it is a prompt");
    let compiled = Environment::new().compile(&prompt).expect("it compiles");
    let history = [Message::user("u1"), Message::model("m1")].map(Arc::new);
    let input = RenderInput::default().with_messages(&history);
    let rendered = compiled.render(&input).expect("it renders");
    let short = rendered.messages.iter().map(|message| {
        let mark = if message.metadata.is_some() { "*" } else { "" };
        format!("{}{mark}: {}", message.role.as_str(), message.text().trim())
    });
    short.collect()
}

#[test]
fn the_files_defaults_apply_below_those_of_the_caller_and_the_input() {
    let prompt = "---\ninput:\n  default: { a: 1, b: 1, c: 1 }\n---\n{{a}}{{b}}{{c}} {{json this}}";
    let compiled = Environment::new().compile(&Prompt::parse(prompt).unwrap()).unwrap();
    let (input, defaults) = (object(json!({ "c": 3 })), object(json!({ "b": 2, "c": 2 })));
    let input = RenderInput::new(&input).with_defaults(&defaults);
    assert_eq!(compiled.render_text(&input).unwrap(), r#"123 {"a":1,"b":2,"c":3}"#);
}

#[test]
fn history_goes_where_the_template_says() {
    let source = "{{role \"system\"}}S\n{{history}}{{role \"user\"}}Q";
    assert_eq!(with_history(source), json!(["system: S", "user*: u1", "model*: m1", "user: Q"]));
}

#[test]
fn history_goes_before_a_last_user_message_or_else_to_the_end() {
    let last_is_user = "{{role \"system\"}}S{{role \"user\"}}Q";
    assert_eq!(
        with_history(last_is_user),
        json!(["system: S", "user: u1", "model: m1", "user: Q"])
    );
    let no_user = "{{role \"system\"}}S";
    assert_eq!(with_history(no_user), json!(["system: S", "user: u1", "model: m1"]));
    assert_eq!(with_history(" "), json!(["user: u1", "model: m1"]));
}

#[test]
fn text_after_history_is_the_models() {
    assert_eq!(with_history("{{history}}so"), json!(["user*: u1", "model*: m1", "model: so"]));
}

#[test]
fn media_and_sections_are_parts_of_their_own() {
    let source = "Look {{media url=pic contentType=\"image/png\"}}\n{{section \"output\"}}";
    assert_eq!(
        messages(source, json!({ "pic": "https://x/a b.png" })).unwrap(),
        json!([{ "role": "user", "content": [
            { "text": "Look " },
            { "media": { "url": "https://x/a b.png", "contentType": "image/png" } },
            { "metadata": { "purpose": "output", "pending": true } },
        ] }]),
    );
}

#[test]
fn media_without_a_url_writes_nothing() {
    assert_eq!(
        messages("Look {{media url=pic}}", json!({})).unwrap(),
        json!([{ "role": "user", "content": [{ "text": "Look " }] }]),
    );
}

#[test]
fn roles_may_come_from_partials_and_blocks() {
    let environment = Environment::new().partial("rules", "{{role \"system\"}}Be kind.");
    let prompt = Prompt::parse("{{> rules}}{{#if ask}}{{role \"user\"}}Hi{{/if}}").unwrap();
    let input = object(json!({ "ask": true }));
    let rendered = environment.compile(&prompt).unwrap().render(&RenderInput::new(&input)).unwrap();
    assert_eq!(
        json!(rendered.messages),
        json!([
            { "role": "system", "content": [{ "text": "Be kind." }] },
            { "role": "user", "content": [{ "text": "Hi" }] },
        ]),
    );
}

#[test]
fn context_docs_and_metadata_are_at_variables() {
    let source = "---\nmodel: m\n---\n{{@auth.uid}} {{@metadata.prompt.model}} \
        {{#each @metadata.docs}}{{content.[0].text}};{{/each}}{{@metadata.messages.length}}";
    let compiled = Environment::new().compile(&Prompt::parse(source).unwrap()).unwrap();
    let context = object(json!({ "auth": { "uid": "u" } }));
    let docs = [Document::text("D"), Document::text("E")];
    let input = RenderInput::default().with_context(&context).with_docs(&docs);
    assert_eq!(compiled.render_text(&input).unwrap(), "u m D;E;0");
}

#[test]
fn a_compiled_prompt_is_shared_between_threads() {
    fn check<T: Send + Sync + Clone + 'static>(_: &T) {}
    let environment = Environment::new();
    check(&environment);
    check(&environment.compile_template("Hi").unwrap());
}
