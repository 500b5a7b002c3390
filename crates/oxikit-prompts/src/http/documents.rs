//! Handlers of documents: list, read, create, change, delete, rename.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode as HttpStatus};
use oxikit_wire::prompts as wire;
use schemars::JsonSchema;
use serde::Deserialize;

use super::PromptApi;
use super::answer::{json, json_with};
use super::body::JsonBody;
use super::conversion::{document_json, whole_document_json};
use super::etag::{Precondition, tagged};
use super::failure::{Answer, Failure};
use super::target::{Params, Scope, Target};
use crate::{
    Base, Content, Document, NewDocument, PromptsError, Rename, RevisionName, Submission, wire_form,
};

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 50;

/// Which version of a document is read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct VersionQuery {
    /// The path or name of the document's directory, if its id is ambiguous.
    directory: Option<String>,
    /// A revision. Default: the newest.
    rev: Option<u64>,
    /// A label, in place of a revision.
    label: Option<String>,
}

/// Names for completion.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SuggestionQuery {
    /// A part of the name.
    #[serde(default)]
    query: String,
    /// A document that is left out.
    exclude: Option<String>,
}

/// The id of a document, for paths without it.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only described; `Target` reads it")]
pub(crate) struct IdQuery {
    /// The document.
    id: String,
}

/// The id of a document and its version.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only described; `Target` and `VersionQuery` read it")]
pub(crate) struct IdVersionQuery {
    /// The document.
    id: String,
    /// The path or name of the document's directory, if its id is ambiguous.
    directory: Option<String>,
    /// A revision. Default: the newest.
    rev: Option<u64>,
    /// A label, in place of a revision.
    label: Option<String>,
}

/// `GET /all`, `GET /fragments/`: all documents of a kind, in the order of their ids.
pub(crate) async fn list(State(api): State<Arc<PromptApi>>, Scope(kind): Scope) -> Answer {
    let documents = api.prompts.list(Some(kind));
    json(&documents.iter().map(|document| document_json(document)).collect::<Vec<_>>())
}

/// `GET /{id}?directory=&rev=&label=`: one document, now or at a revision.
pub(crate) async fn get(
    State(api): State<Arc<PromptApi>>,
    target: Target,
    Params(query): Params<VersionQuery>,
) -> Answer {
    let prompts = &api.prompts;
    let revision = match (query.rev, query.label.filter(|label| !label.is_empty())) {
        (Some(rev), _) => Some(RevisionName::Number(rev)),
        (None, Some(label)) => Some(RevisionName::Label(label)),
        (None, None) => None,
    };
    let Target { mut id, kind } = target;
    if let Some(directory) = query.directory.filter(|directory| !directory.is_empty()) {
        id.clone_from(&prompts.find_in(&directory, &id, kind)?.id);
    }
    let document = match revision {
        Some(revision) => prompts.document_at(&id, kind, &revision).await?,
        None => prompts.find(&id, kind)?,
    };
    shown(&api, HttpStatus::OK, &document).await
}

/// `POST /`, `POST /fragments/`: makes a document. The response is 201.
pub(crate) async fn create(
    State(api): State<Arc<PromptApi>>,
    Scope(kind): Scope,
    JsonBody(body): JsonBody<wire::NewDocument>,
) -> Answer {
    let id = body.id.or(body.name).filter(|id| !id.trim().is_empty());
    let missing = || Failure::field(&["body", "id"], "this member is required", "missing");
    let mut new = NewDocument::new(id.ok_or_else(missing)?, body.content);
    new.kind = kind;
    new.directory = body.directory.filter(|directory| !directory.is_empty());
    new.metadata = wire_form::metadata_change(body.description, body.tags, body.prompt_type);
    new.author = body.author;
    // Prompt Manager answers 400 here and 409 to a rename.
    let created = api.prompts.create(new).await.map_err(|error| match error {
        PromptsError::Exists(_) | PromptsError::NoDirectory(_) => {
            Failure::from(error).answered_by(HttpStatus::BAD_REQUEST)
        }
        error => error.into(),
    })?;
    let mut document = whole_document_json(&api.prompts, &created.document).await;
    document.sanitized_message = created.sanitized_message;
    Ok(tagged(json_with(HttpStatus::CREATED, &document)?, document.rev))
}

