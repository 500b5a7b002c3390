//! The prompt library: documents in registered directories, their history and live editing.
//!
//! [`Prompts`] reads from an index in memory. Every change, by whatever way it comes, goes through
//! the one task of its document (`task`). HTTP and WebSockets are not known here.

mod checking;
mod directories;
mod editing;
mod export;
mod history;
mod inclusion;
mod live;
mod lookup;
mod member;
mod renaming;

use std::sync::Arc;

use oxikit_core::ports::RevisionStore;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use crate::directories::Registry;
use crate::document::{Document, Kind};
use crate::error::PromptsError;
use crate::files::blocking;
use crate::index::{Index, matches};
use crate::options::PromptsOptions;
use crate::requests::Problem;
use crate::state::State;
use crate::task::Tasks;
use crate::watch::{Scan, Watcher, watch_store};
pub use member::{JoinOptions, Member};

/// Number of requests to read files that wait. The senders of more wait.
const SCANS: usize = 16;

/// A library of prompts in files. Cheap to clone; clones are the same library.
///
/// The documents are the Markdown (`.md`) and Dotprompt (`.prompt`) files of registered
/// directories. The files are the current texts; all versions are in a [`RevisionStore`]. A change
/// is answered when it is durable in both.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_prompts::{Base, Prompts, PromptsOptions, Submission};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("joke.md"), "Tell a joke.")?;
/// let options = PromptsOptions::new([folder.path()]);
/// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
///
/// // Two people change revision 1 at the same time.
/// let one = Submission::content("Tell a short joke.").with_base(Base::Rev(1));
/// let two = Submission::content("Tell a joke about tea.").with_base(Base::Rev(1));
/// prompts.submit("joke", None, one).await?;
/// let submitted = prompts.submit("joke", None, two).await?;
/// assert!(submitted.merged);
/// let text = std::fs::read_to_string(folder.path().join("joke.md"))?;
/// assert_eq!(text, "Tell a short joke about tea.");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Prompts {
    state: Arc<State>,
    tasks: Arc<Tasks>,
    scans: mpsc::Sender<Scan>,
    /// Ends all tasks when the last clone is dropped.
    _guard: Arc<DropGuard>,
}

impl Prompts {
    /// Reads all documents and begins to watch their files.
    ///
    /// Files without a history get their first revision. Files that differ from the newest revision
    /// were changed by another program, or not written before a crash; both are repaired here.
    /// Files that cannot be read are named by [`problems`](Self::problems); the others are served.
    ///
    /// # Errors
    ///
    /// If the store or the registry file cannot be read, or a directory of the options is not a
    /// directory.
    pub async fn open(
        options: PromptsOptions,
        store: Arc<dyn RevisionStore>,
    ) -> Result<Self, PromptsError> {
        let own = options.clone();
        let registry = blocking(move || Ok(Registry::open(&own))).await;
        let registry = registry.map_err(|error| PromptsError::File(error.to_string()))??;
        let state = Arc::new(State::new(options, store, registry));
        let guard = Arc::new(state.stop.clone().drop_guard());
        let tasks = Arc::new(Tasks::new(state.clone()));
        let mut watcher = Watcher::new(tasks.clone());
        watcher.scan(None).await?;
        let (scans, requests) = mpsc::channel(SCANS);
        let prompts = Self { state, tasks, scans, _guard: guard };
        prompts.finish_renames().await?;
        prompts.state.tracker.spawn(watcher.run(requests));
        if prompts.state.options.is_shared {
            prompts.check_store().await?;
            prompts.state.tracker.spawn(watch_store(prompts.tasks.clone()));
        }
        Ok(prompts)
    }

    /// Ends the library: closes all members with 1001, finishes the work that has begun and stops
    /// watching. Later requests fail with [`PromptsError::Closed`]. Dropping all clones does the
    /// same without waiting.
    pub async fn close(&self) {
        self.state.stop.cancel();
        self.state.changes.close();
        self.state.tracker.close();
        self.state.tracker.wait().await;
    }

    /// The options with which the library was opened.
    pub fn options(&self) -> &PromptsOptions {
        &self.state.options
    }

    /// All documents, or those of one kind, in the order of their ids.
    pub fn list(&self, kind: Option<Kind>) -> Vec<Arc<Document>> {
        let index = self.index();
        let wanted =
            index.documents().filter(|document| kind.is_none_or(|kind| kind == document.kind));
        let mut documents: Vec<_> = wanted.cloned().collect();
        documents.sort_by(|a, b| a.id.cmp(&b.id));
        documents
    }

    /// The document with this id. The name of a file is enough if only one document, of this kind,
    /// has it; a trailing `.md` is ignored.
    ///
    /// # Errors
    ///
    /// [`NotFound`](PromptsError::NotFound), or [`Ambiguous`](PromptsError::Ambiguous) if several
    /// documents have this name.
    pub fn find(&self, id: &str, kind: Option<Kind>) -> Result<Arc<Document>, PromptsError> {
        self.index().find(id, kind)
    }

    /// As [`find`](Self::find), among the documents of one directory, which is named by its path,
    /// name or key.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub fn find_in(
        &self,
        directory: &str,
        id: &str,
        kind: Option<Kind>,
    ) -> Result<Arc<Document>, PromptsError> {
        let registry = self.state.registry();
        let directory = registry.find(directory)?;
        self.index().find_where(id, kind, |document| *document.directory == *directory.path)
    }

    /// Names for completion after `[[`: documents whose id contains `query`, without regard to
    /// case. Those that begin with it come first. The document `exclude` is left out.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{Prompts, PromptsOptions};
    /// let folder = tempfile::tempdir()?;
    /// for name in ["bad-joke.md", "joke.md", "tea.md"] {
    ///     std::fs::write(folder.path().join(name), "")?;
    /// }
    /// let options = PromptsOptions::new([folder.path()]);
    /// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// let found = prompts.suggestions("JO", None, 50);
    /// let ids: Vec<_> = found.iter().map(|document| document.id.as_str()).collect();
    /// assert_eq!(ids, ["joke", "bad-joke"]);
    /// # Ok(()) }
    /// ```
    pub fn suggestions(
        &self,
        query: &str,
        exclude: Option<&str>,
        limit: usize,
    ) -> Vec<Arc<Document>> {
        let query = query.trim().to_lowercase();
        let index = self.index();
        let others = index.documents().filter(|document| exclude != Some(document.id.as_str()));
        let found = others.filter_map(|document| Some((!matches(document, &query)?, document)));
        let mut found: Vec<_> = found.collect();
        found.sort_by(|(a, first), (b, second)| (a, &first.id).cmp(&(b, &second.id)));
        found.into_iter().take(limit).map(|(_, document)| document.clone()).collect()
    }

    /// The files and directories that cannot be read.
    pub fn problems(&self) -> Vec<Problem> {
        self.index().problems()
    }

    /// Number of documents that are open, for tests and metrics.
    pub fn open_documents(&self) -> usize {
        self.tasks.count()
    }

    fn index(&self) -> Arc<Index> {
        self.state.index()
    }

    /// The key of a document, also of a deleted one.
    fn key_of(&self, id: &str, kind: Option<Kind>) -> Result<String, PromptsError> {
        let index = self.index();
        match index.find(id, kind) {
            Ok(document) => Ok(document.key.clone()),
            Err(error @ PromptsError::NotFound { .. }) => {
                index.find_deleted(id, kind).map(|deleted| deleted.key.clone()).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }
}
