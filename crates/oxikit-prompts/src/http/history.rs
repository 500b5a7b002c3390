//! Handlers of the history: revisions, comparison, restoring, labels.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode as HttpStatus;
use oxikit_http::api::Limit;
use oxikit_wire::prompts as wire;
use schemars::JsonSchema;
use serde::Deserialize;

use super::PromptApi;
use super::answer::json;
use super::body::{JsonBody, OptionalBody};
use super::conversion::diff_line_json;
use super::documents::shown;
use super::failure::{Answer, Failure};
use super::target::{LabelSegment, Params, RevisionSegment, Target};
use crate::{PromptsError, RevisionName, wire_form};

/// Number of revisions of a page if the request names none.
const DEFAULT_LIMIT: u32 = 50;

/// A page of revisions.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct HistoryQuery {
    /// Maximum number of revisions. Default: 50.
    limit: Option<Limit<1000>>,
    /// Only revisions with a smaller number.
    before: Option<u64>,
}

/// The id of a document, and a page of its revisions.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only described; `Target` and `HistoryQuery` read it")]
pub(crate) struct IdHistoryQuery {
    /// The document.
    id: String,
    /// Maximum number of revisions. Default: 50.
    limit: Option<Limit<1000>>,
    /// Only revisions with a smaller number.
    before: Option<u64>,
}

/// Two revisions.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DiffQuery {
    /// The older revision, by number or label. Default: the one before `to`.
    from: Option<String>,
    /// The newer revision, by number or label. Default: the newest.
    to: Option<String>,
}

/// The id of a document, and two of its revisions.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only described; `Target` and `DiffQuery` read it")]
pub(crate) struct IdDiffQuery {
    /// The document.
    id: String,
    /// The older revision, by number or label. Default: the one before `to`.
    from: Option<String>,
    /// The newer revision, by number or label. Default: the newest.
    to: Option<String>,
}

/// `GET /{id}/history?limit=&before=`: revisions, newest first. Also of a deleted document.
pub(crate) async fn list(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
    Params(query): Params<HistoryQuery>,
) -> Answer {
    let limit = query.limit.map_or(DEFAULT_LIMIT, |Limit(limit)| limit) as usize;
    let revisions = api.prompts.history(&id, kind, query.before, limit).await?;
    let labels = api.prompts.labels(&id, kind).await?;
    let rev = match api.prompts.find(&id, kind) {
        Ok(document) => document.rev,
        // A deleted document has a history too.
        Err(_) => {
            let newest = api.prompts.history(&id, kind, None, 1).await?;
            newest.first().map_or(0, |revision| revision.number)
        }
    };
    // Numbers have no gaps: the last page ends with the first revision.
    let next = revisions.last().map(|revision| revision.number).filter(|number| *number > 1);
    json(&wire::RevisionList {
        rev,
        revisions: revisions.iter().map(|it| wire_form::revision(it, &labels)).collect(),
        next,
        labels,
        id,
    })
}

/// `GET /{id}/history/{rev}`: one revision with its text. `rev` may be a label.
pub(crate) async fn get(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
    RevisionSegment(revision): RevisionSegment,
) -> Answer {
    let past = api.prompts.revision(&id, kind, &revision).await?;
    let labels = api.prompts.labels(&id, kind).await?;
    json(&wire::RevisionText {
        revision: wire_form::revision(&past.revision.info, &labels),
        content: past.content,
        text: past.revision.text.map(|text| text.as_ref().to_owned()),
        id,
    })
}

/// `GET /{id}/diff?from=&to=`: the lines in which two revisions differ.
pub(crate) async fn diff(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
    Params(query): Params<DiffQuery>,
) -> Answer {
    let prompts = &api.prompts;
    let to = match query.to.filter(|to| !to.is_empty()) {
        Some(to) => RevisionName::parse(&to),
        None => {
            let newest = prompts.history(&id, kind, None, 1).await?;
            RevisionName::Number(newest.first().map_or(0, |revision| revision.number))
        }
    };
    let to_info = prompts.revision(&id, kind, &to).await?.revision.info;
    let from = match query.from.filter(|from| !from.is_empty()) {
        Some(from) => RevisionName::parse(&from),
        None if to_info.parent > 0 => RevisionName::Number(to_info.parent),
        None => {
            let text = "this is the first revision; name another one by `from`";
            return Err(Failure::new(HttpStatus::BAD_REQUEST, text));
        }
    };
    let from_info = prompts.revision(&id, kind, &from).await?.revision.info;
    let lines = prompts.diff(&id, kind, &from, &to).await?;
    json(&wire::RevisionDiff {
        id,
        from: from_info.number,
        to: to_info.number,
        lines: lines.into_iter().map(diff_line_json).collect(),
    })
}

/// `POST /{id}/restore {rev}`: an old revision becomes the newest one.
pub(crate) async fn restore(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
    JsonBody(body): JsonBody<wire::Restore>,
) -> Answer {
    let revision = RevisionName::Number(body.rev);
    let document = api.prompts.restore(&id, kind, &revision, body.author.as_deref()).await?;
    shown(&api, HttpStatus::OK, &document).await
}

/// `POST /{id}/undelete`: a deleted document returns.
pub(crate) async fn undelete(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
    OptionalBody(body): OptionalBody<wire::Undelete>,
) -> Answer {
    let document = api.prompts.undelete(&id, kind, body.author.as_deref()).await?;
    shown(&api, HttpStatus::OK, &document).await
}

/// `GET /{id}/labels`.
pub(crate) async fn labels(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
) -> Answer {
    let labels = api.prompts.labels(&id, kind).await?;
    json(&wire::LabelList { id, labels })
}

/// `PUT /{id}/labels/{label} {rev}`: sets a label to a revision.
pub(crate) async fn set_label(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
    LabelSegment(label): LabelSegment,
    JsonBody(body): JsonBody<wire::SetLabel>,
) -> Answer {
    api.prompts.set_label(&id, kind, &label, Some(body.rev)).await?;
    json(&wire::Label { id, label, rev: Some(body.rev) })
}

/// `DELETE /{id}/labels/{label}`: removes a label.
pub(crate) async fn remove_label(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
    LabelSegment(label): LabelSegment,
) -> Answer {
    if !api.prompts.labels(&id, kind).await?.contains_key(&label) {
        return Err(PromptsError::NoRevision { id, revision: label }.into());
    }
    api.prompts.set_label(&id, kind, &label, None).await?;
    json(&wire::Label { id, label, rev: None })
}
