//! Prompts in a directory, loaded again when a file changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify_debouncer_full::notify::{Event, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, new_debouncer};
use oxikit_core::{Registry, Result, Status, notice};
use oxikit_dotprompt::{Prompt, UnknownKey};

use super::library::Library;
use crate::{Oxikit, lookup};

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
    /// What is probably a mistake although the prompts can be called: keys of the front
    /// matter that nothing reads, and prompts that were defined before.
    pub warnings: Vec<String>,
}

/// The files of a directory by the names they stand for.
#[derive(Clone, Default)]
struct Files {
    prompts: BTreeMap<String, Arc<str>>,
    partials: BTreeMap<String, Arc<str>>,
    unreadable: BTreeMap<String, Status>,
}

impl PromptDirectory {
    pub(super) fn load(ai: &Oxikit, directory: &Path) -> Result<Self> {
        let directory = directory.canonicalize().map_err(|error| {
            // A relative path is looked for where the program runs, which may be elsewhere
            // than expected.
            let full = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
            Status::invalid_argument(format!("the prompt directory cannot be read: {error}"))
                .with_hint(format!("it was looked for at {}", full.display()))
        })?;
        let source = Arc::new(Source { directory, loaded: Mutex::default() });
        let loaded = source.load(ai.registry(), &ai.library(), source.read());
        if let Err(error) = source.watch(ai) {
            tracing::warn!(%error, "prompt files are not watched; changes need a restart");
        }
        Ok(loaded)
    }
}

struct Source {
    directory: PathBuf,
    /// The files that the prompts were made from.
    loaded: Mutex<Files>,
}

impl Source {
    fn read(&self) -> Files {
        let mut files = Files::default();
        files.read(&self.directory, "", 0);
        files
    }

    /// Loads the files again, unless all of them say what they said before. `None`
    /// if nothing changed.
    fn reload(&self, registry: &Registry, library: &Library) -> Option<PromptDirectory> {
        let files = self.read();
        let is_same = self.loaded().is_same(&files);
        (!is_same).then(|| self.load(registry, library, files))
    }

    fn load(&self, registry: &Registry, library: &Library, files: Files) -> PromptDirectory {
        let former = std::mem::replace(&mut *self.loaded(), files.clone());
        let warnings = self.warnings(library, &former, &files);
        let mut gone: Vec<_> = former.prompts.into_keys().collect();
        gone.retain(|name| !files.prompts.contains_key(name));
        let names: Vec<_> = files.prompts.keys().cloned().collect();
        let mut broken = library.replace_files(registry, gone, files.partials, files.prompts);
        broken.extend(files.unreadable);
        self.tell(&broken, &warnings);
        PromptDirectory {
            loaded: names.into_iter().filter(|name| !broken.contains_key(name)).collect(),
            broken,
            warnings,
        }
    }

    /// The warnings for the files that are new or were changed.
    fn warnings(&self, library: &Library, former: &Files, files: &Files) -> Vec<String> {
        let mut warnings = Vec::new();
        for (name, text) in &files.prompts {
            let path = self.path(name);
            match former.prompts.get(name) {
                Some(former) if former == text => continue,
                None if library.has(name) => warnings.push(format!(
                    "two definitions of the prompt `{name}`: {path} replaces the earlier one; give one of them another name"
                )),
                _ => {}
            }
            // What does not parse is an error, not a warning.
            let prompt = Prompt::parse(text);
            let unknown = prompt.iter().flat_map(Prompt::unknown_keys);
            warnings.extend(unknown.map(|key| format!("{path}: {}", unread(key))));
        }
        warnings
    }

    /// Tells the developer. A prompt that only lacks a helper or a schema may get it later.
    fn tell(&self, broken: &BTreeMap<String, Status>, warnings: &[String]) {
        for (name, status) in broken {
            let path = self.path(name);
            let cause = status.cause::<oxikit_dotprompt::Error>();
            if cause.is_some_and(oxikit_dotprompt::Error::is_missing_definition) {
                tracing::warn!(%path, %status, "prompt file cannot be used yet");
            } else {
                notice::error(format_args!("{path} is broken: {}", status.message()));
            }
        }
        for warning in warnings {
            notice::warning(warning);
        }
    }

    /// The file of the prompt of this name, for people. The name of a folder that
    /// cannot be read is empty or ends with a slash.
    fn path(&self, name: &str) -> String {
        let is_folder = name.is_empty() || name.ends_with('/');
        let file = if is_folder { name.to_owned() } else { format!("{name}.prompt") };
        self.directory.join(file).display().to_string()
    }

