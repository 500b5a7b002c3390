//! What a model is asked, what it answers, and the options of a generate call.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Document, JsonObject, Message, MiddlewareRef, Operation, Part, Role, ToolChoice, ToolDefinition,
};

/// One call of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GenerateRequest {
    /// The conversation so far. Shared, because a conversation is passed on
    /// many times and grows by one message at a time.
    pub messages: Vec<Arc<Message>>,
    /// The model's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The tools it may ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDefinition>>,
    /// Whether it may, must or must not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The shape of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputConfig>,
    /// Documents to answer from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs: Option<Vec<Document>>,
}

/// The shape of the answer, as a model is told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputConfig {
    /// The format's name, such as `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether the model is to be held to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained: Option<bool>,
    /// The answer's media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// What a model answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", from = "GenerateResponseMembers")]
#[schemars(!from)]
pub struct GenerateResponse {
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// More about why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_message: Option<String>,
    /// How long the call took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// What the call used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Something only this provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<Value>,
    /// The provider's answer as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// What the model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<GenerateRequest>>,
    /// Instead of an answer: work to be asked about later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
}

/// A response as older models may send it: with a list of candidates instead of
/// an answer, of which the first is the answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GenerateResponseMembers {
    message: Option<Arc<Message>>,
    finish_reason: Option<FinishReason>,
    finish_message: Option<String>,
    latency_ms: Option<f64>,
    usage: Option<Usage>,
    custom: Option<Value>,
    raw: Option<Value>,
    request: Option<Box<GenerateRequest>>,
    operation: Option<Operation>,
    candidates: Option<Vec<Candidate>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    message: Option<Arc<Message>>,
    finish_reason: Option<FinishReason>,
    finish_message: Option<String>,
    usage: Option<Usage>,
    custom: Option<Value>,
}

impl From<GenerateResponseMembers> for GenerateResponse {
    fn from(members: GenerateResponseMembers) -> Self {
        let mut response = Self {
            message: members.message,
            finish_reason: members.finish_reason,
            finish_message: members.finish_message,
            latency_ms: members.latency_ms,
            usage: members.usage,
            custom: members.custom,
            raw: members.raw,
            request: members.request,
            operation: members.operation,
        };
        let first = members.candidates.and_then(|candidates| candidates.into_iter().next());
        if let (None, Some(first)) = (&response.message, first) {
            response.message = first.message;
            response.finish_reason = response.finish_reason.or(first.finish_reason);
            response.finish_message = response.finish_message.or(first.finish_message);
            response.usage = response.usage.or(first.usage);
            response.custom = response.custom.or(first.custom);
        }
        response
    }
}

/// A streamed piece of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerateResponseChunk {
    /// Whose message the piece belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Which message of the stream, from 0.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub index: Option<u64>,
    /// The new parts.
    pub content: Vec<Part>,
    /// Something only this provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<Value>,
    /// Whether `content` is the whole message so far and not only what is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated: Option<bool>,
}

impl GenerateResponseChunk {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(vec![Part::text(text)])
    }

    /// All text parts of the piece as one string.
    pub fn to_text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }
}

impl From<Vec<Part>> for GenerateResponseChunk {
    fn from(content: Vec<Part>) -> Self {
        Self { content, ..Self::default() }
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FinishReason {
    /// It said all it had to say.
    Stop,
    /// It reached a length limit.
    Length,
    /// A safety rule stopped it.
    Blocked,
    /// Somebody stopped it.
    Aborted,
    /// It failed.
    Failed,
    /// A tool wants an answer from outside.
    Interrupted,
    /// Another reason.
    Other,
    /// Nobody knows.
    Unknown,
}

/// What a call used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the request.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub input_tokens: Option<u64>,
    /// Tokens of the answer.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_tokens: Option<u64>,
    /// All tokens together.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub total_tokens: Option<u64>,
    /// Characters of the request.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub input_characters: Option<u64>,
    /// Characters of the answer.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_characters: Option<u64>,
    /// Pictures of the request.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub input_images: Option<u64>,
    /// Pictures of the answer.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_images: Option<u64>,
    /// Videos of the request.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub input_videos: Option<u64>,
    /// Videos of the answer.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_videos: Option<u64>,
    /// Sound files of the request.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub input_audio_files: Option<u64>,
    /// Sound files of the answer.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_audio_files: Option<u64>,
    /// Tokens spent on thinking.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub thoughts_tokens: Option<u64>,
    /// Tokens of the request that the provider had cached.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub cached_content_tokens: Option<u64>,
    /// Figures only this provider counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<JsonObject>,
}

/// The options of a generate call, as `/util/generate` takes them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GenerateActionOptions {
    /// The model's name; the default model if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conversation so far.
    pub messages: Vec<Arc<Message>>,
    /// Names or keys of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Names or keys of resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<String>>,
    /// Whether the model may, must or must not ask for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The model's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// Documents to answer from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs: Option<Vec<Document>>,
    /// The shape of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputOptions>,
    /// Answers to the interrupts of an earlier call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeOptions>,
    /// Whether to return tool requests instead of running them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_tool_requests: Option<bool>,
    /// How many rounds of tools are run before giving up.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_turns: Option<u64>,
    /// Name of the call's span instead of `generate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_name: Option<String>,
    /// Registered middleware, outermost first.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub middleware: Option<Vec<MiddlewareRef>>,
}

/// The shape of the answer, as a caller asks for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputOptions {
    /// The format's name, such as `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The answer's media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Text that tells the model about the format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Value>,
    /// Whether the model is to be held to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained: Option<bool>,
}

/// Whether and how the format is explained to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Instructions {
    /// The format's own text, or none.
    Default(bool),
    /// This text.
    Text(String),
}

/// Answers to the interrupts of an earlier call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResumeOptions {
    /// Tool responses given from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respond: Option<Vec<Part>>,
    /// Tool requests to be run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Vec<Part>>,
    /// Becomes `resumed` of the tool message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}
