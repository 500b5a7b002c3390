//! Processes whose spans are accepted as verified without a token.
//!
//! Genkit's Python runtime drops the path of `GENKIT_TELEMETRY_SERVER`, and the token with it.
//! The application that the tools have started, and runtimes that have registered with a token,
//! are identified by the process at the other end of the connection instead. The result is
//! stored with the connection: a known process stays known, an unknown one is checked again
//! after [`REFUSAL_TIME`], because it may have registered since.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::peer_process::{self, OwnProcess};

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
    /// Whether its process is known, and when that was checked.
    checked: Mutex<Option<(Instant, bool)>>,
}

impl OwnProcesses {
    /// `list` returns the known processes. It is called for each check.
    pub fn new(list: impl Fn() -> Vec<OwnProcess> + Send + Sync + 'static) -> Self {
        Self { list: Arc::new(list), checks: Arc::new(Semaphore::new(MAX_CHECKS)) }
    }

    /// Whether the process at the other end of a connection is a known one.
    pub(super) async fn contain(&self, connection: &Connection) -> bool {
        let Some(local) = connection.local.filter(|_| connection.peer.ip().is_loopback()) else {
            return false;
        };
        if let Some(is_known) = connection.checked() {
            return is_known;
        }
        let Ok(_permit) = self.checks.acquire().await else { return false };
        // Another request of this connection may have been checked meanwhile.
        if let Some(is_known) = connection.checked() {
            return is_known;
        }
        // Not stored with the connection: a process may register at any moment.
        let known = (self.list)();
        if known.is_empty() {
            return false;
        }
        let peer = connection.peer;
        let check = move || peer_process::is_one_of(&known, peer, local);
        let is_known = tokio::task::spawn_blocking(check).await.unwrap_or(false);
        connection.set_checked(is_known);
        is_known
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

    /// The result of an earlier check, if it still holds. A known process stays known for as
    /// long as the connection is open.
    fn checked(&self) -> Option<bool> {
        let checked = *self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, is_known) = checked?;
        (is_known || since.elapsed() < REFUSAL_TIME).then_some(is_known)
    }

    /// Stores the result of a check.
    fn set_checked(&self, is_known: bool) {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        *checked = Some((Instant::now(), is_known));
    }
}
