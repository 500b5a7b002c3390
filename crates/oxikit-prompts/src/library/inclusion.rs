//! Inclusions between documents, and the preview of a prompt.

use std::collections::BTreeSet;
use std::sync::Arc;

use oxikit_dotprompt::{Environment, Prompt, RenderInput, Rendered};
use oxikit_wire::JsonObject;

use super::lookup::IndexLookup;
use crate::Prompts;
use crate::document::{Document, Kind};
use crate::error::PromptsError;
use crate::expand::{ExpandLimits, Expansion, expand};
use crate::requests::{Preview, Reference};
use crate::text::utf16_len;

/// Maximum number of times that an expansion is repeated because it names old revisions, whose texts
/// may name others.
const MAX_ROUNDS: usize = 12;

impl Prompts {
    /// Replaces the inclusions of a text. `root` is the document that the text belongs to: an
    /// inclusion of it is a self-reference, and names are looked up in its folder first. The front
    /// matter of a Dotprompt file is left as it is.
    ///
    /// What cannot be included is named in the warnings.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("tone", "Be kind.")).await?;
    /// let expansion = prompts.expand(None, "[[tone]] Tell a joke.").await;
    /// assert_eq!(expansion.text, "Be kind. Tell a joke.");
    /// assert_eq!(expansion.revs["tone"], 1);
    /// # Ok(()) }
    /// ```
    pub async fn expand(&self, root: Option<&Document>, content: &str) -> Expansion {
        let text = match root {
            Some(root) => RootText::of_content(root, content),
            None => RootText { id: None, head: String::new(), body: content.to_owned() },
        };
        let lookup = IndexLookup::new(self.index());
        let expansion = self.repeat(lookup, move |lookup| text.expand(lookup)).await;
        expansion.unwrap_or_else(|| Expansion {
            text: content.to_owned(),
            warnings: vec!["the text was not expanded: the server is shutting down".to_owned()],
            ..Expansion::default()
        })
    }

    /// The names that a document includes, and the documents that they mean.
    pub fn references(&self, document: &Document) -> Vec<Reference> {
        self.index().references(document)
    }

    /// The documents that include this one, directly or through others, in the order of their ids.
    /// Empty if there is no such document.
    pub fn referenced_by(&self, id: &str, kind: Option<Kind>) -> Vec<Arc<Document>> {
        let index = self.index();
        let Ok(document) = index.find(id, kind) else { return Vec::new() };
        let mut users = index.referenced_by(&document.key);
        users.sort_by(|a, b| a.id.cmp(&b.id));
        users
    }

    /// The messages that a model would get: inclusions are replaced, then the template is rendered
    /// with these variables and the fragments of the directories as partials. `content` is a draft;
    /// `None` means the current content.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions};
    /// # use serde_json::json;
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("tone", "Be kind.")).await?;
    /// let text = "{{role 'system'}}[[tone]]{{role 'user'}}A joke about {{topic}}, please.";
    /// prompts.create(NewDocument::new("joke", text)).await?;
    /// let variables = json!({ "topic": "tea" }).as_object().cloned().unwrap();
    /// let preview = prompts.preview("joke", None, None, variables).await?;
    /// let messages = preview.rendered?.messages;
    /// assert_eq!(messages[0].text(), "Be kind.");
    /// assert_eq!(messages[1].text(), "A joke about tea, please.");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such document. A template that cannot be rendered is not an error of this
    /// call; see [`Preview::rendered`].
    pub async fn preview(
        &self,
        id: &str,
        kind: Option<Kind>,
        content: Option<String>,
        variables: JsonObject,
    ) -> Result<Preview, PromptsError> {
        let document = self.find(id, kind)?;
        let content = content.unwrap_or_else(|| document.content().to_owned());
        self.check_size(content.len())?;
        let text = RootText::of_file(&document, &content);
        let own = document.clone();
        let previewed = self
            .repeat(IndexLookup::new(self.index()), move |lookup| {
                let mut expansion = text.expand(lookup);
                let (rendered, used) = render(lookup, &own, &expansion.text, &variables);
                if !own.is_dotprompt() {
                    // The front matter of a Markdown file is not part of its content.
                    text.remove_head(&mut expansion);
                }
                (expansion, rendered, used)
            })
            .await;
        let (expansion, rendered, variables) = previewed.ok_or(PromptsError::Closed)?;
        Ok(Preview { document, expansion, rendered, variables })
    }

    /// Runs a function with these documents, on a thread for such work, until all old revisions that
    /// it asks for are read. `None` if the runtime is shutting down.
    pub(super) async fn repeat<T: Send + 'static>(
        &self,
        lookup: IndexLookup,
        work: impl Fn(&Arc<IndexLookup>) -> T + Send + Sync + 'static,
    ) -> Option<T> {
        let lookup = Arc::new(lookup);
        let work = Arc::new(work);
        let mut result = None;
        for _ in 0..MAX_ROUNDS {
            let (own_work, own_lookup) = (work.clone(), lookup.clone());
            let done = tokio::task::spawn_blocking(move || own_work(&own_lookup)).await;
            result = done.ok();
            match lookup.read_missing(&self.state).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    // The text says that these revisions were not found.
                    tracing::warn!(%error, "old revisions for an inclusion not read");
                    break;
                }
            }
        }
        result
    }
}

