//! Handlers of inclusion and preview.

use std::sync::Arc;

use axum::extract::State;
use oxikit_wire::prompts as wire;

use super::PromptApi;
use super::answer::json;
use super::body::JsonBody;
use super::conversion::expansion_json;
use super::failure::{Answer, Failure};
use super::target::Target;

/// `GET /{id}/render`: a document with its inclusions replaced.
pub(crate) async fn render(
    State(api): State<Arc<PromptApi>>,
    Target { id, kind }: Target,
) -> Answer {
    let document = api.prompts.find(&id, kind)?;
    let expansion = api.prompts.expand(Some(&document), document.content()).await;
    json(&wire::Rendered {
        id: document.id.clone(),
        original: document.content().to_owned(),
        rendered: expansion.text,
        prompt_type: document.prompt_type(),
        warnings: expansion.warnings,
    })
}

/// `POST /expand`: a text, or the content of a document, with its inclusions replaced.
pub(crate) async fn expand(
    State(api): State<Arc<PromptApi>>,
    JsonBody(body): JsonBody<wire::ExpandRequest>,
) -> Answer {
    let wire::ExpandRequest { content, prompt_id, directory } = body;
    let directory = directory.filter(|directory| !directory.is_empty());
    let root = match (&prompt_id, &directory) {
        (Some(id), Some(directory)) => Some(api.prompts.find_in(directory, id, None)?),
        (Some(id), None) => Some(api.prompts.find(id, None)?),
        (None, _) => None,
    };
    let is_stored = content.is_none();
    let content = match (content, &root) {
        (Some(content), _) => content,
        (None, Some(document)) => document.content().to_owned(),
        (None, None) => {
            let text = "send `content` or `prompt_id`";
            return Err(Failure::field(&["body", "content"], text, "missing"));
        }
    };
    let expansion = api.prompts.expand(root.as_deref(), &content).await;
    let mut answer = expansion_json(content, expansion);
    if let Some(document) = root.filter(|_| is_stored) {
        // The names of newer versions of Prompt Manager.
        answer.prompt_id = Some(document.id.clone());
        answer.original_content = Some(answer.content.clone());
        answer.expanded_content = Some(answer.expanded.clone());
    }
    json(&answer)
}

/// `POST /preview {id, content?, variables?}`: the messages that a model would get.
pub(crate) async fn preview(
    State(api): State<Arc<PromptApi>>,
    JsonBody(body): JsonBody<wire::PreviewRequest>,
) -> Answer {
    let wire::PreviewRequest { id, content, variables } = body;
    json(&wire::Preview::from(api.prompts.preview(&id, None, content, variables).await?))
}
