//! Watches the files of all directories for changes by other programs, and the store for changes by
//! other processes.
//!
//! The files are compared at intervals by their sizes and times: notifications of the operating
//! system also report files that are only read, and do not work on network file systems. What has
//! changed is told to the tasks of the documents, which compare texts.

mod initial;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use oxikit_core::ports::all_revisions_topic;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval, sleep};

use crate::directories::Directory;
use crate::error::PromptsError;
use crate::files::{Stamp, Walk, blocking};
use crate::state::State;
use crate::task::{Input, MovePlan, Tasks};

/// Longest interval between two checks of the files, for very many of them or a busy machine.
const MAX_INTERVAL: Duration = Duration::from_secs(2);
/// The interval is this many times as long as a check takes, but never longer than
/// [`MAX_INTERVAL`].
const INTERVAL_SHARE: u32 = 200;
/// Shortest interval between two readings of the list of documents of a shared store.
const STORE_INTERVAL: Duration = Duration::from_millis(250);
/// Longest interval between them: a lost notification delays a change by this time at most.
const MAX_STORE_INTERVAL: Duration = Duration::from_secs(2);
/// Number of documents that are compared at the same time.
const PARALLEL: usize = 64;

/// A request to read the files now.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The key of a directory; `None` for all.
    pub(crate) directory: Option<Arc<str>>,
    pub(crate) done: oneshot::Sender<Result<(), PromptsError>>,
}

/// Compares files with the documents.
#[derive(Debug)]
pub(crate) struct Watcher {
    tasks: Arc<Tasks>,
    state: Arc<State>,
    /// What is known about the enabled directories, by key.
    known: HashMap<Arc<str>, Known>,
}

/// The files of a directory at the last check.
#[derive(Debug, Default)]
struct Known {
    /// Whether its documents were read for the first time.
    is_loaded: bool,
    stamps: BTreeMap<String, Stamp>,
    /// Files that were missing at the last check. If they are still missing, they were removed.
    missing: BTreeSet<String>,
    problems: BTreeMap<String, String>,
}

impl Watcher {
    pub(crate) fn new(tasks: Arc<Tasks>) -> Self {
        Self { state: tasks.state.clone(), tasks, known: HashMap::new() }
    }

    /// Checks the files at intervals and when it is asked to.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<Scan>) {
        let stop = self.state.stop.clone();
        let mut pause = self.state.options.watch_interval;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                request = requests.recv() => {
                    let Some(Scan { directory, done }) = request else { return };
                    let scanned = self.scan(directory.as_deref()).await;
                    // The caller may have left.
                    _ = done.send(scanned);
                }
                () = sleep(pause) => {
                    let began = Instant::now();
                    if let Err(error) = self.scan(None).await {
                        tracing::warn!(%error, "prompt files not compared");
                    }
                    let shortest = self.state.options.watch_interval;
                    let longest = MAX_INTERVAL.max(shortest);
                    pause = (began.elapsed() * INTERVAL_SHARE).clamp(shortest, longest);
                }
            }
        }
    }

    /// Compares the files of all enabled directories, or of one.
    pub(crate) async fn scan(&mut self, only: Option<&str>) -> Result<(), PromptsError> {
        let registry = self.state.registry();
        self.known.retain(|key, _| registry.enabled().any(|directory| directory.key == *key));
        for directory in registry.enabled() {
            if only.is_none_or(|only| *directory.key == *only) {
                self.scan_directory(directory).await?;
            }
        }
        Ok(())
    }

    async fn scan_directory(&mut self, directory: &Directory) -> Result<(), PromptsError> {
        let root = directory.root();
        let walk = blocking(move || Ok(root.walk())).await;
        let walk = walk.map_err(|error| PromptsError::File(error.to_string()))?;
        let known = self.known.entry(directory.key.clone()).or_default();
        known.publish_problems(&self.state, directory, &walk.problems);
        if walk.is_unreadable() {
            // Nothing is known about the files. The documents stay as they are.
            return Ok(());
        }
        if !known.is_loaded {
            let rest = initial::load(&self.state, directory, walk.files.keys().cloned().collect());
            let rest = rest.await?;
            (known.stamps, known.is_loaded) = (walk.files, true);
            return check_all(&self.tasks, directory, rest).await;
        }
        let (mut changed, removed) = known.compare(walk);
        changed.extend(self.state.index().broken_in(directory));
        for path in removed {
            let key = format!("{}/{path}", directory.key);
            // A library that is closing needs no removals.
            _ = self.tasks.send(&key, Input::FileRemoved).await;
            // The answer to the check comes after the removal.
            changed.push(path);
        }
        let checked = check_all(&self.tasks, directory, changed.clone()).await;
        if checked.is_err() {
            // The next scan compares them again.
            known.stamps.retain(|path, _| !changed.contains(path));
        }
        checked
    }
}