    fn loaded(&self) -> MutexGuard<'_, Files> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(self: Arc<Self>, ai: &Oxikit) -> Result<(), notify_debouncer_full::notify::Error> {
        // The watcher lives in the registry: it must not keep the registry alive.
        let registry = ai.registry().downgrade();
        let directory = self.directory.clone();
        let mut watcher = new_debouncer(SETTLE, None, move |events: DebounceEventResult| {
            let Some(registry) = registry.upgrade() else { return };
            // What the system could not tell may have been a change.
            if events.is_ok_and(|events| !events.iter().any(|event| is_change(event))) {
                return;
            }
            if let Some(state) = self.reload(&registry, &registry.state::<Library>()) {
                let (loaded, broken) = (state.loaded.len(), state.broken.len());
                tracing::info!(loaded, broken, "prompts loaded again");
            }
        })?;
        watcher.watch(&directory, RecursiveMode::Recursive)?;
        ai.library().keep(watcher);
        Ok(())
    }
}

/// What to do about a key of the front matter that nothing reads.
fn unread(unknown: &UnknownKey) -> String {
    let UnknownKey { parent, key, line, known, .. } = unknown;
    let place = parent.map_or_else(String::new, |parent| format!(" of `{parent}`"));
    let advice = lookup::did_you_mean(key, known).unwrap_or_else(|| {
        format!("a key of your own stands below `metadata`, or has a dot in it (`my.{key}`)")
    });
    format!("nothing reads the key `{key}`{place} (line {line}); {advice}")
}

/// Whether an event may have changed a prompt. Reading a file is not a change: a
/// reload reads all files, and would cause the next one.
fn is_change(event: &Event) -> bool {
    let is_prompt = |path: &PathBuf| path.extension().is_none_or(|ending| ending == "prompt");
    event.need_rescan() || (!event.kind.is_access() && event.paths.iter().any(is_prompt))
}

impl Files {
    fn is_same(&self, other: &Self) -> bool {
        let mistakes = |files: &Self| -> Vec<_> {
            let unreadable = files.unreadable.iter();
            unreadable.map(|(name, status)| (name.clone(), status.to_string())).collect()
        };
        self.prompts == other.prompts
            && self.partials == other.partials
            && mistakes(self) == mistakes(other)
    }

    fn read(&mut self, directory: &Path, prefix: &str, depth: usize) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                self.unreadable.insert(prefix.to_owned(), error.into());
                return;
            }
        };
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

#[cfg(test)]
mod tests {
    use notify_debouncer_full::notify::event::{
        AccessKind, AccessMode, CreateKind, EventKind, Flag, ModifyKind, RemoveKind,
    };

    use super::*;

    #[test]
    fn reading_a_file_is_not_a_change() {
        let check = |kind: EventKind, path: &str, expected: bool| {
            let event = Event::new(kind).add_path(path.into());
            assert_eq!(is_change(&event), expected, "{event:?}");
        };
        for mode in [AccessMode::Any, AccessMode::Read, AccessMode::Write, AccessMode::Execute] {
            check(EventKind::Access(AccessKind::Open(mode)), "a.prompt", false);
            check(EventKind::Access(AccessKind::Close(mode)), "a.prompt", false);
        }
        check(EventKind::Access(AccessKind::Read), "a.prompt", false);
        for kind in [
            EventKind::Create(CreateKind::File),
            EventKind::Modify(ModifyKind::Any),
            EventKind::Remove(RemoveKind::File),
        ] {
            check(kind, "a.prompt", true);
            check(kind, "folder", true);
            check(kind, "a.prompt.swp", false);
        }
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert!(is_change(&lost));
    }

    #[test]
    fn prompts_are_loaded_again_only_if_a_file_says_something_else() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("a.prompt", "one");
        write("_p.prompt", "part");
        let ai = Oxikit::builder().build();
        let source = Source { directory: directory.path().to_owned(), loaded: Mutex::default() };
        let reload = || source.reload(ai.registry(), &ai.library()).is_some();
        assert!(reload());
        assert!(!reload(), "nothing has happened");
        write("a.prompt", "one");
        write("notes.txt", "of no interest");
        assert!(!reload(), "written again with the same text");
        write("a.prompt", "two");
        assert!(reload());
        write("_p.prompt", "another part");
        assert!(reload());
        write("b.prompt", "new");
        assert!(reload());
        fs::write(directory.path().join("b.prompt"), [0xff, 0xfe]).unwrap();
        assert!(reload(), "it cannot be read any more");
        assert!(!reload(), "it still cannot be read");
        fs::remove_file(directory.path().join("b.prompt")).unwrap();
        assert!(reload());
    }
}
