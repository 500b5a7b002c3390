//! Parses the request body of a turn, in all forms that clients send.

use std::sync::Arc;

use bytes::Bytes;
use oxikit_core::{Payload, Status, check_exact};
use oxikit_wire::{
    AgentInit, AgentInput, ExecuteInit, JsonObject, Message, Part, Role, SessionState,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A parsed request for a turn.
///
/// ```
/// use oxikit_serve::agents_api::ExecuteBody;
///
/// let body = br#"{"input": "Where is my order?", "init": {"sessionId": "s"}, "stream": true}"#;
/// let body = ExecuteBody::parse(&bytes::Bytes::from_static(body))?;
/// assert_eq!(body.input.message.unwrap().text(), "Where is my order?");
/// assert!(body.stream);
/// # Ok::<(), oxikit_core::Status>(())
/// ```
#[derive(Debug)]
pub struct ExecuteBody {
    /// The input of the turn.
    pub input: AgentInput,
    /// The session, snapshot or state that the turn continues from.
    pub init: ExecuteInit,
    /// Whether the client wants a stream of events; it can also ask for one by its headers.
    pub stream: bool,
    /// Attributes of the trace.
    pub labels: Option<JsonObject>,
}

impl ExecuteBody {
    /// Parses a body. `input` may be a text, a message, or a whole [`AgentInput`]; `init` and
    /// `telemetryLabels` are objects if they are there.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the body has none of the known forms; the message names the member.
    pub fn parse(body: &Bytes) -> Result<Self, Status> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members<'a> {
            #[serde(default, borrow)]
            input: Option<&'a RawValue>,
            #[serde(default, borrow)]
            init: Option<&'a RawValue>,
            #[serde(default)]
            stream: Option<bool>,
            #[serde(default, borrow)]
            telemetry_labels: Option<&'a RawValue>,
        }
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let text = str::from_utf8(body)
            .map_err(|_| Status::invalid_argument("the body is not text in UTF-8"))?;
        let members: Members<'_> = object(text, "the body")?;
        // State, metadata and labels become trees.
        check_exact(body)?;
        let input = members.input.ok_or_else(|| {
            Status::invalid_argument("there is no `input`: send {\"input\": <message>}")
        })?;
        let init = members.init.map(|init| object(init.get(), "`init`")).transpose()?;
        let labels = members.telemetry_labels;
        Ok(Self {
            input: parse_input(input.get())?,
            init: init.unwrap_or_default(),
            stream: members.stream.unwrap_or(false),
            labels: labels.map(|labels| object(labels.get(), "`telemetryLabels`")).transpose()?,
        })
    }

    /// The `init` of the agent's action. `has_store` says whether the server keeps the state of
    /// the agent.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` if the client sends a state and the server keeps it,
    /// `INVALID_ARGUMENT` if the state of a session is not valid.
    pub fn agent_init(init: ExecuteInit, has_store: bool) -> Result<AgentInit, Status> {
        if has_store { server_managed(init) } else { client_managed(init) }
    }
}

/// Parses an object. Derived `Deserialize` would accept a JSON array, too.
fn object<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, Status> {
    if !text.trim_ascii_start().starts_with('{') {
        return Err(Status::invalid_argument(format!("{what} must be a JSON object")));
    }
    serde_json::from_str(text)
        .map_err(|error| Status::invalid_argument(format!("{what} is not valid: {error}")))
}

/// A message, a text, or a whole input.
fn parse_input(text: &str) -> Result<AgentInput, Status> {
    /// Tells the forms apart.
    #[derive(Deserialize)]
    struct Form<'a> {
        #[serde(default)]
        role: Option<Role>,
        #[serde(default, borrow)]
        content: Option<&'a RawValue>,
        #[serde(default)]
        metadata: Option<JsonObject>,
        #[serde(default, borrow)]
        message: Option<&'a RawValue>,
        #[serde(default, borrow)]
        resume: Option<&'a RawValue>,
        #[serde(default, borrow)]
        detach: Option<&'a RawValue>,
    }
    let of_message =
        |message| AgentInput { message: Some(Arc::new(message)), ..Default::default() };
    if text.starts_with('"') {
        return Ok(of_message(Message::user(string(text)?)));
    }
    let form: Form<'_> = object(text, "`input`")?;
    let Some(content) = form.content else {
        let is_whole = form.message.or(form.resume).or(form.detach).is_some();
        let is_empty = || object(text, "`input`").is_ok_and(|it: JsonObject| it.is_empty());
        if is_whole || is_empty() {
            return object(text, "`input`");
        }
        return Err(Status::invalid_argument(
            "`input` must be a message with `content`, a text, or an input with `message`, `resume` or `detach`",
        ));
    };
    let content = match content.get() {
        text if text.starts_with('"') => vec![Part::text(string(text)?)],
        parts => serde_json::from_str(parts).map_err(|error| {
            Status::invalid_argument(format!("`input.content` is not valid: {error}"))
        })?,
    };
    let role = form.role.unwrap_or(Role::User);
    Ok(of_message(Message { role, content, metadata: form.metadata }))
}

fn string(text: &str) -> Result<String, Status> {
    serde_json::from_str(text)
        .map_err(|error| Status::invalid_argument(format!("`input` is not valid: {error}")))
}

fn server_managed(init: ExecuteInit) -> Result<AgentInit, Status> {
    let has_messages = init.messages.is_some_and(|messages| !messages.is_empty());
    let has_artifacts = init.artifacts.is_some_and(|artifacts| !artifacts.is_empty());
    if has_messages || has_artifacts || init.state.as_ref().is_some_and(|state| !is_nothing(state))
    {
        return Err(Status::failed_precondition(
            "the server keeps the state of this agent: send `init.sessionId` or `init.snapshotId`, no state",
        ));
    }
    Ok(AgentInit { snapshot_id: init.snapshot_id, session_id: init.session_id, state: None })
}

