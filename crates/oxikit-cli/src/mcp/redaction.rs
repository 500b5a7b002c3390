//! Removes the tokens of the developer tools from results.
//!
//! A coding agent gets its data through this process and must not learn the tokens: with
//! them it could call the developer tools past the checks of `oxikit mcp`. An application may
//! have logged them or put them into a trace, because it gets them in its environment.

use oxikit_core::Status;
use oxikit_core::redact::REDACTED;
use oxikit_devtools::ManagerFile;
use serde_json::Value;

/// Replaces each token of these developer tools in the result, in an error also in its
/// message and its details.
pub(super) fn without_tokens(
    result: Result<Value, Status>,
    manager: ManagerFile,
) -> Result<Value, Status> {
    // The URLs for runtimes carry their token as the last part of the path.
    let last = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    let tokens = [manager.token, last(&manager.reflection_url), last(&manager.telemetry_url)];
    match result {
        Ok(mut value) => {
            redact(&mut value, &tokens);
            Ok(value)
        }
        Err(status) => {
            let outgoing = status.outgoing();
            let (mut message, details) = (Value::from(outgoing.message), outgoing.details);
            redact(&mut message, &tokens);
            let message = message.as_str().unwrap_or_default();
            let status = Status::public(outgoing.status, message);
            Err(match details {
                Some(mut details) => {
                    redact(&mut details, &tokens);
                    status.with_details(details)
                }
                None => status,
            })
        }
    }
}

/// Replaces the tokens in all strings of a value. Names of members stay.
fn redact(value: &mut Value, tokens: &[String]) {
    match value {
        Value::String(text) => {
            for token in tokens.iter().filter(|token| !token.is_empty()) {
                if text.contains(&**token) {
                    *text = text.replace(&**token, REDACTED);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| redact(value, tokens)),
        Value::Object(members) => members.values_mut().for_each(|value| redact(value, tokens)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
