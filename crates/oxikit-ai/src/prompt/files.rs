//! The prompt files of a directory: their texts, and whether they have changed.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use oxikit_core::{Result, Status};
use oxikit_dotprompt::Prompt;

/// Maximum nesting depth of folders. Deeper ones are ignored, as are links.
const MAX_DEPTH: usize = 16;
/// Maximum size of a prompt file in bytes. A larger one is reported as unreadable.
const MAX_BYTES: u64 = 1024 * 1024;

/// The files of a directory by the names they stand for.
#[derive(Clone, Default)]
pub(super) struct Files {
    pub(super) prompts: BTreeMap<String, Arc<str>>,
    pub(super) partials: BTreeMap<String, Arc<str>>,
    /// Also folders: their names are empty or end with a slash.
    pub(super) unreadable: BTreeMap<String, Status>,
}

impl Files {
    /// Reads all files below a directory.
    pub(super) fn read(directory: &Path) -> Self {
        let mut files = Self::default();
        walk(directory, "", 0, &mut |found| match found {
            Found::File { path, prefix, name } => files.read_file(&path, prefix, name),
            Found::Unreadable { prefix, error, .. } => {
                files.unreadable.insert(prefix.to_owned(), error.into());
            }
        });
        files
    }

    /// Whether all files have the same texts and errors as the others.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let mistakes = |files: &Self| -> Vec<_> {
            let unreadable = files.unreadable.iter();
            unreadable.map(|(name, status)| (name.clone(), status.to_string())).collect()
        };
        self.prompts == other.prompts
            && self.partials == other.partials
            && mistakes(self) == mistakes(other)
    }

    fn read_file(&mut self, path: &Path, prefix: &str, name: &str) {
        match read_text(path) {
            Ok(text) => match name.strip_prefix('_') {
                Some(partial) => {
                    self.partials.insert(format!("{prefix}{partial}"), partial_body(&text))
                }
                None => self.prompts.insert(format!("{prefix}{name}"), text.into()),
            },
            Err(status) => {
                self.unreadable.insert(format!("{prefix}{name}"), status);
                None
            }
        };
    }
}

/// The times and sizes of all prompt files below a directory. They do not change when files are
/// only read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(BTreeMap<PathBuf, Option<Stamp>>);

#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// When the file was put in its place or its permissions were changed, in seconds and
    /// nanoseconds: a file that was moved here keeps its time of modification.
    changed: (i64, i64),
}

impl Stamps {
    pub(super) fn of(directory: &Path) -> Self {
        let mut stamps = BTreeMap::new();
        walk(directory, "", 0, &mut |found| match found {
            Found::File { path, .. } => {
                let stamp = fs::metadata(&path).ok().map(|metadata| Stamp::of(&metadata));
                stamps.insert(path, stamp);
            }
            Found::Unreadable { path, .. } => _ = stamps.insert(path.to_owned(), None),
        });
        Self(stamps)
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = (0, 0);
        Self { length: metadata.len(), modified: metadata.modified().ok(), changed }
    }
}

/// An entry of a directory walk.
enum Found<'a> {
    /// A prompt file; its name is without the ending, behind the prefix of its folder.
    File { path: PathBuf, prefix: &'a str, name: &'a str },
    /// A folder that cannot be read.
    Unreadable { path: &'a Path, prefix: &'a str, error: io::Error },
}

fn walk(directory: &Path, prefix: &str, depth: usize, meet: &mut impl FnMut(Found<'_>)) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return meet(Found::Unreadable { path: directory, prefix, error }),
    };
    for entry in entries.flatten() {
        let file_name = entry.file_name();
        let (Some(name), Ok(kind)) = (file_name.to_str(), entry.file_type()) else { continue };
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(&entry.path(), &format!("{prefix}{name}/"), depth + 1, meet);
        } else if let Some(name) = name.strip_suffix(".prompt").filter(|_| kind.is_file()) {
            meet(Found::File { path: entry.path(), prefix, name });
        }
    }
}

fn read_text(path: &Path) -> Result<String> {
    let length = fs::metadata(path)?.len();
    if length > MAX_BYTES {
        return Err(Status::internal(format!(
            "the file has {length} bytes, {MAX_BYTES} are allowed"
        )));
    }
    Ok(fs::read_to_string(path)?)
}

/// A partial may have front matter; only its template counts.
pub(super) fn partial_body(text: &str) -> Arc<str> {
    match Prompt::parse(text) {
        Ok(prompt) => prompt.template().into(),
        Err(_) => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_a_file_is_not_a_change_and_all_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.prompt"), folder.path().join("b.prompt"));
        fs::write(&path, "one").unwrap();
        fs::write(&other, "two").unwrap();
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let keep_time = |path: &Path| {
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        keep_time(&other);
        let mut last = Stamps::of(folder.path());
        let mut changed = || {
            let previous = std::mem::replace(&mut last, Stamps::of(folder.path()));
            previous != last
        };
        assert!(!changed(), "nothing has happened");
        fs::read(&path).unwrap();
        fs::write(folder.path().join("notes.txt"), "of no interest").unwrap();
        assert!(!changed(), "it was read");
        fs::write(&path, "longer").unwrap();
        keep_time(&path);
        assert!(changed(), "another size");
        fs::rename(&other, &path).unwrap();
        assert!(changed(), "another file in its place");
        fs::create_dir(folder.path().join("sub")).unwrap();
        assert!(!changed(), "a folder without prompts");
        fs::write(folder.path().join("sub/c.prompt"), "three").unwrap();
        assert!(changed(), "a new file");
        fs::remove_dir_all(folder.path().join("sub")).unwrap();
        assert!(changed(), "a file that is gone");
    }
}
