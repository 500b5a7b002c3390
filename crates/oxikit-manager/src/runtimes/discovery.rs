//! Discovery of V1 runtimes by their files below `.genkit/runtimes`.
//!
//! A task scans the folder, checks the health of each runtime, and adds or removes it. A cloned
//! repository may contain such a file, so a file is accepted only if this user owns it, its
//! process is alive, and its URL leads to this machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use oxikit_wire::rpc::{ErrorData, REFLECTION_API_SPEC_VERSION, RuntimeFile};
use reqwest::Client;
use tokio::time::Instant;

use super::{RuntimeInfo, Runtimes, process};
use crate::http::{Health, HttpPeer, client};
use crate::incoming::object;
use crate::target::Target;
use oxikit_local::local_url::is_runtime_url;
use oxikit_local::private_file::is_ours;
use oxikit_local::untrusted_file::{MAX_SMALL, open, text_of};

/// Prefix of the names of runtime files that the developer tools write for runtimes that are
/// connected already, so that official tools find them too. Discovery ignores these files.
pub const CONNECTED_FILE_PREFIX: &str = "oxikit-";
/// Maximum number of files that are examined per scan. Further ones are ignored.
const MAX_FILES: usize = 256;

/// The state of the discovery task.
struct Discovery {
    runtimes: Runtimes,
    folder: PathBuf,
    client: Client,
    known: HashMap<PathBuf, KnownFile>,
}

/// A file that was read.
struct KnownFile {
    changed: Option<SystemTime>,
    /// The runtime; `None` if the file was rejected or its process has ended.
    peer: Option<(RuntimeFile, Arc<HttpPeer>)>,
    next_health: Instant,
}

impl Runtimes {
    /// Starts a task that finds runtimes by their files below `<root>/.genkit/runtimes`, until
    /// [`shutdown`](Self::shutdown).
    ///
    /// A missing folder is not an error: the task waits for it. Files that are rejected are logged
    /// once and ignored until they change. The file of a process that has ended is deleted.
    ///
    /// ```no_run
    /// use std::path::Path;
    ///
    /// use oxikit_manager::{ManagerOptions, Runtimes};
    ///
    /// # #[tokio::main] async fn main() -> Result<(), oxikit_wire::rpc::ErrorData> {
    /// let runtimes = Runtimes::new(ManagerOptions::default());
    /// runtimes.discover(Path::new("."))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the HTTP client cannot be set up.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime, because the task is spawned.
    pub fn discover(&self, root: &Path) -> Result<(), ErrorData> {
        let mut discovery = Discovery {
            runtimes: self.clone(),
            folder: root.join(".genkit").join("runtimes"),
            client: client()?,
            known: HashMap::new(),
        };
        let closing = self.closing();
        self.spawn(async move {
            tokio::pin!(closing);
            loop {
                discovery.scan().await;
                tokio::select! {
                    () = tokio::time::sleep(discovery.runtimes.options().poll_interval) => {}
                    () = &mut closing => break,
                }
            }
            for (path, known) in &discovery.known {
                discovery.runtimes.remove_found(known);
                // Not every runtime removes its file when it exits.
                if known.peer.as_ref().is_some_and(|(file, _)| !process::is_alive(file.pid)) {
                    _ = tokio::fs::remove_file(path).await;
                }
            }
        });
        Ok(())
    }

    /// Removes a runtime and ends its runs.
    fn remove_found(&self, known: &KnownFile) {
        let Some((file, peer)) = &known.peer else { return };
        let mut state = self.state();
        let is_same = state.entries.get(&file.id).is_some_and(
            |entry| matches!(&entry.target, Target::Http(own) if Arc::ptr_eq(own, peer)),
        );
        if is_same {
            state.entries.remove(&file.id);
            self.publish(state);
        }
        peer.end_runs();
    }

    /// Adds a healthy runtime and sends it the settings. Does nothing if its id is in use, by
    /// itself or by another runtime.
    fn add_found(&self, file: &RuntimeFile, peer: &Arc<HttpPeer>) {
        let state = self.state();
        if state.entries.contains_key(&file.id) {
            return;
        }
        let configuration = state.configuration();
        let info = RuntimeInfo {
            id: file.id.clone(),
            pid: file.pid,
            name: file.name.clone(),
            genkit_version: file.genkit_version.clone(),
            reflection_api_spec_version: file.reflection_api_spec_version,
            reflection_server_url: origin_of(&file.reflection_server_url),
            timestamp: file.timestamp.clone(),
            project_name: self.options().project_name.clone(),
            envs: None,
            is_silent: false,
        };
        tracing::info!(runtime_id = %file.id, pid = file.pid, "runtime found");
        self.add(state, info, Target::Http(peer.clone()));
        peer.notify_later(configuration);
    }
}

