//! The process at the other end of a connection: whether its spans are accepted as verified
//! without a token, and which runtime it is.
//!
//! Genkit's Python runtime drops the path of `GENKIT_TELEMETRY_SERVER`, and the token with it.
//! The application that the tools have started, and runtimes that have registered with a token,
//! are identified by their process instead. No span of Genkit names its runtime, so the traces of
//! a runtime are found by its process, too. The result is stored with the connection: a known
//! process stays known, an unknown one is checked again after [`REFUSAL_TIME`], because it may
//! have registered since.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::peer_process::{self, OwnProcess, Peer, RuntimeProcess, Wanted};

/// Time after which the process of an unknown connection is checked again.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// Maximum number of connections that are checked at the same time. Others wait: each check
/// reads tables of the operating system.
const MAX_CHECKS: usize = 2;

/// The processes that are known at the moment. Clones share the limit of checks.
///
/// ```
/// use oxikit_traces::{OwnProcess, OwnProcesses, TelemetryOptions};
///
/// // The application that was started as a child, with its own children.
/// let child = std::process::id();
/// let own = OwnProcesses::new(move || vec![OwnProcess::Application(child)]);
/// let options = TelemetryOptions::default().with_own_processes(own);
/// # _ = options;
/// ```
#[derive(Clone)]
pub struct OwnProcesses {
    list: Arc<dyn Fn() -> Vec<OwnProcess> + Send + Sync>,
    runtimes: Arc<dyn Fn() -> Vec<RuntimeProcess> + Send + Sync>,
    checks: Arc<Semaphore>,
}

/// A connection to the port. The server stores it in the extensions of each request.
///
/// ```
/// use oxikit_traces::Connection;
///
/// let (peer, local) = ("127.0.0.1:50000".parse()?, "127.0.0.1:4033".parse()?);
/// let connection = std::sync::Arc::new(Connection::new(peer, Some(local)));
/// // For each request of the connection: `request.extensions_mut().insert(connection.clone())`.
/// # _ = connection;
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug)]
pub struct Connection {
    peer: SocketAddr,
    local: Option<SocketAddr>,
    /// Its process, and when that was checked.
    checked: Mutex<Option<(Instant, Peer)>>,
}

impl OwnProcesses {
    /// `list` returns the known processes. It is called for each check.
    pub fn new(list: impl Fn() -> Vec<OwnProcess> + Send + Sync + 'static) -> Self {
        let checks = Arc::new(Semaphore::new(MAX_CHECKS));
        Self { list: Arc::new(list), runtimes: Arc::new(Vec::new), checks }
    }

    /// Sets the processes whose traces are stored with the names of their runtime. A process in
    /// this list needs a token all the same. `list` is called for each check.
    #[must_use]
    pub fn with_runtimes(
        mut self,
        list: impl Fn() -> Vec<RuntimeProcess> + Send + Sync + 'static,
    ) -> Self {
        self.runtimes = Arc::new(list);
        self
    }

    /// The process at the other end of a connection; an unknown one if it is on another machine.
    /// A sender with a token is looked for only if there are runtimes that it could be.
    pub(super) async fn find(&self, connection: &Connection, has_token: bool) -> Peer {
        let Some(local) = connection.local.filter(|_| connection.peer.ip().is_loopback()) else {
            return Peer::default();
        };
        if let Some(peer) = connection.checked() {
            return peer;
        }
        if has_token && (self.runtimes)().is_empty() {
            return Peer::default();
        }
        let Ok(_permit) = self.checks.acquire().await else { return Peer::default() };
        // Another request of this connection may have been checked meanwhile.
        if let Some(peer) = connection.checked() {
            return peer;
        }
        // Not stored with the connection: a process may register at any moment.
        let (own, runtimes) = ((self.list)(), (self.runtimes)());
        if own.is_empty() && runtimes.is_empty() {
            return Peer::default();
        }
        let address = connection.peer;
        let check = move || {
            let wanted = Wanted { own: &own, runtimes: &runtimes };
            peer_process::find(&wanted, address, local)
        };
        let found = tokio::task::spawn_blocking(check).await.unwrap_or_default();
        connection.set_checked(found)
    }
}

impl Default for OwnProcesses {
    /// No process is known.
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
    /// A connection from `peer` to the address `local`; without the latter its process cannot be
    /// found.
    pub fn new(peer: SocketAddr, local: Option<SocketAddr>) -> Self {
        Self { peer, local, checked: Mutex::default() }
    }

    /// The result of an earlier check, if it still holds. A known runtime stays known for as long
    /// as the connection is open.
    fn checked(&self) -> Option<Peer> {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, peer) = checked.as_ref()?;
        let holds = !peer.runtime.is_empty() || since.elapsed() < REFUSAL_TIME;
        holds.then(|| peer.clone())
    }

    /// Stores the result of a check and returns it. An own process stays one: it may leave the
    /// list before its last spans are sent.
    fn set_checked(&self, mut found: Peer) -> Peer {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        found.is_own |= checked.as_ref().is_some_and(|(_, peer)| peer.is_own);
        *checked = Some((Instant::now(), found.clone()));
        found
    }
}
