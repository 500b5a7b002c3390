//! The text of a document: front matter and body, and changes that leave everything else alone.
//!
//! A change of the content keeps the front matter byte for byte, and a change of the metadata
//! alters only the lines of its keys: comments, order, unknown keys, line ends and byte order mark
//! stay. Files are read and written by others; this module knows only their text.

mod edit;
mod metadata;
mod scalar;

use std::sync::Arc;

use oxikit_dotprompt::FrontMatter;

pub use metadata::{Metadata, MetadataChange, PromptType, UnknownType};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text of a Markdown or Dotprompt file.
///
/// ```
/// use oxikit_prompts::source::{MetadataChange, Source};
///
/// let source = Source::markdown("---\n# For the shop.\ndescription: Jokes\nowner: Ada\n---\nTell a joke.\n");
/// assert_eq!(source.metadata().description.as_deref(), Some("Jokes"));
/// assert_eq!(source.content(), "Tell a joke.\n");
///
/// let change = MetadataChange { description: Some("Puns".into()), ..Default::default() };
/// let changed = source.with_metadata(&change)?.with_content("Tell a pun.\n");
/// assert_eq!(
///     changed.text(),
///     "---\n# For the shop.\ndescription: Puns\nowner: Ada\n---\nTell a pun.\n",
/// );
/// # Ok::<(), oxikit_prompts::source::SourceError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    format: Format,
    text: Arc<str>,
    /// Length of the byte order mark.
    start: usize,
    /// The front matter of the text after the byte order mark.
    front_matter: Option<FrontMatter>,
    metadata: Metadata,
    warning: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Markdown,
    Dotprompt,
}

/// A change of the metadata that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The front matter cannot be read, so it is not changed either.
    #[error("the metadata cannot be changed until the front matter is corrected in the file: {0}")]
    Unreadable(String),
    /// The front matter is written in a form in which single keys cannot be changed, or would
    /// become too large.
    #[error("the metadata cannot be changed here, please edit the front matter in the file: {0}")]
    NotEditable(String),
}

impl Source {
    /// Reads a Markdown file, whose front matter, if any, begins on the first line.
    pub fn markdown(text: impl Into<Arc<str>>) -> Self {
        Self::read(Format::Markdown, text.into())
    }

    /// Reads a Dotprompt file. Blank lines and comments may precede its front matter.
    pub fn dotprompt(text: impl Into<Arc<str>>) -> Self {
        Self::read(Format::Dotprompt, text.into())
    }

    fn read(format: Format, text: Arc<str>) -> Self {
        let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let after_mark = &text[start..];
        // A heading or a blank line of Markdown before a line of `---` is content.
        let is_front_matter =
            |found: &FrontMatter| format == Format::Dotprompt || found.yaml_line == 2;
        let front_matter = FrontMatter::find(after_mark).filter(is_front_matter);
        let keys = front_matter.as_ref().map(|front_matter| front_matter.read(after_mark));
        let (metadata, warning) = match keys {
            None => (Metadata::default(), None),
            Some(Ok(keys)) => (Metadata::from_keys(&keys), None),
            Some(Err(error)) => (Metadata::default(), Some(error.to_string())),
        };
        Self { format, text, start, front_matter, metadata, warning }
    }

    /// The whole text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole text, without a copy.
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The part that people edit: of a Markdown file the body, of a Dotprompt file everything but
    /// the byte order mark.
    pub fn content(&self) -> &str {
        match self.format {
            Format::Markdown => self.body(),
            Format::Dotprompt => &self.text[self.start..],
        }
    }

    /// The part after the front matter, as it is written: white space is not removed. This is the
    /// part that other documents include.
    pub fn body(&self) -> &str {
        &self.text[self.body_start()..]
    }

    fn body_start(&self) -> usize {
        self.start + self.front_matter.as_ref().map_or(0, |found| found.body_start)
    }

    /// Whether this is a Dotprompt file.
    pub fn is_dotprompt(&self) -> bool {
        self.format == Format::Dotprompt
    }

    /// Description, tags and type. Without front matter that can be read, they are empty.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The type that the document is shown with: that of the metadata, or
    /// [`Composite`](PromptType::Composite) for a standard document that includes others.
    ///
    /// ```
    /// use oxikit_prompts::source::{PromptType, Source};
    ///
    /// assert_eq!(Source::markdown("Hi [[name]]").prompt_type(), PromptType::Composite);
    /// assert_eq!(Source::markdown("Hi").prompt_type(), PromptType::Standard);
    /// ```
    pub fn prompt_type(&self) -> PromptType {
        match self.metadata.prompt_type {
            PromptType::Standard if self.is_composite() => PromptType::Composite,
            declared => declared,
        }
    }

    /// Whether the body contains `[[` and `]]`, and so may include other documents.
    pub fn is_composite(&self) -> bool {
        self.body().contains("[[") && self.body().contains("]]")
    }

