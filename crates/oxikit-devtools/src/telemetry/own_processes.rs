//! Processes whose spans are taken without a token.
//!
//! Python's runtime loses the path of the URL that it was given, and the token with it.
//! The application that these tools have started, and a runtime that has registered with
//! the token of its own, are known by their processes instead.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::peer_process;

/// A connection that was not of ours is looked at again after this: its process may have
/// registered since.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// So many connections are looked at, at the same time: each look reads tables of the
/// system.
const MAX_LOOKS: usize = 2;

/// A process that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnProcess {
    /// This one, its group, and all that it has started.
    Application(u32),
    /// This one only.
    Runtime(u32),
}

/// Tells which processes are known at the moment.
#[derive(Clone)]
pub(crate) struct OwnProcesses {
    list: Arc<dyn Fn() -> Vec<OwnProcess> + Send + Sync>,
    looks: Arc<Semaphore>,
}

/// A connection to the port, for all requests that come over it.
#[derive(Debug)]
pub(crate) struct Connection {
    peer: SocketAddr,
    local: Option<SocketAddr>,
    /// Whether it is of a known process, and since when that is known.
    seen: Mutex<Option<(Instant, bool)>>,
}

impl OwnProcesses {
    pub(crate) fn new(list: impl Fn() -> Vec<OwnProcess> + Send + Sync + 'static) -> Self {
        Self { list: Arc::new(list), looks: Arc::new(Semaphore::new(MAX_LOOKS)) }
    }

    /// Whether the process at the other end of a connection is a known one.
    pub(super) async fn have(&self, connection: &Connection) -> bool {
        let Some(local) = connection.local.filter(|_| connection.peer.ip().is_loopback()) else {
            return false;
        };
        if let Some(is_known) = connection.seen() {
            return is_known;
        }
        let Ok(_look) = self.looks.acquire().await else { return false };
        // Another request of this connection may have been first.
        if let Some(is_known) = connection.seen() {
            return is_known;
        }
        let known = (self.list)();
        if known.is_empty() {
            return false;
        }
        let peer = connection.peer;
        let look = move || peer_process::is_one_of(&known, peer, local);
        let is_known = tokio::task::spawn_blocking(look).await.unwrap_or(false);
        connection.set_seen(is_known);
        is_known
    }
}

impl Default for OwnProcesses {
    /// None.
    fn default() -> Self {
        Self::new(Vec::new)
    }
}

impl fmt::Debug for OwnProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnProcesses").field(&(self.list)()).finish()
    }
}

impl Connection {
    pub(crate) fn new(peer: SocketAddr, local: Option<SocketAddr>) -> Self {
        Self { peer, local, seen: Mutex::default() }
    }

    /// Who has been of ours stays so as long as the connection lasts.
    fn seen(&self) -> Option<bool> {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, is_known) = seen?;
        (is_known || since.elapsed() < REFUSAL_TIME).then_some(is_known)
    }

    fn set_seen(&self, is_known: bool) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = Some((Instant::now(), is_known));
    }
}
