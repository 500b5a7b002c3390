//! Runtimes that have left a file: found, looked after, and forgotten.
//!
//! A cloned repository may bring such a file along, so a file counts only if it is
//! ours, of a living process, and names an address of this machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use oxikit_wire::rpc::{ErrorData, REFLECTION_API_SPEC_VERSION, RuntimeFile};
use reqwest::Client;
use tokio::time::Instant;

use super::{RuntimeInfo, Runtimes, process};
use crate::local_url::is_runtime_url;
use crate::manager::http::{Health, HttpPeer, client};
use crate::manager::incoming::object;
use crate::manager::target::Target;
use crate::private_file::is_ours;
use crate::untrusted_file::{MAX_SMALL, open, text_of};

/// What the names of files begin with that stand for runtimes which are connected
/// already: they are for others.
pub(crate) const STAND_IN: &str = "oxikit-";
/// No folder has more of them than are looked at.
const MAX_FILES: usize = 256;

/// What is known of the files.
struct Discovery {
    runtimes: Runtimes,
    folder: PathBuf,
    client: Client,
    known: HashMap<PathBuf, Known>,
}

/// A file, as it was read.
struct Known {
    changed: Option<SystemTime>,
    /// The runtime, if the file counts.
    peer: Option<(RuntimeFile, Arc<HttpPeer>)>,
    next_health: Instant,
}

impl Runtimes {
    /// Looks for runtimes that have left a file below `<root>/.genkit/runtimes`,
    /// until the end of the manager.
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
                discovery.look().await;
                tokio::select! {
                    () = tokio::time::sleep(discovery.runtimes.options().poll) => {}
                    () = &mut closing => break,
                }
            }
            for (path, known) in &discovery.known {
                discovery.runtimes.unlist(known);
                // Not every runtime removes its file when it is told to end.
                if known.peer.as_ref().is_some_and(|(file, _)| !process::is_alive(file.pid)) {
                    _ = tokio::fs::remove_file(path).await;
                }
            }
        });
        Ok(())
    }

    /// A runtime is not to be asked any more.
    fn unlist(&self, known: &Known) {
        let Some((file, peer)) = &known.peer else { return };
        let mut state = self.state();
        let is_same = state.entries.get(&file.id).is_some_and(
            |entry| matches!(&entry.target, Target::Http(own) if Arc::ptr_eq(own, peer)),
        );
        if is_same {
            state.entries.remove(&file.id);
            self.publish(state);
        }
        peer.leave();
    }

    /// Lists a runtime and tells it where spans go; not if its id is in use, by
    /// itself or by another one.
    fn enlist(&self, file: &RuntimeFile, peer: &Arc<HttpPeer>) {
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
    /// One look at the folder.
    async fn look(&mut self) {
        let folder = self.folder.clone();
        let files =
            tokio::task::spawn_blocking(move || files_of(&folder)).await.unwrap_or_default();
        let (runtimes, known) = (&self.runtimes, &mut self.known);
        known.retain(|path, known| {
            let is_there =
                files.iter().any(|(file, changed)| file == path && *changed == known.changed);
            if !is_there {
                runtimes.unlist(known);
            }
            is_there
        });
        for (path, changed) in files {
            if !self.known.contains_key(&path) {
                let known = self.read(&path, changed);
                self.known.insert(path, known);
            }
        }
        self.look_after().await;
    }

    fn read(&self, path: &Path, changed: Option<SystemTime>) -> Known {
        let peer = match read_file(path) {
            Ok(file) => {
                let (options, tasks) = (self.runtimes.options().clone(), self.runtimes.tasks());
                let peer = HttpPeer::new(&file, self.client.clone(), options, tasks);
                Some((file, peer))
            }
            Err(reason) => {
                tracing::warn!(file = %path.display(), reason, "this runtime file does not count");
                None
            }
        };
        Known { changed, peer, next_health: Instant::now() }
    }

    /// Asks those whose time has come whether they are well. A file whose process
    /// is gone is removed; one that is only unwell may recover.
    async fn look_after(&mut self) {
        let now = Instant::now();
        for (path, known) in &mut self.known {
            let Some((file, peer)) = known.peer.clone() else { continue };
            if !process::is_alive(file.pid) {
                self.runtimes.unlist(known);
                known.peer = None;
                _ = tokio::fs::remove_file(path).await;
                continue;
            }
            if now < known.next_health {
                continue;
            }
            known.next_health = now + self.runtimes.options().health;
            match peer.health().await {
                Health::Well => self.runtimes.enlist(&file, &peer),
                Health::Unwell => {
                    self.runtimes.unlist(known);
                    // Its runs were ended; if it comes back it is another one.
                    let (options, tasks) = (self.runtimes.options().clone(), self.runtimes.tasks());
                    let peer = HttpPeer::new(&file, self.client.clone(), options, tasks);
                    known.peer = Some((file, peer));
                }
            }
        }
    }
}

/// The files of a folder and when they were changed. A folder that is not there is
/// empty.
fn files_of(folder: &Path) -> Vec<(PathBuf, Option<SystemTime>)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let path = entry.path();
        let metadata = entry.metadata().ok()?;
        let is_meant = metadata.is_file() && path.extension().is_some_and(|ext| ext == "json");
        let is_stand_in = entry.file_name().as_encoded_bytes().starts_with(STAND_IN.as_bytes());
        (is_meant && !is_stand_in).then(|| (path, metadata.modified().ok()))
    });
    files.take(MAX_FILES).collect()
}

/// Reads a file, if it counts.
fn read_file(path: &Path) -> Result<RuntimeFile, &'static str> {
    let (file, metadata) = open(path).map_err(|_| "it cannot be read")?;
    if !is_ours(&metadata) {
        return Err("it belongs to somebody else");
    }
    let text = text_of(file, MAX_SMALL).map_err(|_| "it cannot be read, or is too large")?;
    let file: RuntimeFile = object(&text).map_err(|_| "it is not the file of a runtime")?;
    if file.reflection_api_spec_version.unwrap_or(1) > REFLECTION_API_SPEC_VERSION {
        return Err("its version of the protocol is not known here");
    }
    if !is_runtime_url(&file.reflection_server_url) {
        return Err("its URL is not that of a runtime on this machine");
    }
    if file.id.is_empty() || file.id.len() > 256 {
        return Err("its id is too long or missing");
    }
    Ok(file)
}

/// A URL without its path, which may hold a secret.
fn origin_of(url: &str) -> String {
    reqwest::Url::parse(url)
        .map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
}
