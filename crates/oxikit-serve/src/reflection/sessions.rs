//! Sessions of agents for a manager, as the REST API for agents tells them.

use oxikit_core::{ActionContext, Registry, Status};
use oxikit_wire::JsonObject;
use oxikit_wire::rpc::{ForkSessionParams, ListSessionsParams, SessionParams};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::agents_api::{self, Agent, Page};

/// What a manager asks of sessions.
pub(crate) enum SessionRequest {
    List(ListSessionsParams),
    Get(SessionParams),
    Delete(SessionParams),
    Fork(ForkSessionParams),
}

impl SessionRequest {
    /// The methods that are requests of this kind.
    pub(crate) fn is_method(method: &str) -> bool {
        matches!(method, "listSessions" | "getSession" | "deleteSession" | "forkSession")
    }

    pub(crate) fn read(method: &str, params: &str) -> serde_json::Result<Self> {
        fn read<'a, T: Deserialize<'a>>(params: &'a str) -> serde_json::Result<T> {
            serde_json::from_str(params)
        }
        Ok(match method {
            "listSessions" => Self::List(read(params)?),
            "getSession" => Self::Get(read(params)?),
            "deleteSession" => Self::Delete(read(params)?),
            _ => Self::Fork(read(params)?),
        })
    }

    /// The answer. Without a context the sessions are those of callers without a login.
    pub(crate) async fn answer(self, registry: &Registry) -> Result<Box<RawValue>, Status> {
        let find = |name: &str, context: Option<JsonObject>| {
            let context = context.map(ActionContext::from).unwrap_or_default();
            Agent::in_registry(registry, name, context)
        };
        let answer = match self {
            Self::List(mut asked) => {
                let agent = find(&asked.agent, asked.context.take())?;
                to_raw_value(&agents_api::list(&agent, Page::new(asked)?).await?)
            }
            Self::Get(SessionParams { agent, session_id, context }) => {
                to_raw_value(&agents_api::details(&find(&agent, context)?, &session_id).await?)
            }
            Self::Delete(SessionParams { agent, session_id, context }) => {
                to_raw_value(&agents_api::delete(&find(&agent, context)?, &session_id).await?)
            }
            Self::Fork(ForkSessionParams { agent, session_id, snapshot_id, context }) => {
                let (agent, snapshot) = (find(&agent, context)?, snapshot_id.as_deref());
                to_raw_value(&agents_api::fork(&agent, &session_id, snapshot).await?)
            }
        };
        Ok(answer?)
    }
}
