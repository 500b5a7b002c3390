//! The kinds of actions that can be evaluated, and their inputs.
//!
//! A flow gets the input of the case as it is. The input of a model may be a text, which becomes
//! a message. A prompt is rendered with the input, and the result is sent to `/util/generate`.

use std::collections::BTreeMap;

use oxikit_core::Status;
use oxikit_wire::JsonObject;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// The kind of the action that is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The output of the flow is judged.
    Flow,
    /// The response of the model is judged.
    Model,
    /// The prompt is rendered, and the result is sent to a model.
    Prompt,
}

impl Target {
    /// The kind of an action, by its key. Fails with `INVALID_ARGUMENT` for kinds that cannot be
    /// evaluated.
    pub(super) fn of(action_ref: &str) -> Result<Self, Status> {
        match action_ref.trim_start_matches('/').split('/').next() {
            Some("flow") => Ok(Self::Flow),
            Some("model") => Ok(Self::Model),
            Some("executable-prompt") => Ok(Self::Prompt),
            _ => Err(Status::invalid_argument(format!(
                "`{action_ref}` cannot be evaluated: it has to be a `/flow/…`, a `/model/…` or \
                 an `/executable-prompt/…`"
            ))),
        }
    }
}

/// The members of an object, as raw JSON text.
type Members = BTreeMap<String, Box<RawValue>>;

/// The request to a model: a text becomes a user message, anything else is the request itself.
/// `config` replaces the configuration of the case.
pub(super) fn model_input(
    input: Option<&RawValue>,
    config: Option<&RawValue>,
) -> Result<Box<RawValue>, Status> {
    let text = input.map(RawValue::get).unwrap_or("null");
    let mut members: Members = if let Ok(text) = serde_json::from_str::<String>(text) {
        let messages = json!([{"role": "user", "content": [{"text": text}]}]);
        BTreeMap::from([("messages".to_owned(), raw(&messages)?)])
    } else {
        serde_json::from_str(text).map_err(|_| not_a_request())?
    };
    if !members.contains_key("messages") {
        return Err(not_a_request());
    }
    if let Some(config) = config {
        members.insert("config".to_owned(), config.to_owned());
    }
    raw(&members)
}

/// The error for an input that is not the request to a model.
fn not_a_request() -> Status {
    Status::invalid_argument("the input of a model is a text, or an object with `messages`")
}

/// The input of `/util/generate` for a rendered prompt: with the prompt's own model and
/// configuration, unless `config` has others.
pub(super) fn generate_input(
    rendered: &RawValue,
    config: Option<&RawValue>,
) -> Result<Box<RawValue>, Status> {
    let broken = |_| Status::invalid_argument("the prompt was not rendered to a request");
    let mut members: Members = serde_json::from_str(rendered.get()).map_err(broken)?;
    let refuse = |_| Status::invalid_argument("`actionConfig` of a prompt has to be an object");
    let config = config.map(|config| serde_json::from_str(config.get())).transpose();
    let mut config: JsonObject = config.map_err(refuse)?.unwrap_or_default();
    if let Some(Value::String(model)) = config.remove("model") {
        let model = model.strip_prefix("/model/").unwrap_or(&model);
        members.insert("model".to_owned(), raw(&model)?);
    }
    if !config.is_empty() {
        members.insert("config".to_owned(), raw(&config)?);
    }
    raw(&members)
}

/// A value as JSON text.
fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, Status> {
    to_raw_value(value).map_err(Status::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_text_is_a_message_and_a_request_keeps_its_digits() {
        let input = model_input(Some(&text(r#""hi""#)), None).unwrap();
        assert_eq!(input.get(), r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#);
        let request = text(r#"{"messages":[],"seed":12345678901234567890.5}"#);
        let input = model_input(Some(&request), Some(&text(r#"{"t":0}"#))).unwrap();
        assert_eq!(
            input.get(),
            r#"{"config":{"t":0},"messages":[],"seed":12345678901234567890.5}"#
        );
        for bad in ["7", "[1]", r#"{"message":1}"#] {
            assert!(model_input(Some(&text(bad)), None).is_err(), "{bad}");
        }
        assert!(model_input(None, None).is_err());
    }

    #[test]
    fn a_prompt_is_given_to_the_model_that_is_asked_for() {
        let rendered = text(r#"{"model":"own","messages":[],"config":{"a":1}}"#);
        let input = generate_input(&rendered, None).unwrap();
        assert_eq!(input.get(), r#"{"config":{"a":1},"messages":[],"model":"own"}"#);
        let config = text(r#"{"model":"/model/echo/model","b":2}"#);
        let input = generate_input(&rendered, Some(&config)).unwrap();
        assert_eq!(input.get(), r#"{"config":{"b":2},"messages":[],"model":"echo/model"}"#);
        assert!(generate_input(&text("[]"), None).is_err());
        assert!(generate_input(&rendered, Some(&text("7"))).is_err());
    }

    #[test]
    fn only_some_kinds_can_be_evaluated() {
        assert_eq!(Target::of("/flow/a").unwrap(), Target::Flow);
        assert_eq!(Target::of("/model/a/b").unwrap(), Target::Model);
        assert_eq!(Target::of("/executable-prompt/a").unwrap(), Target::Prompt);
        assert!(Target::of("/flowers/a").is_err());
        assert!(Target::of("/agent/a").is_err());
    }
}
