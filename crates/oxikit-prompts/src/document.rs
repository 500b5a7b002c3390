//! A prompt or a fragment as it is now: its file, its text and its revision.
//!
//! A [`Document`] never changes. After a change the library has another one with the same key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit_core::timestamp;
pub use oxikit_wire::prompts::DocumentKind as Kind;
use oxikit_wire::prompts::PromptType;

use crate::expand::inclusions;
use crate::source::{self, Metadata, Source};

/// Extension of Markdown files.
pub(crate) const MARKDOWN: &str = ".md";
/// Extension of Dotprompt files.
pub(crate) const DOTPROMPT: &str = ".prompt";
/// Name of folders whose documents are fragments.
pub(crate) const FRAGMENTS: &str = "fragments";

/// A prompt or a fragment.
///
/// The `key` identifies it: the key of its directory and the path below it. The `id` is the name by
/// which people refer to it; it may change when another file gets the same name.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_prompts::{Kind, Prompts, PromptsOptions};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("joke.md"), "---\ndescription: Jokes\n---\nTell a joke.")?;
/// let options = PromptsOptions::new([folder.path()]);
/// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
///
/// let document = prompts.find("joke", None)?;
/// assert_eq!((document.kind, document.rev), (Kind::Prompt, 1));
/// assert_eq!(document.content(), "Tell a joke.");
/// assert_eq!(document.metadata().description.as_deref(), Some("Jokes"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document {
    /// The name by which people refer to it: the name of the file without extension if no other
    /// document has it, else with its folder.
    pub id: String,
    /// The key of its directory and the path below it, such as `prompts/jokes/dad.md`. It is the
    /// document's name in the store.
    pub key: String,
    /// Prompt or fragment.
    pub kind: Kind,
    /// The path of the file below the directory, with `/` between folders.
    pub path: String,
    /// The path of the registered directory.
    pub directory: Arc<Path>,
    /// The name of the registered directory.
    pub directory_name: Arc<str>,
    /// The text of the file.
    pub source: Arc<Source>,
    /// The number of the revision with this text.
    pub rev: u64,
    /// Hash of the whole text, see [`text_hash`](oxikit_core::ports::text_hash).
    pub hash: String,
    /// Time of the first revision, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of this revision, in milliseconds since 1970.
    pub updated_at: i64,
    /// The author of this revision. May be empty.
    pub author: String,
    /// Why the file cannot be used, if it cannot be read any more or could not be written. The text is
    /// the newest one of the history.
    pub problem: Option<String>,
    /// The names that the text includes by `[[name]]`, each once.
    pub(crate) inclusions: Arc<[String]>,
}

impl Document {
    /// The content that clients edit: a Markdown file without its front matter, a Dotprompt file
    /// as a whole.
    pub fn content(&self) -> &str {
        self.source.content()
    }

    /// The text without front matter, also of a Dotprompt file. This is what other documents
    /// include.
    pub fn body(&self) -> &str {
        self.source.body()
    }

    /// The whole text of the file.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// Description, tags and type.
    pub fn metadata(&self) -> &Metadata {
        self.source.metadata()
    }

    /// Whether the file is a Dotprompt file.
    pub fn is_dotprompt(&self) -> bool {
        is_dotprompt(&self.path)
    }

    /// The name of the file without folder and extension.
    pub fn name(&self) -> &str {
        stem(&self.path)
    }

    /// The path below the directory without extension.
    pub fn path_without_extension(&self) -> &str {
        without_extension(&self.path)
    }

    /// The full path of the file.
    pub fn full_path(&self) -> PathBuf {
        self.directory.join(&self.path)
    }

    /// The names that the text includes by `[[name]]`, each once, in the order of their first use.
    pub fn inclusions(&self) -> &[String] {
        &self.inclusions
    }

    /// Whether the content contains `[[` and `]]`, and so may include other documents.
    pub fn is_composite(&self) -> bool {
        self.source.is_composite()
    }

