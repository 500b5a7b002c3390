//! What runtimes offer, and their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::Uri;
use oxikit_core::Status;
use serde::Serialize;

use crate::manager::{ListedAction, SkippedAction};
use crate::server::reply::{Answer, json as answer};
use crate::server::request::query;
use crate::server::shared::Shared;

/// `GET /api/v1/actions[?runtime=]`.
pub(crate) async fn list(State(shared): State<Arc<Shared>>, uri: Uri) -> Answer {
    let list = shared.runtimes.list_actions(query(&uri, "runtime").as_deref()).await?;
    answer(&Listed { actions: &list.actions, skipped: &list.skipped })
}

#[derive(Serialize)]
struct Listed<'a> {
    actions: &'a BTreeMap<String, ListedAction>,
    skipped: &'a [SkippedAction],
}

/// `GET /api/v1/actions/{*key}[?runtime=]`.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Path(key): Path<String>,
    uri: Uri,
) -> Answer {
    let key = format!("/{key}");
    let list = shared.runtimes.list_actions(query(&uri, "runtime").as_deref()).await?;
    answer(list.actions.get(&key).ok_or_else(|| {
        Status::not_found(format!("there is no action `{key}`; `GET /api/v1/actions` lists them"))
    })?)
}

/// `GET /api/v1/values/{type}[?runtime=]`.
pub(crate) async fn values(
    State(shared): State<Arc<Shared>>,
    Path(kind): Path<String>,
    uri: Uri,
) -> Answer {
    let runtime = query(&uri, "runtime");
    answer(&shared.runtimes.list_values(runtime.as_deref(), &kind).await?)
}
