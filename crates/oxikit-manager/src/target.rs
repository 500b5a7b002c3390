//! A runtime, independent of the protocol that reaches it.

use std::sync::Arc;

use bytes::Bytes;
use oxikit_wire::JsonObject;
use oxikit_wire::rpc::{ConfigureParams, ErrorData, ListValuesParams, method};

use super::ManagerOptions;
use super::connection_handle::Command;
use super::http::HttpPeer;
use super::listing::{self, ActionList};
use super::outgoing::params_text;
use super::run::{RunHandle, Traces};
use super::session_request::SessionRequest;
use super::socket_peer::SocketPeer;
use super::spec::RunSpec;

/// A runtime of either protocol.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A runtime that connected by WebSocket (V2).
    Socket(Arc<SocketPeer>),
    /// A runtime that was found by its file and is called over HTTP (V1).
    Http(Arc<HttpPeer>),
}

impl Target {
    /// The runtime id.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Socket(peer) => &peer.id,
            Self::Http(peer) => &peer.id,
        }
    }

    /// Whether this is the same registration of the same runtime.
    pub(crate) fn is(&self, peer: &Arc<SocketPeer>) -> bool {
        matches!(self, Self::Socket(own) if Arc::ptr_eq(own, peer))
    }

    /// Number of unanswered requests (V2) or active runs (V1).
    pub(crate) fn pending(&self) -> usize {
        match self {
            Self::Socket(peer) => peer.pending(),
            Self::Http(peer) => peer.pending(),
        }
    }

    /// Starts a run.
    pub(crate) async fn start(
        &self,
        spec: &RunSpec,
        traces: &Arc<Traces>,
    ) -> Result<RunHandle, ErrorData> {
        match self {
            Self::Socket(peer) => peer.start(spec, traces).await,
            Self::Http(peer) => peer.start(spec, traces),
        }
    }

    /// Lists the actions. Concurrent callers share one request.
    pub(crate) async fn list_actions(
        &self,
        options: &ManagerOptions,
    ) -> Result<Arc<ActionList>, ErrorData> {
        match self {
            Self::Socket(peer) => {
                let (peer, options) = (peer.clone(), options.clone());
                let listing = peer.listing.clone();
                listing
                    .share(async move {
                        let text =
                            peer.call(method::LIST_ACTIONS, None, options.call_timeout).await?;
                        listing::actions(&text, &options)
                    })
                    .await
            }
            Self::Http(peer) => {
                let peer = peer.clone();
                let listing = peer.listing.clone();
                listing.share(async move { peer.list_actions().await }).await
            }
        }
    }

    /// Lists the values of a kind.
    pub(crate) async fn list_values(
        &self,
        kind: &str,
        options: &ManagerOptions,
    ) -> Result<JsonObject, ErrorData> {
        match self {
            Self::Socket(peer) => {
                let params = params_text(&ListValuesParams { kind: kind.to_owned() });
                let text =
                    peer.call(method::LIST_VALUES, Some(&params), options.call_timeout).await?;
                listing::values(&text, true, options)
            }
            Self::Http(peer) => peer.list_values(kind).await,
        }
    }

    /// Sends a request about sessions. Returns the response as JSON text.
    pub(crate) async fn ask_sessions(
        &self,
        request: &SessionRequest,
        options: &ManagerOptions,
    ) -> Result<Bytes, ErrorData> {
        match self {
            Self::Socket(peer) => {
                peer.call(request.method(), Some(&request.params()), options.call_timeout).await
            }
            Self::Http(peer) => peer.ask_sessions(request).await,
        }
    }

    /// Cancels the run with this trace. Returns the message of the runtime.
    pub(crate) async fn cancel(
        &self,
        trace_id: &str,
        options: &ManagerOptions,
    ) -> Result<String, ErrorData> {
        match self {
            Self::Socket(peer) => peer.cancel(trace_id, options.cancel_timeout).await,
            Self::Http(peer) => peer.cancel(trace_id, options.cancel_timeout).await,
        }
    }

    /// Sends the settings to the runtime in the background.
    pub(crate) fn configure(&self, configuration: &ConfigureParams) {
        match self {
            Self::Socket(peer) => {
                if let Some(connection) = peer.connection() {
                    connection.send_command(Command::Configure(params_text(configuration).into()));
                }
            }
            Self::Http(peer) => peer.notify_later(configuration.clone()),
        }
    }
}
