//! The answers of the demo model.

use oxikit_core::Schema;
use oxikit_wire::{
    GenerateRequest, Message, OutputConfig, Part, Role, ToolChoice, ToolDefinition, ToolResponse,
};
use serde_json::{Value, json};

use super::DEMO_MODEL;
use super::fill::fill;
use super::hints::{Hints, find_word};

/// Maximum number of characters of the question that are repeated. The rest is cut.
const ECHO: usize = 200;

/// The answer to a request: tool requests, or one text.
pub(super) fn answer(request: &GenerateRequest) -> Vec<Part> {
    let turn = Turn::of(request);
    let wanted = turn.wanted_tools(request);
    if !wanted.is_empty() {
        return turn.tool_requests(request, &wanted);
    }
    let text = match &request.output {
        Some(output) => formatted(output, &turn).unwrap_or_else(|| turn.plain_text(request)),
        None => turn.plain_text(request),
    };
    vec![Part::text(text)]
}

/// The text in the shape that was asked for; `None` if none was.
fn formatted(output: &OutputConfig, turn: &Turn<'_>) -> Option<String> {
    let value = match &output.schema {
        Some(schema) => turn.value_for(schema),
        None if output.format.as_deref() == Some("json") => json!({ "text": turn.text }),
        None => return None,
    };
    Some(match (output.format.as_deref(), value) {
        (Some("text" | "enum"), Value::String(text)) => text,
        (Some("jsonl"), Value::Array(items)) => {
            items.iter().map(|item| format!("{item}\n")).collect()
        }
        (_, value) => value.to_string(),
    })
}

/// The last message of the user, and the answers of tools to it.
struct Turn<'r> {
    /// The last user message's own text.
    text: String,
    /// Number of files in that message.
    files: usize,
    responses: Vec<&'r ToolResponse>,
}

impl<'r> Turn<'r> {
    fn of(request: &'r GenerateRequest) -> Self {
        let messages = &request.messages;
        let last = messages.iter().rposition(|message| message.role == Role::User);
        let user = last.map(|last| &*messages[last]);
        let since = &messages[last.map_or(0, |last| last + 1)..];
        Self {
            text: user.map(own_text).unwrap_or_default(),
            files: user.map_or(0, |user| user.content.iter().filter_map(Part::as_media).count()),
            responses: since
                .iter()
                .flat_map(|message| &message.content)
                .filter_map(Part::as_tool_response)
                .collect(),
        }
    }

    /// The tools that are named and have not answered, in the order of their
    /// mention; if a tool has to be called, the first one at least.
    fn wanted_tools(&self, request: &'r GenerateRequest) -> Vec<&'r ToolDefinition> {
        if request.tool_choice == Some(ToolChoice::None) {
            return Vec::new();
        }
        let tools = request.tools.as_deref().unwrap_or_default();
        let mut named: Vec<_> = tools
            .iter()
            .filter(|tool| !self.responses.iter().any(|response| response.name == tool.name))
            .filter_map(|tool| Some((find_word(&self.text, &tool.name)?, tool)))
            .collect();
        named.sort_by_key(|(at, _)| *at);
        let mut wanted: Vec<_> = named.into_iter().map(|(_, tool)| tool).collect();
        let must_call = request.tool_choice == Some(ToolChoice::Required);
        // One round is enough: a model that had to call a tool after every
        // answer would never come to an end.
        if must_call && wanted.is_empty() && self.responses.is_empty() {
            wanted.extend(tools.first());
        }
        wanted
    }

    fn tool_requests(&self, request: &GenerateRequest, wanted: &[&ToolDefinition]) -> Vec<Part> {
        let earlier = request.messages.iter().flat_map(|message| message.tool_requests()).count();
        wanted
            .iter()
            .enumerate()
            .map(|(at, tool)| {
                let reference = format!("call-{}", earlier + at + 1);
                let input = match &tool.input_schema {
                    Some(schema) if has_shape(schema) => {
                        fill(schema, &Hints::new(&self.text, Some(&tool.name)))
                    }
                    _ => json!({}),
                };
                Part::tool_request(&tool.name, Some(reference), input)
            })
            .collect()
    }

    /// A value of this schema: the output of a tool, if it fits, else a value that is made from
    /// the user's text.
    fn value_for(&self, schema: &Value) -> Value {
        if let Ok(checked) = Schema::from_json(schema.clone()) {
            let fitting = self
                .responses
                .iter()
                .filter_map(|response| response.output.as_ref())
                .find(|output| checked.validate(output).is_ok());
            if let Some(output) = fitting {
                return output.clone();
            }
        }
        fill(schema, &Hints::new(&self.text, None))
    }

    fn plain_text(&self, request: &GenerateRequest) -> String {
        let mut text = format!("This is {DEMO_MODEL}: no model was asked.");
        for (at, response) in self.responses.iter().enumerate() {
            let output = match &response.output {
                None | Some(Value::Null) => "nothing".to_owned(),
                Some(Value::String(output)) => output.clone(),
                Some(output) => output.to_string(),
            };
            let output = shortened(&output);
            let begin = if at == 0 { " The" } else { "; the" };
            text.push_str(&format!("{begin} tool `{}` answered: {output}", response.name));
        }
        if self.responses.is_empty() {
            text.push_str(&match self.text.as_str() {
                "" => " You said nothing.".to_owned(),
                said => format!(" You said: {}", shortened(said)),
            });
        }
        if self.files > 0 {
            text.push_str(&format!(" (files with it: {})", self.files));
        }
        if let Some([first, ..]) = request.docs.as_deref() {
            let count = request.docs.as_deref().unwrap_or_default().len();
            let first = shortened(first.to_text().trim());
            text.push_str(&format!(" (documents with it: {count}; the first: {first})"));
        }
        text
    }
}

/// The text of the user, without the parts that the application added.
fn own_text(message: &Message) -> String {
    let text: String = message
        .content
        .iter()
        .filter(|part| part.purpose().is_none())
        .filter_map(Part::as_text)
        .collect();
    text.trim().to_owned()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(ECHO) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Whether the schema restricts values; that of a tool without input does not.
fn has_shape(schema: &Value) -> bool {
    schema.as_object().is_some_and(|members| members.keys().any(|key| key != "$schema"))
}
