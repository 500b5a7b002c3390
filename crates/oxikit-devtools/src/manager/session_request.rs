//! What a runtime can be asked about the sessions of its agents.

use oxikit_wire::JsonObject;
use oxikit_wire::rpc::{ForkSessionParams, ListSessionsParams, SessionParams};

/// A request about sessions. Runtimes of oxikit know these, and no others do; the
/// answers are those of the REST API for agents.
#[derive(Debug, Clone)]
pub(crate) enum SessionRequest {
    /// A page of a list.
    List(ListSessionsParams),
    /// One session with its content.
    Get(SessionParams),
    /// Removes a session.
    Delete(SessionParams),
    /// Makes a new session of one.
    Fork(ForkSessionParams),
}

impl SessionRequest {
    /// The method that asks for it over a socket.
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::List(_) => "listSessions",
            Self::Get(_) => "getSession",
            Self::Delete(_) => "deleteSession",
            Self::Fork(_) => "forkSession",
        }
    }

    /// Who asks.
    pub(super) fn context(&self) -> Option<&JsonObject> {
        match self {
            Self::List(params) => params.context.as_ref(),
            Self::Get(params) | Self::Delete(params) => params.context.as_ref(),
            Self::Fork(params) => params.context.as_ref(),
        }
    }

    pub(super) fn params(&self) -> String {
        let params = match self {
            Self::List(params) => serde_json::to_string(params),
            Self::Get(params) | Self::Delete(params) => serde_json::to_string(params),
            Self::Fork(params) => serde_json::to_string(params),
        };
        // Plain structs of text cannot fail to be written.
        params.unwrap_or_default()
    }
}
