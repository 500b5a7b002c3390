//! The registry of directories with documents.
//!
//! It decides which folders may be registered and keeps them in a file. Reading their documents is
//! the work of `watch`.

mod completion;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit_local::private_file::write_private;
use oxikit_local::untrusted_file::{MAX_MANIFEST, read_text};
pub use oxikit_wire::prompts::Completion;

pub(crate) use completion::complete;

use crate::error::PromptsError;
use crate::files::Root;
use crate::options::{DirectorySpec, PromptsOptions};

/// Maximum length in bytes of the name and of the key of a directory. Longer ones are cut.
const MAX_NAME: usize = 100;

/// A registered directory.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_prompts::{DirectorySpec, Prompts, PromptsOptions};
///
/// let folder = tempfile::tempdir()?;
/// let mut options = PromptsOptions::default();
/// options.directories.push(DirectorySpec::new(folder.path()).with_name("team"));
/// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
/// assert_eq!(&*prompts.directories()[0].name, "team");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Directory {
    /// The path of the folder, without symbolic links.
    pub path: Arc<Path>,
    /// The name that people see.
    pub name: Arc<str>,
    /// A description for people. May be empty.
    pub description: String,
    /// Whether its documents are served.
    pub enabled: bool,
    /// The first part of the keys of its documents. It never changes.
    pub key: Arc<str>,
}

impl Directory {
    /// Its files.
    pub(crate) fn root(&self) -> Root {
        Root::new(self.path.clone())
    }

    /// Whether it is called so, by its path, name or key.
    fn is_called(&self, name: &str) -> bool {
        let has_path = self.path.to_str() == Some(name.trim_end_matches('/'));
        has_path || &*self.name == name || &*self.key == name
    }

    fn spec(&self) -> DirectorySpec {
        let description = Some(self.description.clone()).filter(|text| !text.is_empty());
        let key = Some(self.key.to_string()).filter(|key| **key != *self.name);
        let mut spec = DirectorySpec::new(&*self.path).with_name(&*self.name);
        (spec.description, spec.enabled, spec.key) = (description, self.enabled, key);
        spec
    }
}

/// A change of a [`Directory`]. Absent members change nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectoryUpdate {
    /// The name that people see.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Whether its documents are served.
    pub enabled: Option<bool>,
}

/// All registered directories.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    directories: Vec<Directory>,
    file: Option<PathBuf>,
}

impl Registry {
    /// The directories of the options and of the registry file.
    ///
    /// # Errors
    ///
    /// If a directory of the options is not a directory, or the registry file cannot be read. A
    /// directory of the registry file that does not exist any more stays registered.
    pub(crate) fn open(options: &PromptsOptions) -> Result<Self, PromptsError> {
        let mut registry = Self { directories: Vec::new(), file: options.registry_file.clone() };
        for spec in &options.directories {
            let path = folder_at(&spec.path)?;
            if registry.directories.iter().all(|known| *known.path != *path) {
                registry.push(path, spec);
            }
        }
        for spec in registry.read_file()? {
            let path = spec.path.canonicalize().unwrap_or_else(|_| spec.path.clone());
            if registry.directories.iter().all(|known| *known.path != *path) {
                registry.push(path, &spec);
            }
        }
        Ok(registry)
    }

    /// All directories.
    pub(crate) fn all(&self) -> &[Directory] {
        &self.directories
    }

    /// The directories whose documents are served.
    pub(crate) fn enabled(&self) -> impl Iterator<Item = &Directory> {
        self.directories.iter().filter(|directory| directory.enabled)
    }

    /// The directory with this path, name or key.
    pub(crate) fn find(&self, name: &str) -> Result<&Directory, PromptsError> {
        let found = self.directories.iter().find(|directory| directory.is_called(name));
        found.ok_or_else(|| unknown(name))
    }