impl Known {
    /// The paths of files that are new or have changed, and of those that were removed.
    fn compare(&mut self, walk: Walk) -> (Vec<String>, Vec<String>) {
        let is_changed = |(path, stamp): &(&String, &Stamp)| self.stamps.get(*path) != Some(stamp);
        let changed = walk.files.iter().filter(is_changed).map(|(path, _)| path.clone());
        let mut changed: Vec<_> = changed.collect();
        let gone = self.stamps.keys().filter(|path| !walk.files.contains_key(*path));
        let gone: BTreeSet<_> = gone.cloned().collect();
        let missing = std::mem::replace(&mut self.missing, gone);
        let is_removed = |path: &&String| !walk.files.contains_key(*path);
        let removed = missing.iter().filter(is_removed).cloned().collect();
        // A file may be missing for a moment only, while a program writes it again.
        changed.extend(self.missing.iter().cloned());
        self.stamps = walk.files;
        (changed, removed)
    }

    fn publish_problems(
        &mut self,
        state: &State,
        directory: &Directory,
        problems: &BTreeMap<String, String>,
    ) {
        if self.problems == *problems {
            return;
        }
        let key = |path: &str| match path {
            "" => directory.key.to_string(),
            path => format!("{}/{path}", directory.key),
        };
        state.change_index(|index| {
            for path in self.problems.keys().filter(|path| !problems.contains_key(*path)) {
                index.set_problem(&key(path), None);
            }
            for (path, message) in problems {
                index.set_problem(&key(path), Some(message.clone()));
            }
        });
        for (path, problem) in
            problems.iter().filter(|(path, _)| !self.problems.contains_key(*path))
        {
            tracing::warn!(directory = %directory.name, path, problem, "prompt file cannot be used");
        }
        self.problems.clone_from(problems);
    }
}

/// Lets the tasks of documents compare them with their files. The first error of the store is
/// returned; documents that cannot be read are named as problems by their tasks.
async fn check_all(
    tasks: &Arc<Tasks>,
    directory: &Directory,
    paths: Vec<String>,
) -> Result<(), PromptsError> {
    let checks = stream::iter(paths).map(|path| async move {
        match tasks.check(&format!("{}/{path}", directory.key)).await {
            Err(error @ PromptsError::Store(_)) => Err(error),
            _ => Ok(()),
        }
    });
    let results: Vec<_> = checks.buffer_unordered(PARALLEL).collect().await;
    results.into_iter().collect()
}

/// Tells the tasks of documents about changes that other processes have stored.
pub(crate) async fn watch_store(tasks: Arc<Tasks>) {
    let state = tasks.state.clone();
    let mut subscription = state.store.notifier().subscribe(all_revisions_topic());
    let mut longest = interval(MAX_STORE_INTERVAL);
    loop {
        tokio::select! {
            () = state.stop.cancelled() => return,
            _ = subscription.next() => {}
            _ = longest.tick() => {}
        }
        if let Err(error) = check_store(&tasks).await {
            tracing::warn!(%error, "shared history of prompts not read");
        }
        tokio::select! {
            () = state.stop.cancelled() => return,
            () = sleep(STORE_INTERVAL) => {}
        }
    }
}

/// Compares the documents of the store with the index, and lets tasks take over the differences.
pub(crate) async fn check_store(tasks: &Arc<Tasks>) -> Result<(), PromptsError> {
    let state = &tasks.state;
    let heads = state.store.documents().await?;
    let (index, registry) = (state.index(), state.registry());
    let is_served =
        |key: &str| registry.split_key(key).is_some_and(|(directory, _)| directory.enabled);
    for head in heads {
        let key = &head.document;
        let is_document = crate::document::is_document(key) && is_served(key);
        if !is_document || index.rev(key) == Some(head.current.number) {
            continue;
        }
        if index.rev(key).is_none() {
            // The task of a renamed document goes with it. A task of the new name would not have
            // its members.
            let previous = MovePlan::previous_key(state, key).await?;
            if let Some(previous) = previous.filter(|key| index.document(key).is_some()) {
                _ = tasks.check(&previous).await;
            }
        }
        if let Err(error @ PromptsError::Store(_)) = tasks.check(key).await {
            return Err(error);
        }
    }
    Ok(())
}
