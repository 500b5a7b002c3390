//! Prompts in code and in files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use oxikit::prelude::*;
use oxikit::wire::GenerateActionOptions;
use oxikit::{Call, Role};

use crate::generate::{app, says};

const HELLO: &str = r#"---
model: script
description: says hello
config:
  temperature: 0.3
input:
  schema:
    name: string, who to greet
    age?: integer
  default:
    name: World
output:
  format: json
  schema:
    greeting: string
    tags(array, some tags): string
tools: [add]
maxTurns: 3
toolChoice: auto
use:
  - name: logging
myext.foo: 1
metadata:
  owner: me
---
{{role "system"}}Be nice to {{@auth.email}}.
{{> footer who=name}}
{{role "user"}}Hello {{name}}{{#if age}} ({{age}}){{/if}}
{{section "output"}}"#;

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn prompts() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "hello.prompt", HELLO);
    write(directory.path(), "hello.formal.prompt", "Good day {{name}}");
    write(
        directory.path(),
        "sub/chatty.prompt",
        "{{role \"system\"}}SYS\n{{history}}{{role \"user\"}}now {{q}}",
    );
    write(directory.path(), "_footer.prompt", "Footer for {{who}}.");
    directory
}

fn add() -> Tool {
    Tool::new("add", "Adds.", |(a, b): (f64, f64)| async move { Ok(a + b) })
}

#[tokio::test]
async fn files_become_prompts_variants_and_partials() {
    let directory = prompts();
    let (ai, _) = app([]);
    ai.define_tool(add());
    let loaded = ai.load_prompts(directory.path()).unwrap();
    assert_eq!(loaded.loaded, ["hello", "hello.formal", "sub/chatty"]);
    assert!(loaded.broken.is_empty());

    let context = ActionContext::default().with("auth", json!({"email": "e@x"}));
    let options = ai
        .prompt("hello", json!({"name": "Ann", "age": 5}))
        .context(context)
        .render()
        .await
        .unwrap();
    let schema = json!({
        "type": "object",
        "properties": {
            "greeting": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "some tags"},
        },
        "required": ["greeting", "tags"],
        "additionalProperties": false,
    });
    assert_eq!(
        json!(options),
        json!({
            "model": "script",
            "messages": [
                {"role": "system", "content": [{"text": "Be nice to e@x.\nFooter for Ann."}]},
                {"role": "user", "content": [
                    {"text": "Hello Ann (5)\n"},
                    {"metadata": {"purpose": "output", "pending": true}},
                ]},
            ],
            "tools": ["add"], "toolChoice": "auto", "config": {"temperature": 0.3}, "maxTurns": 3,
            "output": {"format": "json", "jsonSchema": schema}, "use": [{"name": "logging"}],
        })
    );
}

#[tokio::test]
async fn a_prompt_is_listed_and_run_as_two_actions() {
    let directory = prompts();
    let (ai, _) = app([]);
    ai.define_tool(add());
    ai.load_prompts(directory.path()).unwrap();
    let action = ai.registry().get("/prompt/hello").unwrap();
    let metadata = json!(action.descriptor().metadata);
    assert_eq!(metadata["type"], "prompt");
    assert_eq!(metadata["prompt"]["ext"], json!({"myext": {"foo": 1}}));
    assert_eq!(metadata["metadata"], json!({"owner": "me"}));
    assert!(metadata["prompt"]["input"].get("default").is_none());
    assert_eq!(action.descriptor().input_schema.as_ref().unwrap()["required"], json!(["name"]));

    let run = |key: &'static str, input: Value| {
        let ai = ai.clone();
        async move { ai.registry().run(key, Call::new(input)).await?.to_value() }
    };
    let asked = run("/prompt/hello", json!({"name": "Ann"})).await.unwrap();
    assert_eq!(asked["tools"][0]["key"], "/tool/add");
    assert_eq!(asked["resources"], json!([]));
    assert_eq!(asked["output"]["schema"], asked["output"]["jsonSchema"]);
    let options = run("/executable-prompt/hello", json!({})).await.unwrap();
    assert_eq!(options["tools"], json!(["/tool/add"]));
    assert_eq!(options["messages"][1]["content"][0], json!({"text": "Hello World\n"}));

    let status = run("/prompt/hello", json!({"name": 5})).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains("- name: must be string"), "{status}");
}

#[tokio::test]
async fn history_goes_where_the_prompt_wants_it() {
    let directory = prompts();
    let (ai, _) = app([]);
    ai.load_prompts(directory.path()).unwrap();
    let history = [Message::user("u1"), Message::model("m1")];
    let options = ai
        .prompt("sub/chatty", json!({"q": "Q"}))
        .messages(history.clone())
        .render()
        .await
        .unwrap();
    let seen: Vec<_> =
        options.messages.iter().map(|message| (message.role, message.text())).collect();
    let expected =
        [(Role::System, "SYS\n"), (Role::User, "u1"), (Role::Model, "m1"), (Role::User, "now Q")];
    assert_eq!(seen, expected.map(|(role, text)| (role, text.to_owned())));

    ai.define_prompt(Prompt::builder("inline").system("S {{n}}").prompt("U {{n}}")).unwrap();
    let options = ai.prompt("inline", json!({"n": 1})).messages(history).render().await.unwrap();
    let seen: Vec<_> = options.messages.iter().map(|message| message.text()).collect();
    assert_eq!(seen, ["S 1", "u1", "m1", "U 1"]);
}

