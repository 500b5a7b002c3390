//! Prompts in a directory, loaded again when a file changes.
//!
//! A thread compares the times and sizes of the files at intervals. `files` reads them, and
//! `library` compiles the prompts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use oxikit_core::{Registry, Result, Status, StatusCode, WeakRegistry, notice};

use super::files::{Files, Stamps};
use super::library::Library;
use super::loaded::{LoadedPrompts, lacks_definition, unread_keys};
use super::texts::{Owner, SourceText, Texts};
use crate::Oxikit;

/// Shortest interval between two checks of the times and sizes of the files.
const LOOK: Duration = Duration::from_millis(250);
/// Longest interval between two checks, for very many files or a busy machine.
const MAX_LOOK: Duration = Duration::from_secs(2);
/// Time without a change after which files are read: editors write a file in several steps.
const SETTLE: Duration = Duration::from_millis(50);
/// Maximum number of waits of [`SETTLE`]. After them the files are read although they change.
const MAX_SETTLES: u32 = 20;
/// The interval is this many times as long as a check takes, so that checks use at most half a
/// percent of the time, but never longer than [`MAX_LOOK`].
const LOOK_SHARE: u32 = 200;

/// Loads the directory and watches it. Broken files are logged.
pub(super) fn load(ai: &Oxikit, directory: &Path) -> Result<LoadedPrompts> {
    let source = Arc::new(Source::open(directory, &ai.library())?);
    // The stamps are taken before the files are read: a file that changes in between is
    // read again.
    let stamps = Stamps::of(&source.directory);
    let loaded = source.load(ai.registry(), &ai.library(), source.read());
    source.log_broken(&loaded.broken);
    source.watch_or_warn(stamps, ai.registry());
    Ok(loaded)
}

/// Loads the directory and watches it, if no file is broken.
pub(super) fn load_correct(ai: &Oxikit, directory: &Path) -> Result<()> {
    let source = Arc::new(Source::open(directory, &ai.library())?);
    let stamps = Stamps::of(&source.directory);
    let loaded = source.load(ai.registry(), &ai.library(), source.read());
    source.check(&loaded.broken)?;
    source.log_broken(&loaded.broken);
    source.watch_or_warn(stamps, ai.registry());
    Ok(())
}

struct Source {
    directory: PathBuf,
    owner: Owner,
    /// The files that the prompts were made from.
    loaded: Mutex<Files>,
}

impl Source {
    fn open(directory: &Path, library: &Library) -> Result<Self> {
        let directory = directory.canonicalize().map_err(|error| {
            // A relative path is looked for where the program runs, which may be elsewhere
            // than expected.
            let full = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
            Status::invalid_argument(format!("the prompt directory cannot be read: {error}"))
                .with_hint(format!("it was looked for at {}", full.display()))
        })?;
        Ok(Self { directory, owner: library.new_owner(), loaded: Mutex::default() })
    }

    fn read(&self) -> Files {
        Files::read(&self.directory)
    }

    /// Loads the files again, unless all of them are as they were before. `None`
    /// if nothing changed.
    fn reload(&self, registry: &Registry, library: &Library) -> Option<LoadedPrompts> {
        let files = self.read();
        let is_same = self.loaded().is_same(&files);
        (!is_same).then(|| self.load(registry, library, files))
    }

    fn load(&self, registry: &Registry, library: &Library, files: Files) -> LoadedPrompts {
        let previous = std::mem::replace(&mut *self.loaded(), files.clone());
        let mut warnings = self.duplicates(library, &previous, &files);
        for duplicate in &warnings {
            registry.report_duplicate(duplicate.clone());
        }
        let unread = self.unread_keys(&previous, &files);
        unread.iter().for_each(notice::warning);
        warnings.extend(unread);
        let names: Vec<_> = files.prompts.keys().cloned().collect();
        let texts = Texts { prompts: plain(files.prompts), partials: plain(files.partials) };
        let mut broken = library.replace(registry, self.owner, texts);
        broken.extend(files.unreadable);
        LoadedPrompts::new(names, broken, warnings)
    }

    /// Names the new files whose prompt is defined elsewhere already.
    fn duplicates(&self, library: &Library, previous: &Files, files: &Files) -> Vec<String> {
        let names = files.prompts.keys();
        let new = names.filter(|name| !previous.prompts.contains_key(*name) && library.has(name));
        new.map(|name| {
            let path = self.path(name);
            format!(
                "two definitions of the prompt `{name}`: {path} replaces the earlier one; give one of them another name"
            )
        })
        .collect()
    }

    /// Names the keys that nothing reads, in files that are new or were changed.
    fn unread_keys(&self, previous: &Files, files: &Files) -> Vec<String> {
        let mut warnings = Vec::new();
        for (name, text) in &files.prompts {
            if previous.prompts.get(name) == Some(text) {
                continue;
            }
            warnings.extend(unread_keys(&self.path(name), text));
        }
        warnings
    }

    /// Fails if a file is broken in a way that a later definition cannot mend.
    fn check(&self, broken: &BTreeMap<String, Status>) -> Result<()> {
        let files: Vec<_> = broken
            .iter()
            .filter(|(_, status)| !lacks_definition(status))
            .map(|(name, status)| format!("{} is broken: {}", self.path(name), status.message()))
            .collect();
        if files.is_empty() {
            return Ok(());
        }
        // The text of a prompt is the application's own, so this status is not public.
        Err(Status::new(StatusCode::InvalidArgument, files.join("; ")))
    }

    /// Logs what is wrong with the files.
    fn log_broken(&self, broken: &BTreeMap<String, Status>) {
        for (name, status) in broken {
            let path = self.path(name);
            if lacks_definition(status) {
                tracing::warn!(%path, %status, "prompt file cannot be used yet");
            } else {
                notice::error(format_args!("{path} is broken: {}", status.message()));
            }
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

    fn watch_or_warn(self: Arc<Self>, stamps: Stamps, registry: &Registry) {
        if let Err(error) = self.watch(stamps, registry.downgrade()) {
            tracing::warn!(%error, "prompt files are not watched; changes need a restart");
        }
    }

    /// Loads the files again when they have changed, as long as the application lives.
    ///
    /// The files are checked at intervals. Notifications of the operating system would also
    /// report every file that is only opened: a search through the directory would keep the
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
            let previous = std::mem::replace(&mut stamps, Stamps::of(&self.directory));
            if previous == stamps {
                break;
            }
        }
        stamps
    }

    fn load_again(&self, registry: &Registry) {
        if let Some(state) = self.reload(registry, &registry.state::<Library>()) {
            self.log_broken(&state.broken);
            let (loaded, broken) = (state.loaded.len(), state.broken.len());
            tracing::info!(loaded, broken, "prompts loaded again");
        }
    }
}

fn plain(files: BTreeMap<String, Arc<str>>) -> BTreeMap<String, SourceText> {
    files.into_iter().map(|(name, text)| (name, text.into())).collect()
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
        let ai = Oxikit::builder().build().unwrap();
        let source = Source::open(directory.path(), &ai.library()).unwrap();
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