    /// Why the front matter cannot be read, in a sentence for people. The file is kept as it is,
    /// and its content can be edited.
    ///
    /// ```
    /// use oxikit_prompts::source::Source;
    ///
    /// let source = Source::markdown("---\ntags: [a\n---\nHello");
    /// assert!(source.warning().unwrap().starts_with("the front matter is not valid YAML"));
    /// assert_eq!(source.content(), "Hello");
    /// ```
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The file with another [content](Self::content). Its front matter stays as it is.
    ///
    /// The content that is read from the new text is exactly `content`: where a Markdown text
    /// would begin with what looks like front matter, an empty block is written before it.
    #[must_use]
    pub fn with_content(&self, content: &str) -> Self {
        let kept = match self.format {
            Format::Markdown => &self.text[..self.body_start()],
            Format::Dotprompt => &self.text[..self.start],
        };
        let is_open = self.front_matter.is_some() && !kept.is_empty() && !kept.ends_with('\n');
        let line_end = if is_open && !content.is_empty() { self.line_end() } else { "" };
        let changed = Self::read(self.format, [kept, line_end, content].concat().into());
        if changed.content() == content {
            return changed;
        }
        let protected = match self.format {
            Format::Markdown => {
                let line_end = self.line_end();
                [kept, "---", line_end, "---", line_end, content].concat()
            }
            // The content begins with a byte order mark of its own.
            Format::Dotprompt => [BYTE_ORDER_MARK, content].concat(),
        };
        Self::read(self.format, protected.into())
    }

    /// The file with other metadata. Only the lines of keys that change are written.
    ///
    /// An empty description, empty tags and the type `standard` remove their keys. A file without
    /// front matter gets a block of it, and a block without any line left is removed.
    ///
    /// # Errors
    ///
    /// When the front matter cannot be read, or when it would not have the requested meaning
    /// after the change: because it is larger than 64 KiB then, or is written in an unusual form.
    pub fn with_metadata(&self, change: &MetadataChange) -> Result<Self, SourceError> {
        if let Some(warning) = &self.warning {
            return Err(SourceError::Unreadable(warning.clone()));
        }
        let wanted = self.metadata.changed(change);
        let edits = self.metadata.edits(&wanted);
        if edits.is_empty() {
            return Ok(self.clone());
        }
        let mut reason = "its form is not supported".to_owned();
        for yaml in edit::candidates(self.yaml(), &edits, self.line_end()) {
            let changed = self.with_yaml(&yaml);
            match &changed.warning {
                Some(warning) => reason.clone_from(warning),
                None if changed.metadata == wanted && self.has_same_rest(&changed) => {
                    return Ok(changed.without_empty_block());
                }
                None => {}
            }
        }
        Err(SourceError::NotEditable(reason))
    }

    fn yaml(&self) -> &str {
        let found = self.front_matter.as_ref();
        found.map_or("", |found| &self.text[self.start..][found.yaml.clone()])
    }

    /// The file with another text between the lines of `---`.
    fn with_yaml(&self, yaml: &str) -> Self {
        let (mark, text) = self.text.split_at(self.start);
        let changed = match &self.front_matter {
            Some(found) => {
                [mark, &text[..found.yaml.start], yaml, &text[found.yaml.end..]].concat()
            }
            None => {
                let line_end = self.line_end();
                [mark, "---", line_end, yaml, "---", line_end, text].concat()
            }
        };
        Self::read(self.format, changed.into())
    }

    /// Whether body and all keys that are not metadata are the same, in the same order.
    fn has_same_rest(&self, other: &Self) -> bool {
        let keys = |source: &Self| {
            let text = &source.text[source.start..];
            let keys = source.front_matter.as_ref().map(|found| found.read(text));
            let mut keys = Vec::from_iter(keys.and_then(Result::ok).unwrap_or_default());
            keys.retain(|(key, _)| !metadata::KEYS.contains(&key.as_str()));
            keys
        };
        self.body() == other.body() && keys(self) == keys(other)
    }

    /// The file without a block in which no line is left, unless the body needs it.
    fn without_empty_block(self) -> Self {
        let is_first = self.front_matter.as_ref().is_some_and(|found| found.yaml_line == 2);
        if !is_first || !self.yaml().is_empty() {
            return self;
        }
        let text = [&self.text[..self.start], self.body()].concat();
        let shorter = Self::read(self.format, text.into());
        if shorter.front_matter.is_none() && shorter.body() == self.body() { shorter } else { self }
    }

    /// The line end of the first line; that of Unix for a text of one line.
    fn line_end(&self) -> &'static str {
        let first = self.text.split_inclusive('\n').next().unwrap_or_default();
        if first.ends_with("\r\n") { "\r\n" } else { "\n" }
    }
}

#[cfg(test)]
mod tests;
