//! The offline demo model in a whole application.

use oxikit::offline::{DEMO_MODEL, Offline};
use oxikit::prelude::*;
use oxikit::wire::ToolChoice;

fn app() -> Oxikit {
    Oxikit::builder().plugin(Offline).default_model(DEMO_MODEL).build().unwrap()
}

/// Adds two numbers.
#[tool]
async fn add(
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
) -> f64 {
    a + b
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Recipe {
    title: String,
    minutes: u32,
    steps: Vec<String>,
    vegan: Option<bool>,
}

fn soup() -> Recipe {
    Recipe {
        title: "quick soup in minutes".to_owned(),
        minutes: 20,
        steps: vec!["sample steps".to_owned()],
        vegan: Some(true),
    }
}

#[tokio::test]
async fn a_named_tool_is_called_and_its_answer_reported() {
    let reply = app().generate().prompt("Please add 2 and 3.").tool(add()).await.unwrap();
    assert_eq!(
        reply.text(),
        "This is offline/demo: no model was asked. The tool `add` answered: 5.0"
    );
    assert_eq!(reply.messages().len(), 4);
}

#[tokio::test]
async fn a_required_tool_is_called_once() {
    let reply = app()
        .generate()
        .prompt("hello")
        .tool(add())
        .tool_choice(ToolChoice::Required)
        .await
        .unwrap();
    assert_eq!(
        reply.text(),
        "This is offline/demo: no model was asked. The tool `add` answered: 2.0"
    );
}

#[tokio::test]
async fn a_typed_output_is_filled() {
    let prompt = "A quick soup in 20 minutes.";
    let reply = app().generate().prompt(prompt).output::<Recipe>().await.unwrap();
    assert_eq!(reply.output().unwrap(), soup());
}

#[tokio::test]
async fn a_typed_output_is_streamed_and_grows() {
    let prompt = "A quick soup in 20 minutes.";
    let mut stream = app().generate().prompt(prompt).output::<Recipe>().stream();
    let mut text = String::new();
    let mut seen = Vec::new();
    while let Some(chunk) = stream.next().await {
        text.push_str(&chunk.unwrap().to_text());
        seen.extend(stream.partial_output());
    }
    let reply = stream.finish().await.unwrap();
    assert_eq!(text, reply.text());
    assert_eq!(seen[0], json!({}));
    assert_eq!(seen.last(), Some(&json!(soup())));
    assert!(seen.len() > 5);
    assert_eq!(reply.output().unwrap(), soup());
}

#[tokio::test]
async fn every_output_format_is_answered() {
    let item = json!({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]});
    let list = json!({"type":"array","items":item,"minItems":2});
    let words = json!({"type":"string","enum":["red","green"]});
    for (format, schema, expected) in [
        ("json", item.clone(), json!({"n":1})),
        ("array", list.clone(), json!([{"n":1},{"n":2}])),
        ("jsonl", list, json!([{"n":1},{"n":2}])),
        ("enum", words, json!("green")),
    ] {
        let call = app().generate().prompt("make it green");
        let reply = call.output_format(format).output_schema(schema).await.unwrap();
        assert_eq!(reply.output().unwrap(), expected, "{format}");
    }
}

#[tokio::test]
async fn documents_are_mentioned() {
    let reply = app().generate().prompt("Is tea hot?").doc("Tea is hot.").await.unwrap();
    assert_eq!(
        reply.text(),
        "This is offline/demo: no model was asked. You said: Is tea hot? (documents with it: 1; the first: Tea is hot.)"
    );
}
