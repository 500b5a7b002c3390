//! The port for prompts that are kept outside of the application, such as in a prompt manager.
//!
//! A source only delivers texts. Compiling them, replacing the previous ones and waiting after a
//! failure is the work of its caller.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit_wire::{JsonObject, attribute};
use serde_json::{Value, json};

use crate::Result;

/// A place outside of the application that its prompts are loaded from, and that reports changes
/// of them.
///
/// ```
/// use async_trait::async_trait;
/// use oxikit_core::Result;
/// use oxikit_core::ports::{PromptSource, PromptText};
///
/// /// One prompt that never changes.
/// #[derive(Debug)]
/// struct Fixed;
///
/// #[async_trait]
/// impl PromptSource for Fixed {
///     async fn load(&self) -> Result<Vec<PromptText>> {
///         Ok(vec![PromptText::prompt("greet", "Hello {{name}}!").with_revision(7)])
///     }
///
///     async fn changed(&self) -> Result<()> {
///         std::future::pending().await
///     }
/// }
/// ```
#[async_trait]
pub trait PromptSource: fmt::Debug + Send + Sync {
    /// All prompts and partials as they are now. A prompt that is absent has been removed.
    ///
    /// # Errors
    ///
    /// If the source cannot be reached or its answer cannot be read. The caller keeps what it has
    /// loaded before, and tries again later.
    async fn load(&self) -> Result<Vec<PromptText>>;

    /// Waits until the texts may differ from those of the last [`load`](Self::load). It returns
    /// at once if the source cannot know that, such as after a lost connection. It may return
    /// although nothing has changed. A call that is dropped loses no change.
    ///
    /// # Errors
    ///
    /// If the source cannot be reached any more.
    async fn changed(&self) -> Result<()>;
}

/// The text of one prompt or partial of a [`PromptSource`].
///
/// ```
/// use oxikit_core::ports::PromptText;
///
/// let text = PromptText::prompt("jokes/dad", "A joke about {{topic}}. Be brief.")
///     .with_id("dad")
///     .with_revision(12)
///     .with_fragment("brief", 3);
/// assert_eq!((text.origin.id.as_str(), text.origin.fragments["brief"]), ("dad", 3));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptText {
    /// The name by which the application uses it, with the variant behind a dot.
    pub name: String,
    /// Whether it is a prompt or a partial.
    pub kind: PromptTextKind,
    /// The text of a prompt file: front matter and template.
    pub source: Arc<str>,
    /// What the spans of its calls record.
    pub origin: PromptOrigin,
}

/// The use of a [`PromptText`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptTextKind {
    /// A prompt, which can be called.
    Prompt,
    /// A partial, which prompts include by `{{> name}}`.
    Partial,
}

impl PromptText {
    /// A prompt. Its id is its name, and it has no revision.
    pub fn prompt(name: impl Into<String>, source: impl Into<Arc<str>>) -> Self {
        Self::new(name.into(), PromptTextKind::Prompt, source.into())
    }

    /// A partial. Its id is its name, and it has no revision.
    pub fn partial(name: impl Into<String>, source: impl Into<Arc<str>>) -> Self {
        Self::new(name.into(), PromptTextKind::Partial, source.into())
    }

    fn new(name: String, kind: PromptTextKind, source: Arc<str>) -> Self {
        let origin = PromptOrigin::new(name.clone());
        Self { name, kind, source, origin }
    }

    /// Sets the id by which the source knows it, if it is not the name.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.origin.id = id.into();
        self
    }

    /// Sets the revision that the text was made from.
    #[must_use]
    pub fn with_revision(mut self, revision: u64) -> Self {
        self.origin.revision = Some(revision);
        self
    }

    /// Adds a fragment that is part of the text, and its revision.
    #[must_use]
    pub fn with_fragment(mut self, id: impl Into<String>, revision: u64) -> Self {
        self.origin.fragments.insert(id.into(), revision);
        self
    }
}

/// The identity of a prompt's text in its source: what the span of a model call records, so that
/// a call can be traced back to the exact texts that it was made from.
///
/// ```
/// use oxikit_core::ports::PromptOrigin;
/// use serde_json::json;
///
/// let mut origin = PromptOrigin::new("dad");
/// origin.revision = Some(12);
/// origin.fragments.insert("brief".to_owned(), 3);
/// let attributes = json!({
///     "oxikit:prompt:id": "dad",
///     "oxikit:prompt:revision": 12,
///     "oxikit:prompt:fragments": r#"{"brief":3}"#,
/// });
/// assert_eq!(json!(origin.attributes()), attributes);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptOrigin {
    /// The id of the prompt in its source.
    pub id: String,
    /// The revision of the prompt; `None` if the source counts none, such as a folder of files.
    pub revision: Option<u64>,
    /// The revisions of all fragments that are part of the text, direct and indirect, by id.
    pub fragments: BTreeMap<String, u64>,
}

impl PromptOrigin {
    /// A prompt without a revision and fragments.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), revision: None, fragments: BTreeMap::new() }
    }

    /// The attributes of spans, by the names of [`oxikit_wire::attribute`].
    pub fn attributes(&self) -> JsonObject {
        let mut attributes = JsonObject::new();
        let mut set = |key: &str, value: Value| _ = attributes.insert(key.to_owned(), value);
        set(attribute::PROMPT_ID, self.id.as_str().into());
        if let Some(revision) = self.revision {
            set(attribute::PROMPT_REVISION, revision.into());
        }
        if !self.fragments.is_empty() {
            set(attribute::PROMPT_FRAGMENTS, json!(self.fragments).to_string().into());
        }
        attributes
    }
}
