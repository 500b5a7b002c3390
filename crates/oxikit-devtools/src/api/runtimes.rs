//! Handlers of the list of runtimes.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use oxikit_http::reply::stream_response;
use oxikit_http::sse::{write_event, write_id};
use schemars::JsonSchema;
use serde::Serialize;

use crate::shared::Shared;
use oxikit_http::HttpResult;
use oxikit_http::api::FollowQuery;
use oxikit_http::api::json as answer;
use oxikit_http::api::{Query, elapsed};
use oxikit_manager::RuntimeInfo;

/// The runtimes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RuntimeList {
    /// Oldest first.
    runtimes: Vec<RuntimeInfo>,
    /// The id of the runtime that is called if a request names none.
    current: Option<String>,
}

/// An event of the stream of lists.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
#[allow(dead_code, reason = "only described")]
pub(crate) enum RuntimesEvent {
    Runtimes(RuntimeList),
}

/// `GET /api/v1/runtimes`: the connected runtimes, and which of them is the default one.
pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> HttpResult {
    answer(&listed(&shared, &shared.runtimes.list()))
}

/// `GET /api/v1/runtimes/events[?seconds=]`: the list, now and whenever it changes.
pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    Query(FollowQuery { seconds }): Query<FollowQuery>,
) -> HttpResult {
    let mut changes = shared.runtimes.watch();
    changes.mark_changed();
    let events = stream::unfold((changes, 0_u64), move |(mut changes, number)| {
        let shared = shared.clone();
        async move {
            tokio::select! {
                changed = changes.changed() => changed.ok()?,
                () = shared.closing.cancelled() => return None,
            }
            let list = changes.borrow_and_update().clone();
            let list = serde_json::to_vec(&listed(&shared, &list)).ok()?;
            let mut event = Vec::with_capacity(list.len() + 32);
            write_id(&mut event, number);
            write_event(&mut event, "runtimes", &list);
            Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), (changes, number + 1)))
        }
    });
    let events = events.take_until(Box::pin(elapsed(seconds)));
    Ok(stream_response(Body::from_stream(events)))
}

/// The list, and the default runtime.
pub(crate) fn listed(shared: &Shared, list: &[RuntimeInfo]) -> RuntimeList {
    let current = shared.runtimes.current().map(|runtime| runtime.id);
    RuntimeList { runtimes: list.to_vec(), current }
}
