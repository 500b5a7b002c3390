//! Registering, changing and reading directories.

use tokio::sync::oneshot;

use crate::Prompts;
use crate::directories::{Completion, Directory, DirectoryUpdate, Registry, complete};
use crate::error::PromptsError;
use crate::files::blocking;
use crate::options::DirectorySpec;
use crate::watch::{Scan, check_store};

impl Prompts {
    /// All registered directories, in the order of their registration.
    pub fn directories(&self) -> Vec<Directory> {
        self.state.registry().all().to_vec()
    }

    /// Registers a directory and reads its documents.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{Prompts, PromptsOptions};
    /// let project = tempfile::tempdir()?;
    /// let folder = project.path().join("prompts");
    /// std::fs::create_dir(&folder)?;
    /// std::fs::write(folder.join("joke.md"), "Tell a joke.")?;
    ///
    /// let mut options = PromptsOptions::default();
    /// options.allowed_roots.push(project.path().to_owned());
    /// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.add_directory(folder.to_str().unwrap(), Some("team"), None).await?;
    /// assert_eq!(&*prompts.find("joke", None)?.directory_name, "team");
    /// assert!(prompts.add_directory("/", None, None).await.is_err(), "not below an allowed root");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](PromptsError::Invalid) if the path is not a directory, is not below an allowed
    /// root, or contains or is below a registered one; [`Exists`](PromptsError::Exists) if it is
    /// registered already; [`File`](PromptsError::File) if the registry cannot be written.
    pub async fn add_directory(
        &self,
        path: &str,
        name: Option<&str>,
        description: Option<&str>,
    ) -> Result<Directory, PromptsError> {
        let mut spec = DirectorySpec::new(path);
        (spec.name, spec.description) = (name.map(str::to_owned), description.map(str::to_owned));
        let roots = self.state.options.allowed_roots.clone();
        let added = self.change_registry(move |registry| registry.add(&spec, &roots)).await?;
        self.scan(Some(&added)).await?;
        Ok(added)
    }

    /// Changes a directory, which is named by its path, name or key. Disabling it closes the members
    /// of its documents.
    ///
    /// # Errors
    ///
    /// [`NoDirectory`](PromptsError::NoDirectory), or [`File`](PromptsError::File) if the registry
    /// cannot be written.
    pub async fn update_directory(
        &self,
        directory: &str,
        update: DirectoryUpdate,
    ) -> Result<Directory, PromptsError> {
        let before = self.state.registry().find(directory)?.clone();
        let key = before.key.to_string();
        let updated = self.change_registry(move |registry| registry.update(&key, &update)).await?;
        if before.enabled && !updated.enabled {
            self.forget(&updated).await;
        } else if updated.enabled {
            // A new name is part of each document.
            if before.enabled && before.name != updated.name {
                self.state.change_index(|index| index.rename_directory(&updated));
            }
            self.scan(Some(&updated)).await?;
        }
        Ok(updated)
    }

    /// Ends the registration of a directory. Files and history stay.
    ///
    /// # Errors
    ///
    /// As [`update_directory`](Self::update_directory).
    pub async fn remove_directory(&self, directory: &str) -> Result<Directory, PromptsError> {
        let key = self.state.registry().find(directory)?.key.to_string();
        let removed = self.change_registry(move |registry| registry.remove(&key)).await?;
        self.forget(&removed).await;
        Ok(removed)
    }

    /// Reads all files again and returns the number of documents.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn reload(&self) -> Result<usize, PromptsError> {
        self.scan(None).await?;
        if self.state.options.is_shared {
            self.check_store().await?;
        }
        Ok(self.index().documents().count())
    }

    /// Reads the files of a directory again and returns the number of its documents.
    ///
    /// # Errors
    ///
    /// [`NoDirectory`](PromptsError::NoDirectory), or if the store does not work.
    pub async fn reload_directory(&self, directory: &str) -> Result<usize, PromptsError> {
        let directory = self.state.registry().find(directory)?.clone();
        self.scan(Some(&directory)).await?;
        Ok(self.count_documents(&directory))
    }

    /// Number of documents of a directory.
    pub fn count_documents(&self, directory: &Directory) -> usize {
        let index = self.index();
        index.documents().filter(|document| document.directory == directory.path).count()
    }

    /// Completes the beginning of a path to folders below the allowed roots.
    pub async fn complete_path(&self, partial_path: &str) -> Completion {
        let (partial_path, roots) =
            (partial_path.to_owned(), self.state.options.allowed_roots.clone());
        let completed = blocking(move || Ok(complete(&partial_path, &roots))).await;
        completed.unwrap_or_default()
    }

    /// Takes over what other processes have stored.
    pub(super) async fn check_store(&self) -> Result<(), PromptsError> {
        check_store(&self.tasks).await
    }

    /// Reads the files of a directory, or of all.
    async fn scan(&self, directory: Option<&Directory>) -> Result<(), PromptsError> {
        let (done, scanned) = oneshot::channel();
        let directory = directory.map(|directory| directory.key.clone());
        let sent = self.scans.send(Scan { directory, done }).await;
        sent.map_err(|_| PromptsError::Closed)?;
        scanned.await.unwrap_or(Err(PromptsError::Closed))
    }

    /// Removes the documents of a directory from the index and closes their members.
    async fn forget(&self, directory: &Directory) {
        // The watcher forgets what it knows about the files. A library that is closing does so anyway.
        _ = self.scan(Some(directory)).await;
        self.tasks.evict(&directory.key).await;
        self.state.change_index(|index| index.remove_directory(&directory.key));
        self.state.changes.report_reload();
    }

    /// Changes the registry and its file. If the file cannot be written, nothing has changed.
    async fn change_registry(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<Directory, PromptsError> + Send + 'static,
    ) -> Result<Directory, PromptsError> {
        let state = self.state.clone();
        let changed = blocking(move || {
            Ok(state.change_registry(|registry| {
                let directory = change(registry)?;
                registry.save()?;
                Ok(directory)
            }))
        });
        changed.await.map_err(|error| PromptsError::File(error.to_string()))?
    }
}