#[tokio::test]
async fn a_prompt_is_called_and_its_options_can_be_overridden() {
    let (ai, script) = app([says("hi")]);
    let prompt = ai
        .define_prompt(
            Prompt::builder("p")
                .prompt("Say {{what}}")
                .config(json!({"temperature": 0, "topK": 1})),
        )
        .unwrap();
    let reply = prompt.call(json!({"what": "hi"})).config(json!({"temperature": 1})).await.unwrap();
    assert_eq!(reply.text(), "hi");
    assert_eq!(script.last_request().config, Some(json!({"temperature": 1, "topK": 1})));
    assert_eq!(script.last_request().messages[0].text(), "Say hi");
}

#[tokio::test]
async fn a_missing_variable_that_the_schema_requires_is_named() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Input {
        topic: String,
    }
    let (ai, _) = app([]);
    ai.define_prompt(Prompt::builder("joke").input::<Input>().prompt("About {{topic}}")).unwrap();
    let status = ai.prompt("joke", json!({})).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains("must have required property 'topic'"), "{status}");
    let status = ai.prompt("jok", json!({})).await.unwrap_err();
    assert_eq!(status.outgoing().message, "Prompt 'jok' not found");
    assert!(status.to_string().contains("`joke`"), "{status}");
}

#[tokio::test]
async fn helpers_partials_and_schemas_may_be_defined_after_the_prompt_that_uses_them() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct City {
        name: String,
    }
    let directory = tempfile::tempdir().unwrap();
    write(
        directory.path(),
        "trip.prompt",
        "---\ninput:\n  schema: City\n---\n{{shout name}} {{> bye}}",
    );
    let (ai, _) = app([]);
    assert!(ai.load_prompts(directory.path()).unwrap().broken.contains_key("trip"));
    ai.define_schema::<City>("City");
    ai.define_partial("bye", "Bye.");
    ai.define_helper("shout", |args, _| Ok(args[0].as_str().unwrap_or_default().to_uppercase()));
    let options = ai.prompt("trip", json!({"name": "Rome"})).render().await.unwrap();
    assert_eq!(options.messages[0].text(), "ROME Bye.");
}

#[tokio::test]
async fn a_broken_file_is_named_with_its_place_and_harms_no_other() {
    let directory = prompts();
    write(directory.path(), "bad.prompt", "---\nmodel: x\n---\nHi {{#if a}}there");
    write(
        directory.path(),
        "bomb.prompt",
        "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\nHi",
    );
    let (ai, _) = app([]);
    let loaded = ai.load_prompts(directory.path()).unwrap();
    assert_eq!(loaded.loaded.len(), 3);
    assert_eq!(loaded.broken.keys().collect::<Vec<_>>(), ["bad", "bomb"]);
    let status = ai.prompt("bad", json!({})).await.unwrap_err();
    assert!(status.message().ends_with("add `{{/if}}` (line 4, column 4)"), "{status}");
    assert_eq!(status.outgoing().message, "Invalid argument");
    assert!(ai.prompt("hello.formal", json!({"name": "Z"})).render().await.is_ok());
}

#[tokio::test]
async fn a_template_that_never_ends_is_stopped() {
    let (ai, _) = app([]);
    ai.define_partial("ping", "{{> pong}}");
    ai.define_partial("pong", "{{> ping}}");
    ai.define_prompt(Prompt::builder("loop").prompt("{{> ping}}")).unwrap();
    let began = std::time::Instant::now();
    let status = ai.prompt("loop", json!({})).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::ResourceExhausted, "{status}");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_added_or_removed_file_or_partial_is_loaded_again() {
    let directory = prompts();
    let (ai, _) = app([]);
    ai.load_prompts(directory.path()).unwrap();
    let text = async |name: &str| -> Option<String> {
        let options: GenerateActionOptions =
            ai.prompt(name, json!({"name": "Z"})).render().await.ok()?;
        Some(options.messages[0].text())
    };
    assert_eq!(text("hello.formal").await.unwrap(), "Good day Z");
    ai.define_prompt(Prompt::builder("code").prompt("{{> footer who=name}}")).unwrap();
    assert_eq!(text("code").await.unwrap(), "Footer for Z.");
    fs::remove_file(directory.path().join("_footer.prompt")).unwrap();
    write(directory.path(), "hello.formal.prompt", "Good evening {{name}}");
    write(directory.path(), "new.prompt", "New {{name}}");
    fs::remove_file(directory.path().join("sub/chatty.prompt")).unwrap();
    let is_new = async || {
        text("hello.formal").await.as_deref() == Some("Good evening Z")
            && text("new").await.as_deref() == Some("New Z")
            && ai.registry().get("/prompt/sub/chatty").is_none()
            && text("code").await.is_none()
    };
    // The watching thread notifies nobody when it has loaded the files, so the test has to ask.
    tokio::time::timeout(Duration::from_secs(10), async {
        while !is_new().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the changed files were not loaded again within 10 s");
}
