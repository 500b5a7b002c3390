//! Requests about the sessions of agents, which both protocols send: as JSON-RPC methods (V2) or to
//! the REST API for agents (V1).

use oxikit_wire::JsonObject;
use oxikit_wire::rpc::{ForkSessionParams, ListSessionsParams, SessionParams, method};

/// A request about sessions, for [`Runtimes::ask_sessions`](crate::Runtimes::ask_sessions).
/// Only runtimes of oxikit support it. The responses are those of the REST API for agents.
///
/// ```no_run
/// use oxikit_manager::{Runtimes, SessionRequest};
/// use oxikit_wire::rpc::SessionParams;
///
/// # async fn example(runtimes: Runtimes) -> Result<(), oxikit_wire::rpc::ErrorData> {
/// let (agent, session_id) = ("guide".to_owned(), "ada".to_owned());
/// let request = SessionRequest::Get(SessionParams { agent, session_id, context: None });
/// let json = runtimes.ask_sessions(None, &request).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub enum SessionRequest {
    /// Lists one page of sessions.
    List(ListSessionsParams),
    /// Reads one session with its content.
    Get(SessionParams),
    /// Deletes a session with all of its snapshots.
    Delete(SessionParams),
    /// Makes a new session from a snapshot of another one, by default from its latest snapshot.
    Fork(ForkSessionParams),
}

impl SessionRequest {
    /// The JSON-RPC method of this request.
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::List(_) => method::LIST_SESSIONS,
            Self::Get(_) => method::GET_SESSION,
            Self::Delete(_) => method::DELETE_SESSION,
            Self::Fork(_) => method::FORK_SESSION,
        }
    }

    /// The context of the caller, such as its authentication.
    pub(super) fn context(&self) -> Option<&JsonObject> {
        match self {
            Self::List(params) => params.context.as_ref(),
            Self::Get(params) | Self::Delete(params) => params.context.as_ref(),
            Self::Fork(params) => params.context.as_ref(),
        }
    }

    /// The parameters as JSON text.
    pub(super) fn params(&self) -> String {
        let params = match self {
            Self::List(params) => serde_json::to_string(params),
            Self::Get(params) | Self::Delete(params) => serde_json::to_string(params),
            Self::Fork(params) => serde_json::to_string(params),
        };
        // Serialization of plain structs of text cannot fail.
        params.unwrap_or_default()
    }
}
