//! The JSON that Genkit tools, servers and models exchange, as serde types.
//!
//! For Genkit the JSON *is* the model, so these are also the types an
//! application works with: there is no second set of domain types behind them.
//! The crate has no async code and no IO; the crates that use it decide what a value means.
//!
//! Three habits hold everywhere:
//! - absent is absent: a member without a value is left out, never `null`;
//! - reading tolerates unknown members and `null`;
//! - `metadata`, `custom`, `config` and other free-form members keep whatever
//!   they were given.
//!
//! ```
//! use oxikit_wire::{Message, Part};
//!
//! let message = Message::user("What is in this picture?")
//!     .with_part(Part::media("https://example.com/cat.png").content_type("image/png"));
//! assert_eq!(
//!     serde_json::to_string(&message).unwrap(),
//!     r#"{"role":"user","content":[{"text":"What is in this picture?"},{"media":{"url":"https://example.com/cat.png","contentType":"image/png"}}]}"#,
//! );
//! ```

pub mod a2a;
mod absent;
pub mod action_http;
mod agent;
mod agents_api;
pub mod attribute;
mod canonical;
pub mod close_code;
mod count;
mod document;
mod evaluate;
mod generate;
pub mod headers;
mod message;
mod middleware;
mod model;
pub mod number;
mod operation;
mod part;
mod patch;
pub mod prompts;
mod reflection;
pub mod rpc;
mod session;
mod status_code;
mod tool;
pub mod trace;

pub use agent::{
    AgentAbortRequest, AgentAbortResponse, AgentInit, AgentInput, AgentMetadata, AgentOutput,
    AgentResume, AgentStreamChunk, GetSnapshotRequest, StateManagement, TurnEnd,
};
pub use agents_api::{
    AgentDetails, AgentList, AgentSummary, ExecuteInit, ExecuteRequest, ExecuteResponse,
    ExecuteResult, SessionAborted, SessionActivity, SessionDeleted, SessionDetails, SessionForked,
    SessionInfo, SessionList, SnapshotDiff, SnapshotInfo, SnapshotTree, Telemetry,
};
pub use canonical::canonical_json;
pub use document::{
    Document, EmbedRequest, EmbedResponse, EmbedderInfo, Embedding, IndexRequest, RankedDocument,
    RankedDocumentMetadata, RerankRequest, RerankResponse, RetrieveRequest, RetrieveResponse,
};
pub use evaluate::{
    EvalDataPoint, EvalFnResponse, EvalRequest, EvalStatus, Score, ScoreDetails, ScoreValue, Scores,
};
pub use generate::{
    FinishReason, GenerateActionOptions, GenerateRequest, GenerateResponse, GenerateResponseChunk,
    Instructions, OutputConfig, OutputOptions, ResumeOptions, Usage,
};
pub use message::{Message, Role};
pub use middleware::{MiddlewareDescriptor, MiddlewareRef};
pub use model::{ConstrainedSupport, ModelInfo, ModelStage, ModelSupports};
pub use operation::{Operation, OperationError};
pub use part::{Media, Part, PartKind, ResourceRef, ToolRequest, ToolResponse};
pub use patch::{JsonPatch, PatchKind, PatchOperation};
pub use reflection::ActionDescriptor;
pub use session::{
    AgentFinishReason, Artifact, RuntimeError, SessionSnapshot, SessionState, SnapshotStatus,
};
pub use status_code::{StatusCode, UnknownStatusCode};
pub use tool::{MultipartToolResponse, ToolChoice, ToolDefinition};

/// A JSON object whose members keep their order.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