/// Makes the state out of `init`. A client may send it whole, as `state`, or in pieces; beside
/// `messages` or `artifacts`, `state` is the application's custom state only.
fn client_managed(init: ExecuteInit) -> Result<AgentInit, Status> {
    let ExecuteInit { session_id, snapshot_id, messages, state, artifacts } = init;
    let given = state.filter(|state| !is_nothing(state));
    let has_siblings = messages.is_some() || artifacts.is_some();
    let is_nothing = given.is_none() && session_id.is_none() && !has_siblings;
    let mut state = match given {
        Some(whole) if !has_siblings && is_whole_state(&whole) => Payload::of(whole)
            .parse::<SessionState>()
            .map_err(|error| Status::invalid_argument(error.message().to_owned()))?,
        custom => SessionState { custom: custom.map(Arc::new), ..SessionState::default() },
    };
    if has_siblings {
        (state.messages, state.artifacts) = (messages, artifacts);
    }
    if session_id.is_some() {
        state.session_id = session_id;
    }
    Ok(AgentInit { snapshot_id, session_id: None, state: (!is_nothing).then_some(state) })
}

/// Whether it is the state of a session rather than the application's own.
fn is_whole_state(state: &Value) -> bool {
    ["messages", "custom", "artifacts"].iter().any(|member| state.get(member).is_some())
}

/// Whether this is what clients without a state send.
fn is_nothing(state: &Value) -> bool {
    state.is_null() || state.as_object().is_some_and(JsonObject::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn parse(body: Value) -> Result<ExecuteBody, String> {
        let body = Bytes::from(body.to_string());
        ExecuteBody::parse(&body).map_err(|status| status.message().to_owned())
    }

    #[test]
    fn every_form_of_an_input_is_the_same_input() {
        let message = json!({ "role": "user", "content": [{ "text": "hi" }] });
        let forms = [
            message.clone(),
            json!("hi"),
            json!({ "content": "hi" }),
            json!({ "content": [{ "text": "hi" }] }),
            json!({ "message": message }),
        ];
        for input in forms {
            let read = parse(json!({ "input": input })).unwrap().input;
            assert_eq!(serde_json::to_value(&read).unwrap(), json!({ "message": message }));
        }
        let detached = json!({ "message": message, "detach": true });
        let read = parse(json!({ "input": detached })).unwrap().input;
        assert_eq!(serde_json::to_value(&read).unwrap(), detached);
    }

    #[test]
    fn other_values_are_rejected_as_input() {
        for body in [
            json!({}),
            json!({ "input": null }),
            json!({ "input": 1 }),
            json!({ "input": [] }),
            json!({ "input": { "role": "user" } }),
            json!({ "input": { "text": "hi" } }),
            json!({ "input": { "role": "pilot", "content": [] } }),
            json!({ "input": { "content": 1 } }),
            json!({ "input": { "message": "hi" } }),
            json!({ "input": "hi", "init": [] }),
            json!({ "input": "hi", "init": { "sessionId": 1 } }),
            json!({ "input": "hi", "stream": "yes" }),
            json!({ "input": "hi", "telemetryLabels": [] }),
            json!([{ "input": "hi" }]),
        ] {
            assert!(parse(body.clone()).is_err(), "{body}");
        }
    }

    #[track_caller]
    fn check_client(init: Value, expected: Value) {
        let init = serde_json::from_value(init).unwrap();
        let init = ExecuteBody::agent_init(init, false).unwrap();
        assert_eq!(serde_json::to_value(init).unwrap(), expected);
    }

    #[test]
    fn a_client_that_keeps_the_state_may_send_it_in_pieces_or_whole() {
        check_client(json!({}), json!({}));
        check_client(json!({ "state": {} }), json!({}));
        check_client(json!({ "sessionId": "s" }), json!({ "state": { "sessionId": "s" } }));
        check_client(
            json!({ "sessionId": "s", "messages": [], "state": { "n": 1 }, "artifacts": [] }),
            json!({ "state": { "sessionId": "s", "messages": [], "custom": { "n": 1 }, "artifacts": [] } }),
        );
        let whole = json!({ "sessionId": "t", "custom": 1, "messages": [] });
        check_client(json!({ "state": whole }), json!({ "state": whole }));
        // Beside messages, `state` is the application's own, whatever it is called.
        check_client(
            json!({ "messages": [], "state": { "custom": 1 } }),
            json!({ "state": { "messages": [], "custom": { "custom": 1 } } }),
        );
    }

    #[test]
    fn a_server_that_keeps_the_state_takes_none() {
        let check = |init: Value| {
            ExecuteBody::agent_init(serde_json::from_value(init).unwrap(), true)
                .map(|init| serde_json::to_value(init).unwrap())
        };
        let empty = json!({ "sessionId": "s", "messages": [], "state": {}, "artifacts": [] });
        assert_eq!(check(empty).unwrap(), json!({ "sessionId": "s" }));
        for state in [
            json!({ "state": { "n": 1 } }),
            json!({ "messages": [{ "role": "user", "content": [] }] }),
            json!({ "artifacts": [{ "parts": [] }] }),
        ] {
            let status = check(state).unwrap_err();
            assert_eq!(status.code(), oxikit_core::StatusCode::FailedPrecondition);
        }
    }
}