/// `PUT /{id}`: changes content, metadata, or both, as one revision.
pub(crate) async fn update(
    State(api): State<Arc<PromptApi>>,
    target: Target,
    headers: HeaderMap,
    JsonBody(body): JsonBody<wire::DocumentChange>,
) -> Answer {
    let Target { id, kind } = target;
    let current = api.prompts.find(&id, kind)?;
    let expected_rev = Precondition::read(&headers).expected(current.rev);
    let metadata = wire_form::metadata_change(body.description, body.tags, body.prompt_type);
    if body.content.is_none() && metadata.is_empty() {
        return match expected_rev {
            Some(rev) if rev != current.rev => {
                Err(PromptsError::Changed { document: current }.into())
            }
            _ => shown(&api, HttpStatus::OK, &current).await,
        };
    }
    let mut submission = Submission::metadata(metadata);
    submission.content = body.content.map(Content::Whole);
    submission.base = body.base_rev.map_or(Base::Replace, Base::Rev);
    submission.op = body.op;
    submission.on_conflict = body.on_conflict.unwrap_or_default();
    submission.author = body.author;
    submission.expected_rev = expected_rev;
    let submitted = api.prompts.submit(&id, kind, submission).await?;
    let document = api.prompts.find(&id, kind)?;
    let mut whole = whole_document_json(&api.prompts, &document).await;
    whole.merged = Some(submitted.merged);
    if !submitted.conflicts.is_empty() {
        whole.conflicts = Some(submitted.conflicts.into_iter().map(wire_form::conflict).collect());
    }
    Ok(tagged(json(&whole)?, document.rev))
}

/// `DELETE /{id}`. The history stays.
pub(crate) async fn delete(State(api): State<Arc<PromptApi>>, target: Target) -> Answer {
    let Target { id, kind } = target;
    let document = api.prompts.find(&id, kind)?;
    api.prompts.delete(&id, kind, None).await?;
    let message = format!("'{}' was deleted; its history stays", document.id);
    json(&wire::Deleted { success: true, id: document.id.clone(), message })
}

/// `POST /rename`.
pub(crate) async fn rename(
    State(api): State<Arc<PromptApi>>,
    JsonBody(body): JsonBody<wire::Rename>,
) -> Answer {
    let required = |value: Option<String>, name: &str| {
        let text = format!("the body needs `{name}`");
        value
            .filter(|value| !value.trim().is_empty())
            .ok_or_else(|| Failure::new(HttpStatus::BAD_REQUEST, text))
    };
    let old_id = required(body.old_id, "old_id")?;
    let new_id = required(body.new_id.or(body.new_name), "new_id")?;
    let mut rename = Rename::new(old_id, new_id);
    rename.content = body.content;
    rename.metadata = wire_form::metadata_change(body.description, body.tags, None);
    rename.updates_references = body.update_references;
    rename.author = body.author;
    let renamed = api.prompts.rename(rename).await?;
    let (old_id, new_id) = (renamed.old_id, renamed.document.id.clone());
    json(&wire::Renamed {
        success: true,
        message: format!("'{old_id}' is now '{new_id}'"),
        old_id,
        new_id,
        sanitized_message: renamed.sanitized_message,
        updated: renamed.updated,
        rev: Some(renamed.document.rev),
    })
}

/// `GET /check_exists/{id}`: whether the id, or the name, is in use.
pub(crate) async fn check_exists(State(api): State<Arc<PromptApi>>, target: Target) -> Answer {
    let exists = match api.prompts.find(&target.id, None) {
        Ok(_) | Err(PromptsError::Ambiguous { .. }) => true,
        Err(PromptsError::NotFound { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    json(&wire::Existence { exists, id: target.id })
}

/// `GET /{id}/referenced_by`: the documents that include this one. Empty for an unknown id.
pub(crate) async fn referenced_by(State(api): State<Arc<PromptApi>>, target: Target) -> Answer {
    let reference = |document: &Arc<Document>| wire::Reference {
        id: document.id.clone(),
        description: document.metadata().description.clone(),
        directory: document.directory.display().to_string(),
    };
    let documents = api.prompts.referenced_by(&target.id, target.kind);
    json(&documents.iter().map(reference).collect::<Vec<_>>())
}

/// `GET /search_suggestions?query=&exclude=`: names for completion after `[[`.
pub(crate) async fn suggestions(
    State(api): State<Arc<PromptApi>>,
    Params(SuggestionQuery { query, exclude }): Params<SuggestionQuery>,
) -> Answer {
    let suggestion = |document: &Arc<Document>| wire::Suggestion {
        id: document.id.clone(),
        display_name: document.id.clone(),
        kind: document.kind,
    };
    let found = api.prompts.suggestions(&query, exclude.as_deref(), MAX_SUGGESTIONS);
    json(&found.iter().map(suggestion).collect::<Vec<_>>())
}

/// The response with one document and its tag.
pub(crate) async fn shown(api: &PromptApi, http: HttpStatus, document: &Document) -> Answer {
    let whole = whole_document_json(&api.prompts, document).await;
    Ok(tagged(json_with(http, &whole)?, document.rev))
}
