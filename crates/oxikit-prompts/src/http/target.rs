//! Which document, directory or revision a request names.
//!
//! A document is named by a segment of the path, percent-encoded, or by `?id=` on a fixed path, which
//! also takes ids with `/`.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use oxikit_http::api::{Query, query_value};
use serde::de::DeserializeOwned;

use super::Failure;
use crate::{Kind, RevisionName};

/// The document of a request. Its kind is that of the path: `/api/prompts/{id}` is a prompt,
/// `/api/prompts/fragments/{id}` a fragment. `None` where the path names any document.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) kind: Option<Kind>,
}

/// The kind of documents that a path is about: `/api/prompts/fragments…` fragments, others prompts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope(pub(crate) Kind);

/// The directory of a request: its path, or its name.
#[derive(Debug, Clone)]
pub(crate) struct DirectoryPath(pub(crate) String);

/// The revision of a request, by its number or its label.
#[derive(Debug, Clone)]
pub(crate) struct RevisionSegment(pub(crate) RevisionName);

/// The label of a request.
#[derive(Debug, Clone)]
pub(crate) struct LabelSegment(pub(crate) String);

/// The parameters of the query. What cannot be read is answered with 422.
#[derive(Debug)]
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(error) => {
                let text = error.status().message().to_owned();
                Err(Failure::field(&["query"], text, "value_error"))
            }
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Target {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        if let Some(id) = segment(parts, state, "id").await? {
            let kind = kind_of_path(parts.uri.path());
            return Ok(Self { id, kind });
        }
        let id = query_value(&parts.uri, "id").filter(|id| !id.is_empty());
        let missing = || Failure::field(&["query", "id"], "the query needs `id`", "missing");
        Ok(Self { id: id.ok_or_else(missing)?, kind: None })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Scope {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let is_fragments = segments(parts.uri.path()).nth(2) == Some("fragments");
        Ok(Self(if is_fragments { Kind::Fragment } else { Kind::Prompt }))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for DirectoryPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        Ok(Self(required_segment(parts, state, "path").await?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RevisionSegment {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let text = required_segment(parts, state, "rev").await?;
        Ok(Self(RevisionName::parse(&text)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for LabelSegment {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        Ok(Self(required_segment(parts, state, "label").await?))
    }
}

/// The kind of document that the path of a REST route or a socket names. Paths below `{id}` and
/// the sockets of newer clients name any kind.
fn kind_of_path(path: &str) -> Option<Kind> {
    let segments: Vec<&str> = segments(path).collect();
    match segments[..] {
        ["api", "prompts", "fragments", _] | ["api", "prompts", "ws", "fragments", _] => {
            Some(Kind::Fragment)
        }
        ["api", "prompts", _] | ["api", "prompts", "ws", _] => Some(Kind::Prompt),
        _ => None,
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_start_matches('/').split('/')
}

/// A parameter of the path, decoded; `None` if the path has none of this name.
async fn segment<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Result<Option<String>, Failure> {
    let not_text =
        |_| Failure::new(axum::http::StatusCode::BAD_REQUEST, "the path is not text in UTF-8");
    let params = RawPathParams::from_request_parts(parts, state).await.map_err(not_text)?;
    let found = params.iter().find(|(known, _)| *known == name);
    Ok(found.map(|(_, value)| value.to_owned()))
}

async fn required_segment<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Result<String, Failure> {
    let missing = || Failure::field(&["path", name], "the path needs it", "missing");
    segment(parts, state, name).await?.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_says_which_kind_is_meant() {
        for (path, kind) in [
            ("/api/prompts/a", Some(Kind::Prompt)),
            ("/api/prompts/fragments%2Fa", Some(Kind::Prompt)),
            ("/api/prompts/fragments/a", Some(Kind::Fragment)),
            ("/api/prompts/ws/a", Some(Kind::Prompt)),
            ("/api/prompts/ws/fragments/a", Some(Kind::Fragment)),
            ("/ws/prompts/a", None),
            ("/api/prompts/a/history", None),
            ("/api/prompts/check_exists/a", None),
        ] {
            assert_eq!(kind_of_path(path), kind, "{path}");
        }
    }
}