/// A text to expand: only the part behind the front matter has inclusions.
#[derive(Debug)]
pub(super) struct RootText {
    id: Option<String>,
    head: String,
    body: String,
}

impl RootText {
    /// A content of a document, as clients edit it.
    fn of_content(document: &Document, content: &str) -> Self {
        match document.is_dotprompt() {
            true => Self::of_file(document, content),
            false => {
                let id = Some(document.id.clone());
                Self { id, head: String::new(), body: content.to_owned() }
            }
        }
    }

    /// The whole file of a document with a content.
    pub(super) fn of_file(document: &Document, content: &str) -> Self {
        let source = document.source.with_content(content);
        let (text, body) = (source.text(), source.body());
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let head = text.strip_suffix(body).unwrap_or_default().to_owned();
        Self { id: Some(document.id.clone()), head, body: body.to_owned() }
    }

    pub(super) fn expand(&self, lookup: &Arc<IndexLookup>) -> Expansion {
        let limits = ExpandLimits::default();
        let mut expansion = expand(self.id.as_deref(), &self.body, &**lookup, &limits);
        let units = utf16_len(&self.head);
        if units > 0 {
            expansion.text.insert_str(0, &self.head);
        }
        for span in &mut expansion.spans {
            (span.start, span.end) = (span.start + units, span.end + units);
        }
        expansion
    }

    /// Removes the front matter from an expansion.
    fn remove_head(&self, expansion: &mut Expansion) {
        let units = utf16_len(&self.head);
        expansion.text.drain(..self.head.len());
        for span in &mut expansion.spans {
            (span.start, span.end) = (span.start - units, span.end - units);
        }
    }
}

/// Renders a prompt file. Also answers the variables that it uses.
fn render(
    lookup: &Arc<IndexLookup>,
    document: &Document,
    text: &str,
    variables: &JsonObject,
) -> (oxikit_dotprompt::Result<Rendered>, BTreeSet<String>) {
    let (own, id) = (lookup.clone(), document.id.clone());
    let resolver = move |name: &str| partial(&own, name, &id);
    let environment = Environment::new().partial_resolver(resolver);
    let compiled = Prompt::parse(text).and_then(|prompt| environment.compile(&prompt));
    match compiled {
        Ok(compiled) => {
            let used = compiled.variables().into_iter().map(str::to_owned).collect();
            (compiled.render(&RenderInput::new(variables)), used)
        }
        Err(error) => (Err(error), BTreeSet::new()),
    }
}

/// The template of a partial, with its inclusions replaced.
fn partial(lookup: &Arc<IndexLookup>, name: &str, from: &str) -> Option<String> {
    let document = lookup.partial(name, from)?;
    let template = match Prompt::parse(document.text()) {
        Ok(prompt) => prompt.template().to_owned(),
        Err(_) => document.text().to_owned(),
    };
    let limits = ExpandLimits::default();
    Some(expand(Some(&document.id), &template, &**lookup, &limits).text)
}
