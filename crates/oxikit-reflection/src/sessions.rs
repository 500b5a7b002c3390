//! Requests about the sessions of agents, for managers that ask over the V2 socket.

use std::fmt;

use async_trait::async_trait;
use axum::Router;
use oxikit_core::{Registry, Status};
use oxikit_http::{Limits, Shutdown};
use oxikit_wire::rpc::{ForkSessionParams, ListSessionsParams, SessionParams, method};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Gives the developer tools access to the sessions of agents.
///
/// `oxikit-serve` implements it with its REST API for agents. Without an implementation, the
/// tools find sessions in traces only.
#[async_trait]
pub trait AgentsApi: fmt::Debug + Send + Sync {
    /// The routes below `/api/agents` that are added to the V1 server. The server checks the
    /// token before them, so they need no authentication of their own.
    fn routes(&self, registry: &Registry, limits: &Limits, shutdown: &Shutdown) -> Router;

    /// Answers a request about sessions that came over the V2 socket, with JSON text.
    ///
    /// # Errors
    ///
    /// The status is sent to the manager: `NOT_FOUND` for a missing agent or session,
    /// `UNIMPLEMENTED` if the session store cannot do it.
    async fn answer(
        &self,
        registry: &Registry,
        request: SessionRequest,
    ) -> Result<Box<RawValue>, Status>;
}

/// A request of a manager about sessions, one per JSON-RPC method. All name the agent, and may
/// contain the context of the caller whose sessions are meant.
#[derive(Debug)]
pub enum SessionRequest {
    /// `listSessions`: a page of the sessions of an agent.
    List(ListSessionsParams),
    /// `getSession`: one session with its state and the list of its snapshots.
    Get(SessionParams),
    /// `deleteSession`: stops the work of one session and deletes it.
    Delete(SessionParams),
    /// `forkSession`: makes a new session from a snapshot of another one.
    Fork(ForkSessionParams),
}

impl SessionRequest {
    /// Whether a JSON-RPC method is a request about sessions.
    pub(crate) fn is_method(method: &str) -> bool {
        matches!(
            method,
            method::LIST_SESSIONS
                | method::GET_SESSION
                | method::DELETE_SESSION
                | method::FORK_SESSION
        )
    }

    /// Parses the parameters of a method for which `is_method` is true.
    pub(crate) fn read(method: &str, params: &str) -> serde_json::Result<Self> {
        fn read<'a, T: Deserialize<'a>>(params: &'a str) -> serde_json::Result<T> {
            serde_json::from_str(params)
        }
        Ok(match method {
            method::LIST_SESSIONS => Self::List(read(params)?),
            method::GET_SESSION => Self::Get(read(params)?),
            method::DELETE_SESSION => Self::Delete(read(params)?),
            _ => Self::Fork(read(params)?),
        })
    }
}
