//! Handlers of the actions and values of runtimes.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use oxikit_core::Status;
use oxikit_wire::ActionDescriptor;
use schemars::JsonSchema;
use serde::Serialize;

use crate::shared::Shared;
use oxikit_http::HttpResult;
use oxikit_http::api::Query;
use oxikit_http::api::json as answer;
use oxikit_http::api::{Path, RuntimeQuery};
use oxikit_manager::{ListedAction, SkippedAction};

/// The actions of a runtime.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ActionList<'a> {
    /// By key, such as `/flow/greet`.
    #[schemars(with = "BTreeMap<String, ActionDescriptor>")]
    actions: &'a BTreeMap<String, ListedAction>,
    /// Entries that could not be read.
    skipped: &'a [SkippedAction],
}

/// `GET /api/v1/actions[?runtime=]`: the actions of a runtime. Schemas are passed on as text.
pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
) -> HttpResult {
    let list = shared.runtimes.list_actions(runtime.as_deref()).await?;
    answer(&ActionList { actions: &list.actions, skipped: &list.skipped })
}

/// `GET /api/v1/actions/{*key}[?runtime=]`: one action. The key has slashes, so it is the rest of the
/// path.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Path(key): Path<String>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
) -> HttpResult {
    let key = format!("/{key}");
    let list = shared.runtimes.list_actions(runtime.as_deref()).await?;
    answer(list.actions.get(&key).ok_or_else(|| {
        Status::not_found(format!("there is no action `{key}`; `GET /api/v1/actions` lists them"))
    })?)
}

/// `GET /api/v1/values/{type}[?runtime=]`: values of a runtime, such as `defaultModel`.
pub(crate) async fn values(
    State(shared): State<Arc<Shared>>,
    Path(kind): Path<String>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
) -> HttpResult {
    answer(&shared.runtimes.list_values(runtime.as_deref(), &kind).await?)
}
