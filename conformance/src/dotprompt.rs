//! The cases Dotprompt publishes for its implementations.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use oxikit_dotprompt::{Environment, Prompt, RenderInput};
use oxikit_wire::{Document, JsonObject, Message, ToolDefinition};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::suite::{Outcome, Places, Report, expect_same};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecSuite {
    name: String,
    template: String,
    #[serde(default)]
    data: JsonObject,
    #[serde(default)]
    schemas: JsonObject,
    #[serde(default)]
    tools: std::collections::BTreeMap<String, ToolDefinition>,
    #[serde(default)]
    partials: JsonObject,
    #[serde(default)]
    resolver_partials: JsonObject,
    tests: Vec<SpecTest>,
}

#[derive(Deserialize)]
struct SpecTest {
    #[serde(default)]
    desc: String,
    #[serde(default)]
    data: JsonObject,
    #[serde(default)]
    options: JsonObject,
    expect: JsonObject,
}

pub(crate) fn run(places: &Places) -> anyhow::Result<Outcome> {
    let directory = places.spec.join("conformance/dotprompt");
    if !directory.is_dir() {
        return Ok(places.missing("conformance/dotprompt", 117));
    }
    let mut report = Report::default();
    for file in yaml_files(&directory)? {
        let text = fs::read_to_string(&file)?;
        let suites: Vec<SpecSuite> = serde_saphyr::from_str(&text)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let file = file.strip_prefix(&directory)?.display().to_string();
        for suite in &suites {
            let environment = environment(suite);
            for test in &suite.tests {
                let case = format!("{file}: {}: {}", suite.name, test.desc);
                report.case(case, check(&environment, suite, test));
            }
        }
    }
    Ok(Outcome::Ran(report))
}

fn yaml_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(yaml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn environment(suite: &SpecSuite) -> Environment {
    let mut environment = Environment::new();
    for (name, schema) in &suite.schemas {
        environment = environment.schema(name, schema.clone());
    }
    for tool in suite.tools.values() {
        environment = environment.tool(tool.clone());
    }
    for (name, source) in &suite.partials {
        environment = environment.partial(name, source.as_str().unwrap_or_default());
    }
    let resolved = suite.resolver_partials.clone();
    environment.partial_resolver(move |name| Some(resolved.get(name)?.as_str()?.to_owned()))
}

/// The three comparisons: rendering, `raw`, and the metadata alone.
fn check(environment: &Environment, suite: &SpecSuite, test: &SpecTest) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| format!("it failed: {error}");
    let prompt = Prompt::parse(&suite.template).map_err(|error| text(&error))?;
    let (messages, metadata) = render(environment, &prompt, suite, test)?;

    let mut rendered = metadata;
    let raw = rendered.remove("raw").unwrap_or(Value::Null);
    rendered.remove("input");
    rendered.insert("messages".to_owned(), messages);
    let expected = with_defaults(&test.expect, &["raw", "input"]);
    expect_same("rendered", &expected, &rendered.into())?;

    if let Some(expected) = test.expect.get("raw") {
        expect_same("raw", expected, &raw)?;
    }

    let metadata =
        environment.metadata_with(&prompt, &test.options).map_err(|error| text(&error))?;
    let mut metadata = to_object(&metadata);
    metadata.remove("raw");
    let expected = with_defaults(&test.expect, &["raw", "messages"]);
    expect_same("metadata", &expected, &metadata.into())
}

fn render(
    environment: &Environment,
    prompt: &Prompt,
    suite: &SpecSuite,
    test: &SpecTest,
) -> Result<(Value, JsonObject), String> {
    let mut data = suite.data.clone();
    data.extend(test.data.clone());
    let object = |key: &str| data.get(key).and_then(Value::as_object);
    let messages: Vec<Arc<Message>> = list(&data, "messages")?;
    let docs: Vec<Document> = list(&data, "docs")?;
    let input = RenderInput {
        input: object("input"),
        context: object("context"),
        defaults: test.options.get("input").and_then(|input| input.get("default")?.as_object()),
        messages: &messages,
        docs: &docs,
    };
    let rendered = environment
        .compile(prompt)
        .and_then(|compiled| compiled.render(&input))
        .map_err(|error| format!("it failed: {error}"))?;
    Ok((json!(rendered.messages), to_object(&*rendered.metadata)))
}

fn list<T: serde::de::DeserializeOwned>(data: &JsonObject, key: &str) -> Result<Vec<T>, String> {
    let list = data.get(key).cloned().unwrap_or_else(|| json!([]));
    serde_json::from_value(list).map_err(|error| format!("`{key}` of the case: {error}"))
}

/// The expectation without some members, and with those that are always there.
fn with_defaults(expect: &JsonObject, without: &[&str]) -> Value {
    let mut expected = expect.clone();
    expected.retain(|key, _| !without.contains(&key.as_str()));
    for key in ["ext", "config", "metadata"] {
        expected.entry(key).or_insert_with(|| json!({}));
    }
    expected.into()
}

fn to_object(value: &impl serde::Serialize) -> JsonObject {
    match json!(value) {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
