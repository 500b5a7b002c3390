//! The runtimes, and what happens to their list.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use futures_util::stream;
use oxikit_serve::inside::stream_response;
use serde_json::json;

use crate::manager::RuntimeInfo;
use crate::server::reply::{Answer, json as answer};
use crate::server::shared::Shared;

/// `GET /api/v1/runtimes`.
pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> Answer {
    answer(&listed(&shared, &shared.runtimes.list()))
}

/// `GET /api/v1/runtimes/events`: the list, now and whenever it changes.
pub(crate) async fn events(State(shared): State<Arc<Shared>>) -> Answer {
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
            let list = listed(&shared, &list);
            let event = format!("id: {number}\nevent: runtimes\ndata: {list}\n\n");
            Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), (changes, number + 1)))
        }
    });
    Ok(stream_response(Body::from_stream(events)))
}

fn listed(shared: &Shared, list: &[RuntimeInfo]) -> serde_json::Value {
    let current = shared.runtimes.current().map(|runtime| runtime.id);
    json!({"runtimes": list, "current": current})
}
