//! Converts the messages of a conversation to those of rig.
//!
//! Every part is either sent or refused with `INVALID_ARGUMENT`; none is dropped except empty
//! ones, which providers refuse.

use std::collections::HashMap;
use std::sync::Arc;

use oxikit_ai::wire::{PartKind, ToolResponse};
use oxikit_ai::{Message, Part, Result, Role, Status};
use rig_core::message::{CallId, Message as Sent, ToolResult, ToolResultContent, UserContent};

use crate::media;
use crate::native::{call_id, not_for_models, to_assistant, tool_name};

/// The messages for rig; empty ones are left out.
pub(crate) fn convert(messages: &[Arc<Message>]) -> Result<Vec<Sent>> {
    let mut calls = Calls::default();
    let mut history = Vec::with_capacity(messages.len());
    for message in messages {
        match message.role {
            Role::System => history.extend(system(message)?),
            Role::Model => {
                calls.learn(message);
                history.extend(to_assistant(message)?.map(Sent::Assistant));
            }
            Role::User | Role::Tool => history.extend(user(message, &calls)?),
        }
    }
    Ok(history)
}

/// The ids of the tool requests so far, by `ref`: a response must have exactly the id of its
/// request.
#[derive(Default)]
struct Calls(HashMap<String, CallId>);

impl Calls {
    /// Records the ids of the tool requests in a message of the model.
    fn learn(&mut self, message: &Message) {
        for part in &message.content {
            if let PartKind::ToolRequest(request) = &part.kind {
                let reference = request.reference.as_ref().unwrap_or(&request.name);
                self.0.insert(reference.clone(), call_id(part, request));
            }
        }
    }

    /// The id of the request that this response answers. If the request is not in the history,
    /// the `ref` of the response is sent as it is.
    fn id_for(&self, response: &ToolResponse) -> CallId {
        let reference = response.reference.as_ref().unwrap_or(&response.name);
        let known = self.0.get(reference).cloned();
        known.unwrap_or_else(|| CallId::from_wire(reference))
    }
}

/// A system message. Its texts are joined, because rig has one text for it.
fn system(message: &Message) -> Result<Option<Sent>> {
    let mut content = String::new();
    for part in &message.content {
        match &part.kind {
            PartKind::Text(text) => content.push_str(text),
            PartKind::Data(data) => content.push_str(&data.to_string()),
            PartKind::Empty => {}
            _ => {
                return Err(Status::invalid_argument("a system message may hold only text"));
            }
        }
    }
    Ok((!content.is_empty()).then(|| Sent::system(content)))
}

/// A message of the user, or the responses of tools, which rig sends as a user's message.
fn user(message: &Message, calls: &Calls) -> Result<Option<Sent>> {
    let mut content = Vec::with_capacity(message.content.len());
    for part in &message.content {
        content.push(match &part.kind {
            // Providers refuse text that is empty.
            PartKind::Text(text) if text.is_empty() => continue,
            PartKind::Empty => continue,
            PartKind::Text(text) | PartKind::Reasoning(text) => UserContent::text(text),
            PartKind::Data(data) => UserContent::text(data.to_string()),
            PartKind::Media(media) => media::user_content(media)?,
            PartKind::ToolResponse(response) => {
                UserContent::ToolResult(tool_result(response, calls)?)
            }
            PartKind::ToolRequest(_) => {
                return Err(Status::invalid_argument(
                    "only a message of the model may hold tool requests",
                ));
            }
            PartKind::Custom(_) => return Err(not_for_models("custom")),
            PartKind::Resource(_) => return Err(not_for_models("resource")),
        });
    }
    Ok((!content.is_empty()).then_some(Sent::User { content }))
}

/// The response of a tool: its output first, then its further parts.
fn tool_result(response: &ToolResponse, calls: &Calls) -> Result<ToolResult> {
    let mut content = Vec::new();
    match &response.output {
        Some(serde_json::Value::String(text)) => content.push(ToolResultContent::text(text)),
        Some(value) => content.push(ToolResultContent::json(value.clone())),
        None => {}
    }
    for part in response.content.iter().flatten() {
        content.extend(tool_content(part)?);
    }
    if content.is_empty() {
        // Providers require a result for every request, also of a tool that returned nothing.
        content.push(ToolResultContent::text(""));
    }
    Ok(ToolResult {
        call: calls.id_for(response),
        name: tool_name(&response.name)?,
        content,
        is_error: false,
    })
}