    /// The type that clients see, which is [`Composite`](PromptType::Composite) for a standard
    /// prompt that includes others; `None` for fragments.
    pub fn prompt_type(&self) -> Option<PromptType> {
        (self.kind == Kind::Prompt).then(|| match self.source.prompt_type() {
            source::PromptType::Standard => PromptType::Standard,
            source::PromptType::Composite => PromptType::Composite,
            source::PromptType::System => PromptType::System,
            source::PromptType::User => PromptType::User,
            source::PromptType::Custom => PromptType::Custom,
        })
    }

    /// [`created_at`](Self::created_at) as text, such as `2026-11-15T06:32:35.495Z`.
    pub fn created_at_text(&self) -> String {
        time_text(self.created_at)
    }

    /// [`updated_at`](Self::updated_at) as text, such as `2026-11-15T06:32:35.495Z`.
    pub fn updated_at_text(&self) -> String {
        time_text(self.updated_at)
    }

    /// The document with another text and revision.
    pub(crate) fn with_text(&self, source: Source, rev: u64, hash: String) -> Self {
        let inclusions = inclusions(source.body()).into();
        Self { source: Arc::new(source), rev, hash, inclusions, ..self.clone() }
    }
}

/// A time in milliseconds since 1970 in the form of the protocol.
pub(crate) fn time_text(millis: i64) -> String {
    let millis = u64::try_from(millis).unwrap_or_default();
    timestamp::from_millis(millis).unwrap_or_else(timestamp::now)
}

/// The text of a file, read by the rules of its extension.
pub(crate) fn source_of(path: &str, text: &str) -> Source {
    if is_dotprompt(path) { Source::dotprompt(text) } else { Source::markdown(text) }
}

/// Whether a file may be a document.
pub(crate) fn is_document(path: &str) -> bool {
    without_extension(path).len() < path.len() && !stem(path).is_empty()
}

/// Whether a path is that of a Dotprompt file.
pub(crate) fn is_dotprompt(path: &str) -> bool {
    path.ends_with(DOTPROMPT)
}

/// A path without `.md` or `.prompt`.
pub(crate) fn without_extension(path: &str) -> &str {
    path.strip_suffix(MARKDOWN).or_else(|| path.strip_suffix(DOTPROMPT)).unwrap_or(path)
}

/// The name of a file without folder and extension.
pub(crate) fn stem(path: &str) -> &str {
    let path = without_extension(path);
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A document is a fragment if a folder of its path is called `fragments` or the name of its file
/// begins with `_`.
pub(crate) fn kind_of(path: &str) -> Kind {
    let is_in_folder = path.rsplit_once('/').is_some_and(|(folders, _)| {
        folders.split('/').any(|folder| folder.eq_ignore_ascii_case(FRAGMENTS))
    });
    match is_in_folder || stem(path).starts_with('_') {
        true => Kind::Fragment,
        false => Kind::Prompt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_in_folders_of_that_name_or_begin_with_an_underscore() {
        for (path, kind) in [
            ("joke.md", Kind::Prompt),
            ("fragments/tone.md", Kind::Fragment),
            ("team/Fragments/deep/tone.md", Kind::Fragment),
            ("_header.prompt", Kind::Fragment),
            ("jokes/_header.prompt", Kind::Fragment),
            ("fragments.md", Kind::Prompt),
            ("my-fragments/a.md", Kind::Prompt),
        ] {
            assert_eq!(kind_of(path), kind, "{path}");
        }
    }

    #[test]
    fn the_stem_has_neither_folder_nor_extension() {
        for (path, name) in [("a.md", "a"), ("x/a.prompt", "a"), ("x/a.b.md", "a.b"), ("a", "a")] {
            assert_eq!(stem(path), name, "{path}");
        }
        assert!(is_document("x/a.md") && is_document("a.prompt"));
        for path in ["a.txt", ".md", "x/.prompt", "md"] {
            assert!(!is_document(path), "{path}");
        }
    }
}
