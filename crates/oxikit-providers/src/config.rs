//! The configuration of a call: the members that Genkit defines for every model, and the rest for
//! the provider.

use oxikit_ai::wire::JsonObject;
use oxikit_ai::{Result, Secret, Status};
use serde_json::Value;

use crate::model_name::is_model_name;

/// A model's configuration: the members that all providers support, and those that only this one
/// may support.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub(crate) version: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) top_k: Option<u64>,
    pub(crate) top_p: Option<f64>,
    pub(crate) stop_sequences: Vec<String>,
    pub(crate) api_key: Option<Secret<String>>,
    /// All other members, which are passed on to the provider.
    pub(crate) rest: JsonObject,
}

impl Config {
    /// Reads the configuration of a call. A member of the wrong type is refused by its name.
    pub(crate) fn parse(config: Option<&Value>) -> Result<Self> {
        let mut rest = match config {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(members)) => members.clone(),
            Some(_) => return Err(Status::invalid_argument("`config` is not an object")),
        };
        // JavaScript callers send `null` for members that are not set.
        rest.retain(|_, value| !value.is_null());
        Ok(Self {
            version: take(&mut rest, "version", "a model's name", as_model_name)?,
            temperature: take(&mut rest, "temperature", "a number", Value::as_f64)?,
            max_output_tokens: take(&mut rest, "maxOutputTokens", "a count", as_count)?,
            top_k: take(&mut rest, "topK", "a count", as_count)?,
            top_p: take(&mut rest, "topP", "a number", Value::as_f64)?,
            stop_sequences: take(&mut rest, "stopSequences", "a list of strings", as_strings)?
                .unwrap_or_default(),
            api_key: take(&mut rest, "apiKey", "a string", as_string)?.map(Secret::new),
            rest,
        })
    }

    /// The members that are passed on, named as most providers name theirs:
    /// `reasoningEffort` becomes `reasoning_effort`.
    pub(crate) fn take_snake_case(&mut self) -> JsonObject {
        let rest = std::mem::take(&mut self.rest);
        rest.into_iter().map(|(name, value)| (snake_case(&name), value)).collect()
    }
}

/// Removes a member and reads it. `wanted` describes the expected value in the error.
fn take<T>(
    members: &mut JsonObject,
    name: &str,
    wanted: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>> {
    let Some(value) = members.shift_remove(name) else {
        return Ok(None);
    };
    match read(&value) {
        Some(value) => Ok(Some(value)),
        None => Err(Status::invalid_argument(format!("`config.{name}` is not {wanted}"))),
    }
}

fn as_string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The name of a model, checked as in actions: `version` is sent in place of the model's name.
fn as_model_name(value: &Value) -> Option<String> {
    as_string(value).filter(|name| is_model_name(name))
}

fn as_strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(as_string).collect()
}

/// A whole number, also as JavaScript writes it: `40.0`.
fn as_count(value: &Value) -> Option<u64> {
    let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
    value.as_u64().or_else(|| whole(value.as_f64()?))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn common_members_are_read_and_the_rest_is_passed_on() {
        let config = json!({
            "temperature": 0.5, "topK": 40.0, "stopSequences": ["END"], "topP": null,
            "reasoningEffort": "low", "seed": 7,
        });
        let mut config = Config::parse(Some(&config)).unwrap();
        assert_eq!(config.temperature, Some(0.5));
        assert_eq!(config.top_k, Some(40));
        assert_eq!(config.top_p, None);
        assert_eq!(config.stop_sequences, ["END"]);
        let rest = Value::Object(config.take_snake_case());
        assert_eq!(rest, json!({"reasoning_effort": "low", "seed": 7}));
    }

    #[test]
    fn a_member_of_the_wrong_type_is_refused_by_name() {
        let refused = Config::parse(Some(&json!({"topK": "many"}))).unwrap_err();
        assert_eq!(refused.message(), "`config.topK` is not a count");
    }
}
