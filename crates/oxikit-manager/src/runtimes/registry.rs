//! The table of runtimes: which connection has which runtime id, and what happens when a
//! connection ends.
//!
//! A runtime id has at most one connection. When the connection ends, the entry stays for
//! [`ManagerOptions::reconnect_grace`](crate::ManagerOptions::reconnect_grace): the same process
//! may reconnect and continue its runs. Then the entry is removed and its runs fail.

use std::sync::{Arc, MutexGuard, PoisonError};

use oxikit_core::{StatusCode, timestamp};
use oxikit_wire::rpc::{ConfigureParams, ErrorData, RegisterParams};
use tokio::time::Instant;

use super::{Claim, Entry, Preferred, RuntimeInfo, Runtimes, State, process};
use crate::connection_handle::{Command, ConnectionHandle};
use crate::failure::{failure, gone};
use crate::socket_peer::SocketPeer;
use crate::target::Target;

impl Runtimes {
    /// Gives a connection the runtime id in `params`, unless another connection has it.
    ///
    /// A runtime that lost its connection and reconnects in time, from the same process,
    /// continues its runs. Another process with the same id replaces it, and the runs fail.
    pub(crate) fn claim(&self, params: &RegisterParams, connection: &ConnectionHandle) -> Claim {
        let mut state = self.state();
        let info = self.info(params);
        if let Some(entry) = state.entries.get_mut(&params.id) {
            match &entry.target {
                // A runtime that connects by WebSocket replaces the entry from its file.
                Target::Http(_) => {}
                Target::Socket(peer) => {
                    let owner = peer.connection().filter(|owner| owner.id != connection.id);
                    if let Some(owner) = owner {
                        return Claim::Taken(owner);
                    }
                    // The id alone is not sufficient: `GENKIT_RUNTIME_ID` is the same after a restart
                    // of the application, which knows nothing of the old runs.
                    if entry.info.pid == info.pid && entry.info.name == info.name {
                        let peer = peer.clone();
                        peer.reconnected(connection.clone());
                        (entry.info, entry.disconnected_since) = (info, None);
                        self.publish(state);
                        return Claim::Granted(peer);
                    }
                    peer.fail_all(&gone(&params.id));
                }
            }
        }
        tracing::info!(runtime_id = %info.id, pid = info.pid, "runtime connected");
        let peer =
            SocketPeer::new(params.id.clone(), self.options().max_pending, connection.clone());
        self.add(state, info, Target::Socket(peer.clone()));
        Claim::Granted(peer)
    }

    /// Adds a runtime. It replaces an entry with the same id.
    pub(super) fn add(&self, mut state: MutexGuard<'_, State>, info: RuntimeInfo, target: Target) {
        let is_own = state.preferred.as_ref().is_some_and(|preferred| preferred.is(&info));
        state.registered += 1;
        let (number, id) = (state.registered, info.id.clone());
        state.entries.insert(id, Entry { info, target, number, is_own, disconnected_since: None });
        self.publish(state);
    }

    /// Takes the id from a connection that does not answer, and closes the connection.
    pub(crate) fn evict(&self, id: &str, owner: &ConnectionHandle) {
        owner.send_command(Command::Close);
        let target = self.state().entries.get(id).map(|entry| entry.target.clone());
        if let Some(Target::Socket(peer)) = target {
            self.disconnected(&peer, owner.id);
        }
    }

