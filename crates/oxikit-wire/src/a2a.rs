//! Agent2Agent (A2A): agents that other agents call, in versions 1.0 and 0.3 of the protocol.
//!
//! The types of this module are those of version 1.0, in the JSON of its JSON-RPC and HTTP
//! bindings. They are also the form in which a server stores tasks, because 1.0 can say nearly
//! everything that 0.3 can.
//!
//! Members are written in camelCase. As in all proto JSON, snake_case is read too, enum values
//! are read by name or number, and `null` is the same as no member.
//!
//! ```
//! use oxikit_wire::a2a::{Message, Part, Role};
//!
//! let message = Message::new("m1", Role::User, vec![Part::text("hello")]);
//! assert_eq!(
//!     serde_json::to_string(&message).unwrap(),
//!     r#"{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}"#,
//! );
//! ```

mod card;
mod dispatch;
mod error;
mod error_body;
mod frame;
mod members;
mod message;
pub mod method;
mod part;
mod proto;
mod push;
mod request;
mod security;
mod security_out;
mod state;
mod task;
pub mod v0_3;
mod version;

pub use card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, CARD_PATH, CardDocument, binding, signed_forms,
};
pub use dispatch::RefusedMethod;
pub use error::{A2aError, ErrorKind, FieldViolation};
pub use error_body::{ErrorReply, HttpError, JsonRpcError};
pub use frame::{
    JsonRpcRequest, JsonRpcResponse, RefusedRequest, write_error, write_request, write_result,
};
pub use message::{Message, Role};
pub use part::{Part, PartContent};
pub use push::{
    AuthenticationInfo, ListPushConfigsRequest, ListPushConfigsResponse, PushConfig,
    PushConfigRequest,
};
pub use request::{
    CancelTaskRequest, ExtendedCardRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
    SendConfiguration, SendMessageRequest, SubscribeRequest,
};
pub use security::{OAuthFlow, OAuthFlows, SecurityRequirement, SecurityScheme};
pub use state::TaskState;
pub use task::{Artifact, ArtifactUpdate, StatusUpdate, StreamResponse, Task, TaskStatus};
pub use version::{Operation, UnsupportedVersion, Version};

/// The media type of the HTTP binding of version 1.0.
pub const MEDIA_TYPE: &str = "application/a2a+json";
