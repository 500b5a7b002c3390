//! Requests and responses of models, and the options of a generate call.
//!
//! [`GenerateRequest`] is the input of one model call. [`GenerateActionOptions`] is the input of
//! `/util/generate`, which resolves names of models, tools and middleware and makes as many
//! model calls as the tools need.

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
    /// The conversation so far. Messages are shared and not copied, because each model call
    /// of a conversation sends all earlier ones.
    pub messages: Vec<Arc<Message>>,
    /// The model's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The tools that the model may request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDefinition>>,
    /// The rule for tool requests; `auto` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Format and schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputConfig>,
    /// Documents to answer from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs: Option<Vec<Document>>,
}

/// Format and schema of the answer, in a model request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputConfig {
    /// The format's name, such as `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether the provider forces the model to follow the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained: Option<bool>,
    /// Media type of the answer, such as `application/json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// The response of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", from = "GenerateResponseMembers")]
#[schemars(!from)]
pub struct GenerateResponse {
    /// The message of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// Why the model stopped generating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// Details of `finish_reason`, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_message: Option<String>,
    /// Duration of the call, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Tokens and other units that the call consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// A value of any form that only this provider sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<Value>,
    /// The response of the provider's API, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// The request as the model got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<GenerateRequest>>,
    /// Instead of a message: a long-running operation to be checked later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
}

/// A response as older models may send it: with a list of candidates instead of
/// a message. The message of the first candidate becomes the message of the response.
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
        // Members of the response itself have precedence over those of the candidate.
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

/// A chunk of a streamed response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerateResponseChunk {
    /// The role of the message that the chunk belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Index of the message in the stream, from 0; a tool message has an index of its own.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub index: Option<u64>,
    /// The parts that are new since the last chunk, unless `aggregated` is set.
    pub content: Vec<Part>,
    /// A value of any form that only this provider sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<Value>,
    /// Whether `content` is the whole message so far and not only its new parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated: Option<bool>,
}

impl GenerateResponseChunk {
    /// A chunk of one text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(vec![Part::text(text)])
    }

    /// All text parts of the chunk as one string, without a separator.
    ///
    /// ```
    /// use oxikit_wire::{GenerateResponseChunk, Part};
    ///
    /// let chunk = GenerateResponseChunk::from(vec![Part::text("Hel"), Part::text("lo")]);
    /// assert_eq!(chunk.to_text(), "Hello");
    /// ```
    pub fn to_text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }
}

impl From<&str> for GenerateResponseChunk {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for GenerateResponseChunk {
    fn from(text: String) -> Self {
        Self::text(text)
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
    /// The model completed its message.
    Stop,
    /// A limit of output tokens was reached.
    Length,
    /// A safety rule stopped it.
    Blocked,
    /// It was stopped by a user or a program.
    Aborted,
    /// It failed.
    Failed,
    /// A tool waits for a response from outside.
    Interrupted,
    /// Another reason.
    Other,
    /// The reason is not known.
    Unknown,
}

/// Units that a model call consumed. Providers fill in those that they count.
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
    /// Further figures that only this provider counts.
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
    /// The rule for tool requests; `auto` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The model's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// Documents to answer from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs: Option<Vec<Document>>,
    /// Format and schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputOptions>,
    /// Answers to the interrupts of an earlier call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeOptions>,
    /// Whether to return tool requests instead of running them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_tool_requests: Option<bool>,
    /// Maximum number of rounds of tool calls, 5 if absent. The call fails if the model requests
    /// tools after that.
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

/// Format and schema of the answer, in the options of a generate call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputOptions {
    /// The format's name, such as `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Media type of the answer, such as `application/json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Instructions about the format for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Value>,
    /// Whether the provider forces the model to follow the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained: Option<bool>,
}

/// The instructions about the output format that are added to the prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Instructions {
    /// `true` for the format's own text, `false` for no instructions.
    Default(bool),
    /// The text of the instructions.
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
    /// Becomes the member `resumed` in the metadata of the tool message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}