    /// Records that a connection ended, and removes its runtime after `reconnect_grace` unless it
    /// reconnects.
    pub(crate) fn disconnected(&self, peer: &Arc<SocketPeer>, connection: u64) {
        let mut state = self.state();
        let Some(entry) = state.entry_of(peer) else { return };
        // An evicted connection may end after its successor has registered. The entry then belongs
        // to the successor.
        if peer.connection().is_none_or(|current| current.id != connection) {
            return;
        }
        peer.set_connection(None);
        entry.disconnected_since = Some(Instant::now());
        self.publish(state);
        let (runtimes, peer) = (self.clone(), peer.clone());
        self.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(runtimes.options().reconnect_grace) => {}
                () = runtimes.closing() => {}
            }
            runtimes.remove_if_gone(&peer);
        });
    }

    /// Removes a runtime that did not reconnect, and fails its requests. The check of the time
    /// matters: the runtime may have reconnected and been disconnected again meanwhile.
    fn remove_if_gone(&self, peer: &Arc<SocketPeer>) {
        let grace = self.options().reconnect_grace;
        let is_closing = self.0.closing.is_cancelled();
        let mut state = self.state();
        let is_gone = state.entry_of(peer).is_some_and(|entry| {
            entry.disconnected_since.is_some_and(|since| is_closing || since.elapsed() >= grace)
        });
        if !is_gone {
            return;
        }
        state.entries.remove(&peer.id);
        self.publish(state);
        peer.fail_all(&gone(&peer.id));
    }

    /// Shows a runtime as silent, or as responsive again.
    pub(crate) fn set_silent(&self, peer: &Arc<SocketPeer>, is_silent: bool) {
        let mut state = self.state();
        if let Some(entry) = state.entry_of(peer) {
            entry.info.is_silent = is_silent;
            self.publish(state);
        }
    }

    /// Whether the runtime is shown as silent.
    pub(super) fn is_silent(&self, id: &str) -> bool {
        self.silent_process(id).is_some()
    }

    /// The process of a runtime that is shown as silent.
    pub(super) fn silent_process(&self, id: &str) -> Option<u32> {
        let state = self.state();
        let info = &state.entries.get(id)?.info;
        info.is_silent.then_some(info.pid)
    }

    /// The runtime with this id, or the default one.
    pub(super) fn target(&self, runtime: Option<&str>) -> Result<Target, ErrorData> {
        let Some(id) = runtime else {
            let default = self.state().default.clone();
            return default
                .ok_or_else(|| failure(StatusCode::Unavailable, self.no_runtime_message()));
        };
        let state = self.state();
        let entry = state.entries.get(id).ok_or_else(|| {
            failure(StatusCode::NotFound, format!("there is no runtime `{id}` (any more)"))
        })?;
        Ok(entry.target.clone())
    }

    /// Publishes a change: updates the list for readers and selects the default runtime.
    pub(super) fn publish(&self, mut state: MutexGuard<'_, State>) {
        let is_socket = |entry: &Entry| matches!(entry.target, Target::Socket(_));
        let present = state.entries.values().filter(|entry| entry.disconnected_since.is_none());
        // A process that is reached by both protocols is listed once.
        let mut present: Vec<&Entry> = present
            .filter(|entry| is_socket(entry) || !state.has_socket_of(entry.info.pid))
            .collect();
        present.sort_by_key(|entry| entry.number);
        // The preferred runtime if it is present, else the newest registration.
        let default = present.iter().max_by_key(|entry| (entry.is_own, entry.number));
        let default = default.map(|entry| entry.target.clone());
        let list: Arc<[RuntimeInfo]> = present.iter().map(|entry| entry.info.clone()).collect();
        state.default = default;
        // Sent under the lock, so that lists are published in the order of the changes.
        self.0.list.send_replace(list);
    }

    /// Locks the table.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The description of a runtime that registers.
    fn info(&self, params: &RegisterParams) -> RuntimeInfo {
        RuntimeInfo {
            id: params.id.clone(),
            pid: params.pid,
            name: params.name.clone(),
            genkit_version: params.genkit_version.clone(),
            reflection_api_spec_version: params.reflection_api_spec_version,
            reflection_server_url: self.options().socket_url.clone(),
            timestamp: timestamp::now(),
            project_name: self.options().project_name.clone(),
            envs: params.envs.clone(),
            is_silent: false,
        }
    }
}

impl State {
    /// The entry of this peer; `None` if another registration has replaced it.
    fn entry_of(&mut self, peer: &Arc<SocketPeer>) -> Option<&mut Entry> {
        self.entries.get_mut(&peer.id).filter(|entry| entry.target.is(peer))
    }

    /// Whether a process is connected by WebSocket. Its runtime file is then redundant.
    fn has_socket_of(&self, pid: u32) -> bool {
        let mut entries = self.entries.values();
        entries.any(|entry| entry.info.pid == pid && matches!(entry.target, Target::Socket(_)))
    }

    pub(super) fn configuration(&self) -> ConfigureParams {
        ConfigureParams { telemetry_server_url: self.telemetry_url.clone() }
    }
}

impl Preferred {
    /// Whether this is the preferred runtime.
    pub(super) fn is(&self, info: &RuntimeInfo) -> bool {
        match self {
            Self::Process(pid) => process::descends_from(info.pid, *pid),
            Self::Runtime(id) => info.id == *id,
        }
    }
}
