//! The documents of a folder: Markdown, text, tables and HTML files below one root.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use oxikit::prelude::*;

use super::readable::{self, Page};
use crate::UserError;

/// Files with these endings are read.
const ENDINGS: [&str; 5] = ["csv", "html", "htm", "md", "txt"];
/// Maximum size of a document in bytes. Larger ones are left out.
const MAX_BYTES: u64 = 1024 * 1024;
/// Maximum number of documents of a folder. The rest is left out.
const MAX_DOCUMENTS: usize = 1_000;

/// The folder that the studio may read. Links that lead out of it are not followed.
#[derive(Debug, Clone)]
pub struct Documents {
    root: Arc<PathBuf>,
}

impl Documents {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: Arc::new(root.into()) }
    }

    /// Reads one document by its path below the root.
    ///
    /// # Errors
    ///
    /// [`UserError::FolderOutside`] if the path leads out of the root, [`UserError::NoDocuments`]
    /// if there is no such document.
    pub async fn read(&self, path: &str) -> Result<Page> {
        let missing = || Status::from(UserError::NoDocuments(path.to_owned()));
        let file = self.inside(path).await?;
        let text = read_text(&file).await.ok_or_else(missing)?;
        Ok(page_of(path, text))
    }

    /// All documents of a folder below the root, sorted by path. An empty path is the root.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub async fn folder(&self, path: &str) -> Result<Vec<Page>> {
        let mut folders = vec![self.inside(path).await?];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            let Ok(mut entries) = tokio::fs::read_dir(&folder).await else { continue };
            while let Some(entry) = entries.next_entry().await? {
                let kind = entry.file_type().await?;
                match (kind.is_dir(), kind.is_file()) {
                    (true, _) => folders.push(entry.path()),
                    (_, true) => files.push(entry.path()),
                    // Links are not followed.
                    _ => {}
                }
            }
        }
        files.sort();
        let root = tokio::fs::canonicalize(self.root.as_path()).await?;
        let mut pages = Vec::new();
        for file in files.into_iter().take(MAX_DOCUMENTS) {
            if let (Some(text), Ok(path)) = (read_text(&file).await, file.strip_prefix(&root)) {
                pages.push(page_of(&path.to_string_lossy(), text));
            }
        }
        match pages.is_empty() {
            true => Err(UserError::NoDocuments(path.to_owned()).into()),
            false => Ok(pages),
        }
    }

    /// The absolute path, if it is inside of the root.
    async fn inside(&self, path: &str) -> Result<PathBuf> {
        let outside = || Status::from(UserError::FolderOutside(path.to_owned()));
        let is_plain =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(path).components().all(is_plain) {
            return Err(outside());
        }
        let root = tokio::fs::canonicalize(self.root.as_path()).await;
        let root = root.map_err(|_| UserError::NoDocuments(self.root.display().to_string()))?;
        let file = tokio::fs::canonicalize(root.join(path)).await;
        let file = file.map_err(|_| UserError::NoDocuments(path.to_owned()))?;
        if file.starts_with(&root) { Ok(file) } else { Err(outside()) }
    }
}

/// The text of a document; `None` if it is of another kind, too large or not UTF-8.
async fn read_text(file: &Path) -> Option<String> {
    let ending = file.extension()?.to_str()?.to_ascii_lowercase();
    let size = tokio::fs::metadata(file).await.ok()?.len();
    if !ENDINGS.contains(&ending.as_str()) || size > MAX_BYTES {
        return None;
    }
    let text = tokio::fs::read_to_string(file).await.ok()?;
    match ending.as_str() {
        "html" | "htm" => Some(readable::page("", &text).text),
        _ => Some(text),
    }
}

fn page_of(path: &str, text: String) -> Page {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(path);
    let title = first.trim_start_matches('#').trim().to_owned();
    Page { title, url: format!("document:{path}"), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn message(documents: &Documents, path: &str) -> String {
        documents.read(path).await.map_err(|status| status.message().to_owned()).unwrap_err()
    }

    #[tokio::test]
    async fn only_documents_below_the_root_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        let root = folder.path().join("documents");
        std::fs::create_dir_all(root.join("tea")).unwrap();
        std::fs::write(root.join("tea/green.md"), "# Green tea\nWater of 80 degrees.").unwrap();
        std::fs::write(root.join("tea/program.exe"), "no").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret.txt"), root.join("link.txt"))
            .unwrap();
        let documents = Documents::new(&root);

        let page = documents.read("tea/green.md").await.unwrap();
        assert_eq!(
            (page.title.as_str(), page.url.as_str()),
            ("Green tea", "document:tea/green.md")
        );
        assert_eq!(documents.folder("").await.unwrap(), [page]);
        for path in ["../secret.txt", "/etc/passwd", "link.txt", "tea/../../secret.txt"] {
            assert!(message(&documents, path).await.contains("not below the folder"), "{path}");
        }
        for path in ["tea/program.exe", "tea/black.md"] {
            assert!(message(&documents, path).await.starts_with("there are no"), "{path}");
        }
    }
}
