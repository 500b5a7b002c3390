//! A runtime, however it is reached.

use std::sync::Arc;

use bytes::Bytes;
use oxikit_wire::JsonObject;
use oxikit_wire::rpc::{
    CancelActionParams, CancelActionResult, ConfigureParams, ErrorData, ListValuesParams,
};
use serde::Serialize;

use super::ManagerOptions;
use super::http::HttpPeer;
use super::line::Order;
use super::listing::{self, ActionList};
use super::peer::Peer;
use super::run::{Link, Run, RunHandle, Traces};
use super::session_request::SessionRequest;
use super::spec::RunSpec;

/// Who is asked.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// It has dialled in (V2).
    Socket(Arc<Peer>),
    /// It has left a file with its URL (V1).
    Http(Arc<HttpPeer>),
}

impl Target {
    /// The runtime of a run.
    pub(crate) fn of(run: &Run) -> Self {
        match &run.link {
            Link::Socket { peer, .. } => Self::Socket(peer.clone()),
            Link::Http { peer, .. } => Self::Http(peer.clone()),
        }
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Socket(peer) => &peer.id,
            Self::Http(peer) => &peer.id,
        }
    }

    pub(crate) fn is(&self, peer: &Arc<Peer>) -> bool {
        matches!(self, Self::Socket(own) if Arc::ptr_eq(own, peer))
    }

    pub(crate) fn pending(&self) -> usize {
        match self {
            Self::Socket(peer) => peer.pending(),
            Self::Http(peer) => peer.pending(),
        }
    }

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
                        let text = peer.call("listActions", None, options.call_time).await?;
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

    pub(crate) async fn list_values(
        &self,
        kind: &str,
        options: &ManagerOptions,
    ) -> Result<JsonObject, ErrorData> {
        match self {
            Self::Socket(peer) => {
                let params = written(&ListValuesParams { kind: kind.to_owned() });
                let text = peer.call("listValues", Some(&params), options.call_time).await?;
                listing::values(&text, true, options)
            }
            Self::Http(peer) => peer.list_values(kind).await,
        }
    }

    pub(crate) async fn ask_sessions(
        &self,
        request: &SessionRequest,
        options: &ManagerOptions,
    ) -> Result<Bytes, ErrorData> {
        match self {
            Self::Socket(peer) => {
                peer.call(request.method(), Some(&request.params()), options.call_time).await
            }
            Self::Http(peer) => peer.ask_sessions(request).await,
        }
    }

    /// Cancels the run with this trace; what the runtime says.
    pub(crate) async fn cancel(
        &self,
        trace_id: &str,
        options: &ManagerOptions,
    ) -> Result<String, ErrorData> {
        match self {
            Self::Socket(peer) => {
                let params = written(&CancelActionParams { trace_id: trace_id.to_owned() });
                let text = peer.call("cancelAction", Some(&params), options.cancel_time).await?;
                let result = serde_json::from_slice::<CancelActionResult>(&text);
                Ok(result.map_or_else(|_| "Action cancelled".to_owned(), |result| result.message))
            }
            Self::Http(peer) => peer.cancel(trace_id).await,
        }
    }

    /// Tells it its settings, some time soon.
    pub(crate) fn configure(&self, configuration: &ConfigureParams) {
        match self {
            Self::Socket(peer) => {
                if let Some(line) = peer.line() {
                    line.order(Order::Configure(written(configuration).into()));
                }
            }
            Self::Http(peer) => peer.notify_later(configuration.clone()),
        }
    }
}

pub(crate) fn written(params: &impl Serialize) -> String {
    // Plain structs of text cannot fail to be written.
    serde_json::to_string(params).unwrap_or_default()
}
