//! Prompts in a directory, loaded again when a file changes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use oxikit_core::{Registry, Result, Status, WeakRegistry, notice};
use oxikit_dotprompt::{Prompt, UnknownKey};

use super::files::{Files, Stamps};
use super::library::Library;
use crate::{Oxikit, lookup};

/// Between two looks at the times and sizes of the files; at most [`MAX_LOOK`].
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks at very many files, or on a busy machine.
const MAX_LOOK: Duration = Duration::from_secs(2);
/// Editors write a file in several steps. It is read when it has not changed for this time.
const SETTLE: Duration = Duration::from_millis(50);
/// A file that changes all the time is read after this many waits.
const MAX_SETTLES: u32 = 20;
/// Looks take at most one part in this many of the time, up to [`MAX_LOOK`].
const LOOK_SHARE: u32 = 200;

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
        let stamps = Stamps::of(&source.directory);
        let loaded = source.load(ai.registry(), &ai.library(), source.read());
        if let Err(error) = source.watch(stamps, ai.registry().downgrade()) {
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
        Files::read(&self.directory)
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

    /// Loads the files again when they have changed, as long as the application lives.
    ///
    /// The files are looked at now and then. The operating system would tell of changes, but
    /// also of every file that is only opened: a search through the directory would keep the
    /// application busy.
    fn watch(self: Arc<Self>, mut stamps: Stamps, registry: WeakRegistry) -> io::Result<()> {
        let work = move || {
            let mut pause = LOOK;
            loop {
                thread::sleep(pause);
                let began = Instant::now();
                let now = Stamps::of(&self.directory);
                pause = (began.elapsed() * LOOK_SHARE).clamp(LOOK, MAX_LOOK);
                // Not held while it sleeps: this thread must not keep the application alive.
                let Some(registry) = registry.upgrade() else { return };
                if now != stamps {
                    stamps = self.settled(now);
                    self.load_again(&registry);
                }
            }
        };
        thread::Builder::new().name("oxikit-prompts".to_owned()).spawn(work).map(drop)
    }

    /// The times and sizes, once they stay as they are.
    fn settled(&self, mut stamps: Stamps) -> Stamps {
        for _ in 0..MAX_SETTLES {
            thread::sleep(SETTLE);
            let former = std::mem::replace(&mut stamps, Stamps::of(&self.directory));
            if former == stamps {
                break;
            }
        }
        stamps
    }

    fn load_again(&self, registry: &Registry) {
        if let Some(state) = self.reload(registry, &registry.state::<Library>()) {
            let (loaded, broken) = (state.loaded.len(), state.broken.len());
            tracing::info!(loaded, broken, "prompts loaded again");
        }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
