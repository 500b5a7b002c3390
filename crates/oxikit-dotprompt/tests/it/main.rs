//! Behaviour of the public API. The template language itself is tested by the conformance suites.

mod hostile;
mod metadata;
mod prompts;
mod templates;
mod writing;

use oxikit_dotprompt::{Environment, Error, Prompt, RenderInput};
use oxikit_wire::JsonObject;
use serde_json::{Value, json};

/// An input object.
fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

/// The messages of a prompt file, as JSON.
fn messages(source: &str, input: Value) -> Result<Value, Error> {
    let compiled = Environment::new().compile(&Prompt::parse(source)?)?;
    let rendered = compiled.render(&RenderInput::new(&object(input)))?;
    Ok(json!(rendered.messages))
}

/// A bare template as text.
fn text(environment: &Environment, template: &str, input: Value) -> Result<String, Error> {
    environment.compile_template(template)?.render_text(&RenderInput::new(&object(input)))
}