/// One part of a tool's response; `None` for an empty part.
fn tool_content(part: &Part) -> Result<Option<ToolResultContent>> {
    Ok(Some(match &part.kind {
        PartKind::Text(text) => ToolResultContent::text(text),
        PartKind::Data(data) => ToolResultContent::json(data.clone()),
        PartKind::Media(media) => ToolResultContent::Image(media::picture(media)?),
        PartKind::Empty => return Ok(None),
        _ => {
            return Err(Status::invalid_argument(
                "a tool's answer may hold only text, data and pictures",
            ));
        }
    }))
}

#[cfg(test)]
mod tests {
    use rig_core::message::LocalCallId;
    use serde_json::{Value, json};

    use super::*;

    fn converted(messages: Value) -> Result<Vec<Sent>> {
        let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
        convert(&messages)
    }

    #[test]
    fn data_is_sent_as_text_and_what_holds_nothing_is_left_out() {
        let history = converted(json!([
            {"role": "system", "content": [{"text": "Be "}, {"text": "kind."}]},
            {"role": "user", "content": [{"metadata": {"purpose": "output", "pending": true}}]},
            {"role": "user", "content": [{"text": ""}, {"data": {"a": 1}}]},
            {"role": "model", "content": []},
        ]));
        let expected = [Sent::system("Be kind."), Sent::user(r#"{"a":1}"#)];
        assert_eq!(history.unwrap(), expected);
    }

    #[test]
    fn a_tool_response_carries_the_id_of_its_request() {
        let local = LocalCallId::new().to_string();
        let history = converted(json!([
            {"role": "model", "content": [
                {"toolRequest": {"name": "a", "ref": local, "input": {}}, "metadata": {"localRef": true}},
                {"toolRequest": {"name": "b", "ref": "call_b", "input": {}}},
                {"toolRequest": {"name": "c", "input": {}}},
            ]},
            {"role": "tool", "content": [
                {"toolResponse": {"name": "c", "output": "done"}},
                {"toolResponse": {"name": "b", "ref": "call_b", "content":
                    [{"media": {"url": "data:image/png;base64,AAAA"}}]}},
                {"toolResponse": {"name": "a", "ref": local, "output": {"x": 1}}},
                {"toolResponse": {"name": "a", "ref": "unknown"}},
            ]},
        ]));
        let [Sent::Assistant(asked), Sent::User { content }] = &history.unwrap()[..] else {
            panic!("a turn of the model and its answers");
        };
        let asked: Vec<&CallId> = asked.tool_calls().map(|call| &call.id).collect();
        let results: Vec<&ToolResult> = content
            .iter()
            .map(|part| match part {
                UserContent::ToolResult(result) => result,
                _ => panic!("only results"),
            })
            .collect();
        assert!(asked[0].is_local());
        assert_eq!(&results[2].call, asked[0]);
        assert_eq!(&results[1].call, asked[1]);
        assert_eq!(&results[0].call, asked[2]);
        assert_eq!(results[0].content, [ToolResultContent::text("done")]);
        assert!(matches!(results[1].content[..], [ToolResultContent::Image(_)]));
        assert_eq!(results[2].content, [ToolResultContent::json(json!({"x": 1}))]);
        assert_eq!(results[3].content, [ToolResultContent::text("")]);
    }

    #[test]
    fn parts_in_the_wrong_place_are_refused() {
        for message in [
            json!({"role": "user", "content": [{"toolRequest": {"name": "a"}}]}),
            json!({"role": "model", "content": [{"toolResponse": {"name": "a"}}]}),
            json!({"role": "system", "content": [{"media": {"url": "https://example.com/a.png"}}]}),
            json!({"role": "model", "content": [{"custom": {"x": 1}}]}),
        ] {
            assert!(converted(json!([message])).is_err(), "{message}");
        }
    }
}
