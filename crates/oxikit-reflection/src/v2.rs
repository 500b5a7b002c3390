//! Reflection V2: the application connects to a manager by WebSocket and answers its requests.
//!
//! Three lifetimes are kept apart:
//!
//! - A *connection* (`connection`, `requests`) is one WebSocket. It ends with the network, a
//!   close frame or a missing pong. [`ManagerLink`] then connects again, with a `backoff`.
//! - A *session* (`session`, `outbox`) lasts as long as the application. It holds the running
//!   actions and the frames that are not delivered yet, so both survive a reconnect.
//! - An *epoch* ([`outbox::Epoch`]) is the time in which the session belongs to the same
//!   manager. `manager_identity` decides after a reconnect whether the manager is the same. If
//!   it is another one, a new epoch begins and the frames of the old one are dropped: their
//!   request ids would answer unrelated requests of the new manager.
//!
//! Each request is a task of its own (`run`), so a slow action delays no other request.

mod backoff;
mod connection;
mod frames;
mod inputs;
mod manager_address;
mod manager_identity;
mod outbox;
mod rate_limit;
mod requests;
mod run;
mod session;
#[cfg(test)]
mod tests;
#[cfg_attr(not(feature = "wss"), path = "v2/no_tls.rs")]
mod tls;

use std::sync::Arc;
use std::time::Duration;

use oxikit_telemetry::GenkitExporter;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_util::sync::CancellationToken;

pub(crate) use backoff::Backoff;
pub(crate) use manager_address::ManagerAddress;
use rate_limit::RateLimit;
use session::Session;

use super::identity::Identity;
use super::runs::Runs;

/// Minimum time between two log lines of the same kind. Events in between are counted.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Time after which a connection counts as stable, and the backoff starts again.
const STABLE_AFTER: Duration = Duration::from_secs(1);
/// Time without a manager after which its results are dropped.
const FORGET_MANAGER_AFTER: Duration = Duration::from_secs(60);

/// The settings of the connection to a manager.
pub(crate) struct Settings {
    pub(crate) manager: ManagerAddress,
    pub(crate) identity: Identity,
    /// Receives the URL for spans from the manager; `None` if the environment sets it.
    pub(crate) telemetry: Option<GenkitExporter>,
    pub(crate) backoff: Backoff,
}

/// Serves the manager and reconnects when the connection is lost, until `ending` is cancelled.
pub(crate) async fn serve_manager(settings: Settings, runs: Runs, ending: CancellationToken) {
    let Settings { manager, identity, telemetry, backoff } = settings;
    let session = Session::new(identity, runs, telemetry, ending.clone());
    let link = ManagerLink { session: &session, backoff, address: manager.address(), ending };
    link.run(|| manager.connect()).await;
    session.end().await;
}

/// Keeps the session connected to its manager.
struct ManagerLink<'a> {
    session: &'a Arc<Session>,
    backoff: Backoff,
    address: String,
    ending: CancellationToken,
}

impl ManagerLink<'_> {
    /// Connects, serves and reconnects until `ending` is cancelled.
    async fn run<S, Connecting>(mut self, connect: impl Fn() -> Connecting)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
        Connecting: Future<Output = Result<WebSocketStream<S>, Error>>,
    {
        let (mut connected, mut lost) =
            (RateLimit::new(LOG_INTERVAL), RateLimit::new(LOG_INTERVAL));
        let mut connections = 0;
        let mut last_seen = Instant::now();
        let ending = self.ending.clone();
        loop {
            let Some(opened) = ending.run_until_cancelled(connect()).await else { return };
            let address = &self.address;
            let reason = match opened {
                Ok(socket) => {
                    connections += 1;
                    if connected.record().is_some() {
                        tracing::info!(address, "connected with the developer tools");
                    }
                    // A manager that accepts and closes at once must not reset the backoff.
                    let since = Instant::now();
                    let end = connection::serve(socket, self.session, connections, &ending).await;
                    last_seen = Instant::now();
                    if since.elapsed() >= STABLE_AFTER {
                        self.backoff.reset();
                    }
                    end.to_string()
                }
                Err(error) => error.to_string(),
            };
            if ending.is_cancelled() {
                return;
            }
            if let Some(times) = lost.record() {
                tracing::warn!(
                    address,
                    reason,
                    times,
                    "could not stay connected with the developer tools"
                );
            }
            // Without this the outbox would keep results, and with them blocked runs, forever.
            if last_seen.elapsed() >= FORGET_MANAGER_AFTER {
                self.session.forget_manager();
            }
            let wait = self.backoff.next();
            if ending.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return;
            }
        }
    }
}
