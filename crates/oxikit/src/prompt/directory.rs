//! Prompts in a directory, loaded again when a file changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify_debouncer_full::notify::RecursiveMode;
use notify_debouncer_full::{DebounceEventResult, new_debouncer};
use oxikit_core::{Registry, Result, Status};

use super::library::Library;
use crate::Oxikit;

/// Folders may be nested this deep.
const MAX_DEPTH: usize = 16;
/// A prompt file may have this many bytes.
const MAX_BYTES: u64 = 1024 * 1024;
/// Editors write a file in several steps; changes this close count as one.
const SETTLE: Duration = Duration::from_millis(50);

/// A directory of prompt files that was loaded.
#[derive(Debug, Clone)]
pub struct PromptDirectory {
    /// The names of the prompts that can be called.
    pub loaded: Vec<String>,
    /// What is wrong with the others, by name.
    pub broken: BTreeMap<String, Status>,
}

/// The files of a directory by the names they stand for.
#[derive(Default)]
struct Files {
    prompts: BTreeMap<String, Arc<str>>,
    partials: BTreeMap<String, Arc<str>>,
    unreadable: BTreeMap<String, Status>,
}

impl PromptDirectory {
    pub(super) fn load(ai: &Oxikit, directory: &Path) -> Result<Self> {
        let directory = directory.canonicalize().map_err(|error| {
            Status::invalid_argument("the prompt directory cannot be read")
                .with_hint(format!("{}: {error}", directory.display()))
        })?;
        let source = Arc::new(Source { directory, known: Mutex::default() });
        let loaded = source.reload(ai.registry(), &ai.library());
        if let Err(error) = source.watch(ai) {
            tracing::warn!(%error, "prompt files are not watched; changes need a restart");
        }
        Ok(loaded)
    }
}

struct Source {
    directory: PathBuf,
    /// Names of the prompts that came from here.
    known: Mutex<BTreeSet<String>>,
}

impl Source {
    fn reload(&self, registry: &Registry, library: &Library) -> PromptDirectory {
        let mut files = Files::default();
        files.read(&self.directory, "", 0);
        let names: BTreeSet<_> = files.prompts.keys().cloned().collect();
        let gone = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let former = std::mem::replace(&mut *known, names.clone());
            former.difference(&names).cloned().collect::<Vec<_>>()
        };
        let mut broken = library.replace_files(registry, gone, files.partials, files.prompts);
        broken.extend(files.unreadable);
        for (name, status) in &broken {
            tracing::error!(prompt = name, %status, "prompt file is broken");
        }
        PromptDirectory {
            loaded: names.into_iter().filter(|name| !broken.contains_key(name)).collect(),
            broken,
        }
    }

    fn watch(self: Arc<Self>, ai: &Oxikit) -> Result<(), notify_debouncer_full::notify::Error> {
        // The watcher lives in the registry: it must not keep the registry alive.
        let registry = ai.registry().downgrade();
        let directory = self.directory.clone();
        let mut watcher = new_debouncer(SETTLE, None, move |events: DebounceEventResult| {
            let Some(registry) = registry.upgrade() else { return };
            let is_prompt =
                |path: &PathBuf| path.extension().is_none_or(|extension| extension == "prompt");
            match events {
                Ok(events) if !events.iter().flat_map(|event| &event.paths).any(is_prompt) => {}
                _ => {
                    let state = self.reload(&registry, &registry.state::<Library>());
                    tracing::info!(
                        loaded = state.loaded.len(),
                        broken = state.broken.len(),
                        "prompts loaded again"
                    );
                }
            }
        })?;
        watcher.watch(&directory, RecursiveMode::Recursive)?;
        ai.library().keep(watcher);
        Ok(())
    }
}

impl Files {
    fn read(&mut self, directory: &Path, prefix: &str, depth: usize) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.flatten() {
            let file_name = entry.file_name();
            let (Some(name), Ok(kind)) = (file_name.to_str(), entry.file_type()) else { continue };
            if kind.is_dir() && depth < MAX_DEPTH {
                self.read(&entry.path(), &format!("{prefix}{name}/"), depth + 1);
            } else if let Some(name) = name.strip_suffix(".prompt").filter(|_| kind.is_file()) {
                self.read_file(&entry.path(), prefix, name);
            }
        }
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
fn partial_body(text: &str) -> Arc<str> {
    match oxikit_dotprompt::Prompt::parse(text) {
        Ok(prompt) => prompt.template().into(),
        Err(_) => text.into(),
    }
}
