//! Who is who: which connection has which id, and what happens when it ends.

use std::sync::{Arc, MutexGuard, PoisonError};

use oxikit_core::{StatusCode, timestamp};
use oxikit_wire::rpc::{ConfigureParams, ErrorData, RegisterParams};
use tokio::time::Instant;

use super::{Claim, Entry, Preferred, RuntimeInfo, Runtimes, State, process};
use crate::manager::failure::{failure, gone};
use crate::manager::line::{Line, Order};
use crate::manager::peer::Peer;
use crate::manager::target::Target;

impl Runtimes {
    /// Gives a connection the id it wants, if nobody has it.
    ///
    /// A runtime that has lost its connection and comes back in time, as the same
    /// process, goes on with its runs. Anybody else starts anew.
    pub(crate) fn claim(&self, params: &RegisterParams, line: &Line) -> Claim {
        let mut state = self.state();
        let info = self.info(params);
        if let Some(entry) = state.entries.get_mut(&params.id) {
            match &entry.target {
                // The file of a runtime that dials in too says nothing more.
                Target::Http(_) => {}
                Target::Socket(peer) => {
                    let owner = peer.line().filter(|owner| owner.connection != line.connection);
                    if let Some(owner) = owner {
                        return Claim::Taken(owner);
                    }
                    if entry.info.pid == info.pid && entry.info.name == info.name {
                        let peer = peer.clone();
                        peer.come_back(line.clone());
                        (entry.info, entry.away_since) = (info, None);
                        self.publish(state);
                        return Claim::Granted(peer);
                    }
                    peer.fail_all(&gone(&params.id));
                }
            }
        }
        tracing::info!(runtime_id = %info.id, pid = info.pid, "runtime connected");
        let peer = Peer::new(params.id.clone(), self.options().max_pending, line.clone());
        self.add(state, info, Target::Socket(peer.clone()));
        Claim::Granted(peer)
    }

    /// Adds a runtime, in the place of another one with its id.
    pub(super) fn add(&self, mut state: MutexGuard<'_, State>, info: RuntimeInfo, target: Target) {
        let is_own = state.preferred.as_ref().is_some_and(|preferred| preferred.is(&info));
        state.registered += 1;
        let (number, id) = (state.registered, info.id.clone());
        state.entries.insert(id, Entry { info, target, number, is_own, away_since: None });
        self.publish(state);
    }

    /// Takes the id from a connection that does not answer.
    pub(crate) fn evict(&self, id: &str, owner: &Line) {
        owner.order(Order::Close);
        let target = self.state().entries.get(id).map(|entry| entry.target.clone());
        if let Some(Target::Socket(peer)) = target {
            self.left(&peer, owner.connection);
        }
    }

    /// A connection has ended. Its runtime has a moment to come back.
    pub(crate) fn left(&self, peer: &Arc<Peer>, connection: u64) {
        let mut state = self.state();
        let Some(entry) = state.entry_of(peer) else { return };
        if peer.line().is_none_or(|line| line.connection != connection) {
            return;
        }
        peer.set_line(None);
        entry.away_since = Some(Instant::now());
        self.publish(state);
        let (runtimes, peer) = (self.clone(), peer.clone());
        self.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(runtimes.options().reconnect_grace) => {}
                () = runtimes.closing() => {}
            }
            runtimes.bury(&peer);
        });
    }

    /// Removes a runtime that has not come back, and tells everybody who waits.
    fn bury(&self, peer: &Arc<Peer>) {
        let grace = self.options().reconnect_grace;
        let is_closing = self.0.closing.is_cancelled();
        let mut state = self.state();
        let is_gone = state.entry_of(peer).is_some_and(|entry| {
            entry.away_since.is_some_and(|since| is_closing || since.elapsed() >= grace)
        });
        if !is_gone {
            return;
        }
        state.entries.remove(&peer.id);
        self.publish(state);
        peer.fail_all(&gone(&peer.id));
    }

    /// It was asked and says nothing, or speaks again.
    pub(crate) fn set_silent(&self, peer: &Arc<Peer>, is_silent: bool) {
        let mut state = self.state();
        if let Some(entry) = state.entry_of(peer) {
            entry.info.is_silent = is_silent;
            self.publish(state);
        }
    }

    /// Whether it was asked and says nothing.
    pub(super) fn is_silent(&self, id: &str) -> bool {
        self.silent_process(id).is_some()
    }

    /// The process of a runtime that was asked and says nothing.
    pub(super) fn silent_process(&self, id: &str) -> Option<u32> {
        let state = self.state();
        let info = &state.entries.get(id)?.info;
        info.is_silent.then_some(info.pid)
    }

    /// Who is asked.
    pub(super) fn target(&self, runtime: Option<&str>) -> Result<Target, ErrorData> {
        let Some(id) = runtime else {
            let default = self.state().default.clone();
            return default.ok_or_else(|| failure(StatusCode::Unavailable, self.absence()));
        };
        let state = self.state();
        let entry = state.entries.get(id).ok_or_else(|| {
            failure(StatusCode::NotFound, format!("there is no runtime `{id}` (any more)"))
        })?;
        Ok(entry.target.clone())
    }

    /// Shows a change: makes the list anew and chooses the default target.
    pub(super) fn publish(&self, mut state: MutexGuard<'_, State>) {
        let dialled = |entry: &Entry| matches!(entry.target, Target::Socket(_));
        let present = state.entries.values().filter(|entry| entry.away_since.is_none());
        // A process that is reached both ways is one runtime.
        let mut present: Vec<&Entry> = present
            .filter(|entry| dialled(entry) || !state.has_socket_of(entry.info.pid))
            .collect();
        present.sort_by_key(|entry| entry.number);
        let default = present.iter().max_by_key(|entry| (entry.is_own, entry.number));
        let default = default.map(|entry| entry.target.clone());
        let list: Arc<[RuntimeInfo]> = present.iter().map(|entry| entry.info.clone()).collect();
        state.default = default;
        // Under the lock, or an older list could be shown last.
        self.0.list.send_replace(list);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
    fn entry_of(&mut self, peer: &Arc<Peer>) -> Option<&mut Entry> {
        self.entries.get_mut(&peer.id).filter(|entry| entry.target.is(peer))
    }

    fn has_socket_of(&self, pid: u32) -> bool {
        let mut entries = self.entries.values();
        entries.any(|entry| entry.info.pid == pid && matches!(entry.target, Target::Socket(_)))
    }

    pub(super) fn configuration(&self) -> ConfigureParams {
        ConfigureParams { telemetry_server_url: self.telemetry_url.clone() }
    }
}

impl Preferred {
    pub(super) fn is(&self, info: &RuntimeInfo) -> bool {
        match self {
            Self::Process(pid) => process::descends_from(info.pid, *pid),
            Self::Runtime(id) => info.id == *id,
        }
    }
}
