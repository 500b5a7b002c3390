//! Writes the files by which the official commands find runtimes, one per runtime that is connected by
//! WebSocket, below `.genkit/runtimes`. Discovery ignores them by the prefix of their names.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit_wire::rpc::{REFLECTION_API_SPEC_VERSION, RuntimeFile};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio_util::sync::CancellationToken;

use crate::files::{make_dirs, write_private};
use oxikit_manager::{CONNECTED_FILE_PREFIX, RuntimeInfo, Runtimes, is_alive};

/// Keeps one file for each runtime that has connected by WebSocket, until `closing` is cancelled.
/// `api` is the URL of the API, with its token.
pub(crate) async fn keep_files(
    root: &Path,
    api: &str,
    runtimes: Runtimes,
    closing: CancellationToken,
) {
    let mut files = Files::new(root, api);
    let mut changes = runtimes.watch();
    changes.mark_changed();
    loop {
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { break },
            () = closing.cancelled() => break,
        }
        // Files are written on a blocking thread. Changes that arrive meanwhile are combined: the
        // next round sees the newest list only.
        let list = changes.borrow_and_update().clone();
        let work = tokio::task::spawn_blocking(move || {
            files.show(&list);
            files
        });
        match work.await {
            Ok(kept) => files = kept,
            Err(_) => break,
        }
    }
}

/// The files of one server. They are removed when this is dropped.
struct Files {
    folder: PathBuf,
    api: String,
    /// The files by id and time of registration of their runtimes.
    shown: HashMap<(String, String), PathBuf>,
    written: u64,
}

impl Files {
    fn new(root: &Path, api: &str) -> Self {
        let folder = root.join(".genkit").join("runtimes");
        remove_stale(&folder);
        Self { folder, api: api.to_owned(), shown: HashMap::new(), written: 0 }
    }

    /// Writes and removes files so that they match this list.
    fn show(&mut self, list: &Arc<[RuntimeInfo]>) {
        self.shown.retain(|key, path| {
            let is_there = list.iter().any(|info| key_of(info) == *key);
            if !is_there {
                remove(path);
            }
            is_there
        });
        for info in list.iter().filter(|info| is_connected(info)) {
            if self.shown.contains_key(&key_of(info)) {
                continue;
            }
            self.written += 1;
            let name =
                format!("{CONNECTED_FILE_PREFIX}{}-{}.json", std::process::id(), self.written);
            let path = self.folder.join(name);
            match self.write(&path, info) {
                Ok(()) => _ = self.shown.insert(key_of(info), path),
                Err(error) => {
                    tracing::warn!(%error, "the file of a runtime could not be written; the official commands do not find it");
                }
            }
        }
    }

    fn write(&self, path: &Path, info: &RuntimeInfo) -> io::Result<()> {
        make_dirs(&self.folder)?;
        let id = utf8_percent_encode(&info.id, NON_ALPHANUMERIC);
        let file = RuntimeFile {
            id: info.id.clone(),
            pid: info.pid,
            name: info.name.clone(),
            reflection_server_url: format!("{}/reflection/{id}", self.api),
            timestamp: info.timestamp.clone(),
            genkit_version: info.genkit_version.clone(),
            reflection_api_spec_version: Some(REFLECTION_API_SPEC_VERSION),
        };
        write_private(path, &serde_json::to_vec_pretty(&file)?)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.shown.values().for_each(|path| remove(path));
    }
}

/// The key of a file. It contains the time, so that a runtime that reconnects gets a new file: the
/// official tools use the newest one.
fn key_of(info: &RuntimeInfo) -> (String, String) {
    (info.id.clone(), info.timestamp.clone())
}

/// Whether a runtime has connected by WebSocket. Other runtimes write their files themselves.
fn is_connected(info: &RuntimeInfo) -> bool {
    info.reflection_server_url.starts_with("ws:")
}

/// Removes the files of servers that were killed.
fn remove_stale(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let pid = name.strip_prefix(CONNECTED_FILE_PREFIX).and_then(|rest| rest.split('-').next());
        let pid = pid.and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !is_alive(pid)) {
            remove(&path);
        }
    }
}

fn remove(path: &Path) {
    // A missing file is not an error: the official tools remove files, too.
    _ = std::fs::remove_file(path);
}