    /// The directory of a document's key, and the path below it.
    pub(crate) fn split_key<'k>(&self, key: &'k str) -> Option<(&Directory, &'k str)> {
        let (directory, path) = key.split_once('/')?;
        let directory = self.directories.iter().find(|known| &*known.key == directory)?;
        Some((directory, path))
    }

    /// Adds a directory below one of the allowed roots.
    pub(crate) fn add(
        &mut self,
        spec: &DirectorySpec,
        allowed_roots: &[PathBuf],
    ) -> Result<Directory, PromptsError> {
        let path = allowed_folder(&spec.path, allowed_roots)?;
        for known in &self.directories {
            if *known.path == *path {
                return Err(PromptsError::Exists(spec.path.display().to_string()));
            }
            if path.starts_with(&known.path) || known.path.starts_with(&path) {
                return Err(PromptsError::Invalid(format!(
                    "this directory and the registered directory `{}` are one inside of the other",
                    known.name
                )));
            }
        }
        self.push(path, spec);
        let added = self.directories.last().cloned();
        added.ok_or_else(|| unknown(&spec.path.display().to_string()))
    }

    /// Changes a directory.
    pub(crate) fn update(
        &mut self,
        name: &str,
        update: &DirectoryUpdate,
    ) -> Result<Directory, PromptsError> {
        let mut found = self.directories.iter_mut();
        let directory = found.find(|known| known.is_called(name)).ok_or_else(|| unknown(name))?;
        if let Some(name) = &update.name {
            directory.name = cut(name).into();
        }
        if let Some(description) = &update.description {
            directory.description = description.clone();
        }
        directory.enabled = update.enabled.unwrap_or(directory.enabled);
        Ok(directory.clone())
    }

    /// Removes a directory.
    pub(crate) fn remove(&mut self, name: &str) -> Result<Directory, PromptsError> {
        let mut found = self.directories.iter();
        let position = found.position(|known| known.is_called(name));
        let position = position.ok_or_else(|| unknown(name))?;
        Ok(self.directories.remove(position))
    }

    /// Writes the registry file, if there is one. It blocks.
    pub(crate) fn save(&self) -> Result<(), PromptsError> {
        let Some(file) = &self.file else { return Ok(()) };
        let specs: Vec<_> = self.directories.iter().map(Directory::spec).collect();
        let written = serde_json::to_vec_pretty(&specs).map_err(io::Error::other);
        written.and_then(|json| write_private(file, &json)).map_err(|error| {
            PromptsError::File(format!("the registry of directories cannot be written: {error}"))
        })
    }

    fn push(&mut self, path: PathBuf, spec: &DirectorySpec) {
        let folder = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let default = || folder.unwrap_or_else(|| "prompts".to_owned());
        let name = spec.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(default);
        let key = self.free_key(spec.key.as_deref().unwrap_or(&name));
        self.directories.push(Directory {
            path: path.into(),
            name: cut(&name).into(),
            description: spec.description.clone().unwrap_or_default(),
            enabled: spec.enabled,
            key: key.into(),
        });
    }

    /// A key that no directory has: this name, or with a number behind it.
    fn free_key(&self, name: &str) -> String {
        let taken: BTreeSet<&str> = self.directories.iter().map(|known| &*known.key).collect();
        let plain = cut(name).replace(['/', '\\'], "_");
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut keys = std::iter::once(plain.clone()).chain(numbered);
        keys.find(|key| !taken.contains(key.as_str())).unwrap_or(plain)
    }

    fn read_file(&self) -> Result<Vec<DirectorySpec>, PromptsError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let text = match read_text(file, MAX_MANIFEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text,
        };
        let specs = text.and_then(|text| serde_json::from_str(&text).map_err(io::Error::other));
        specs.map_err(|error| {
            let file = file.display();
            PromptsError::File(format!(
                "the registry of directories cannot be read: {error}; repair or remove {file}"
            ))
        })
    }
}

fn unknown(name: &str) -> PromptsError {
    PromptsError::NoDirectory(name.to_owned())
}

/// The folder at this path without symbolic links.
fn folder_at(path: &Path) -> Result<PathBuf, PromptsError> {
    let found = path.canonicalize().ok().filter(|path| path.is_dir());
    found.ok_or_else(|| PromptsError::Invalid(format!("`{}` is not a directory", path.display())))
}

/// The folder at this path, if it is in or below one of the roots. The error is the same for a
/// folder elsewhere and for none, so that nobody finds out what exists outside of the roots.
fn allowed_folder(path: &Path, allowed_roots: &[PathBuf]) -> Result<PathBuf, PromptsError> {
    let refused = || {
        PromptsError::Invalid(format!(
            "`{}` is not a directory in or below a folder where directories may be registered",
            path.display()
        ))
    };
    let folder = path.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(refused)?;
    let mut roots = allowed_roots.iter().filter_map(|root| root.canonicalize().ok());
    roots.any(|root| folder.starts_with(root)).then_some(folder).ok_or_else(refused)
}

/// A name without control characters, of at most [`MAX_NAME`] bytes.
fn cut(name: &str) -> String {
    let mut short = String::new();
    for character in name.trim().chars().filter(|character| !character.is_control()) {
        if short.len() + character.len_utf8() > MAX_NAME {
            break;
        }
        short.push(character);
    }
    if short.is_empty() { "prompts".to_owned() } else { short }
}

#[cfg(test)]
mod tests;