impl Discovery {
    /// Scans the folder once.
    async fn scan(&mut self) {
        let folder = self.folder.clone();
        let files =
            tokio::task::spawn_blocking(move || files_of(&folder)).await.unwrap_or_default();
        let (runtimes, known) = (&self.runtimes, &mut self.known);
        // A file that was changed counts as removed and is read again below.
        known.retain(|path, known| {
            let is_there =
                files.iter().any(|(file, changed)| file == path && *changed == known.changed);
            if !is_there {
                runtimes.remove_found(known);
            }
            is_there
        });
        for (path, changed) in files {
            if !self.known.contains_key(&path) {
                let known = self.read(&path, changed);
                self.known.insert(path, known);
            }
        }
        self.check_health().await;
    }

    /// Reads a new or changed file. A rejected file is remembered without a peer, so that the
    /// reason is logged once.
    fn read(&self, path: &Path, changed: Option<SystemTime>) -> KnownFile {
        let peer = match read_file(path) {
            Ok(file) => {
                let (options, tasks) = (self.runtimes.options().clone(), self.runtimes.tasks());
                let peer = HttpPeer::new(&file, self.client.clone(), options, tasks);
                Some((file, peer))
            }
            Err(reason) => {
                tracing::warn!(file = %path.display(), reason, "ignored a runtime file");
                None
            }
        };
        KnownFile { changed, peer, next_health: Instant::now() }
    }

    /// Checks the health of the runtimes that are due. The file of a process that has ended is
    /// deleted; a runtime that only fails its health check may recover.
    async fn check_health(&mut self) {
        let now = Instant::now();
        for (path, known) in &mut self.known {
            let Some((file, peer)) = known.peer.clone() else { continue };
            if !process::is_alive(file.pid) {
                self.runtimes.remove_found(known);
                known.peer = None;
                _ = tokio::fs::remove_file(path).await;
                continue;
            }
            if now < known.next_health {
                continue;
            }
            known.next_health = now + self.runtimes.options().health_interval;
            match peer.health().await {
                Health::Healthy => self.runtimes.add_found(&file, &peer),
                Health::Unhealthy => {
                    self.runtimes.remove_found(known);
                    // Its runs were ended, so a runtime that recovers needs a new peer.
                    let (options, tasks) = (self.runtimes.options().clone(), self.runtimes.tasks());
                    let peer = HttpPeer::new(&file, self.client.clone(), options, tasks);
                    known.peer = Some((file, peer));
                }
            }
        }
    }
}

/// The runtime files of a folder, with their modification times. A missing folder is empty.
fn files_of(folder: &Path) -> Vec<(PathBuf, Option<SystemTime>)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let path = entry.path();
        let metadata = entry.metadata().ok()?;
        let is_selected = metadata.is_file() && path.extension().is_some_and(|ext| ext == "json");
        let is_of_connected =
            entry.file_name().as_encoded_bytes().starts_with(CONNECTED_FILE_PREFIX.as_bytes());
        (is_selected && !is_of_connected).then(|| (path, metadata.modified().ok()))
    });
    files.take(MAX_FILES).collect()
}

/// Reads and checks a runtime file. The error says why it was rejected.
fn read_file(path: &Path) -> Result<RuntimeFile, &'static str> {
    // Ownership is checked on the open file, so the file cannot be replaced in between.
    let (file, metadata) = open(path).map_err(|_| "it cannot be read")?;
    if !is_ours(&metadata) {
        return Err("it belongs to another user");
    }
    let text = text_of(file, MAX_SMALL).map_err(|_| "it cannot be read, or is too large")?;
    let file: RuntimeFile = object(&text).map_err(|_| "it is not the file of a runtime")?;
    if file.reflection_api_spec_version.unwrap_or(1) > REFLECTION_API_SPEC_VERSION {
        return Err("its protocol version is not supported");
    }
    if !is_runtime_url(&file.reflection_server_url) {
        return Err("its URL is not that of a runtime on this machine");
    }
    if file.id.is_empty() || file.id.len() > 256 {
        return Err("its id is too long or missing");
    }
    Ok(file)
}

/// A URL without its path, which may contain the token.
fn origin_of(url: &str) -> String {
    reqwest::Url::parse(url)
        .map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
}
