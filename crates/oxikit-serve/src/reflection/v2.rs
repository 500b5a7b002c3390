//! V2: the application dials a manager and serves it over one socket.
//!
//! Runs, and what is to be sent of them, outlive a connection (`session`,
//! `outbox`): after a reconnect the manager gets what it has missed. A socket is
//! read and written at the same time (`connection`); each request is a task of its
//! own (`requests`, `run`).

mod asker;
mod backoff;
mod connection;
mod dial;
mod frames;
mod inputs;
mod outbox;
mod requests;
mod run;
mod session;
mod sparing;
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
pub(crate) use dial::Target;
use session::Session;
use sparing::Sparing;

use super::identity::Identity;
use super::runs::Runs;

/// One line of each kind in this time.
const LOG: Duration = Duration::from_secs(10);
/// A connection that lasted so long was a good one.
const LASTED: Duration = Duration::from_secs(1);
/// A manager that is away for so long does not come back.
const GONE: Duration = Duration::from_secs(60);

/// How a manager is attended.
pub(crate) struct Settings {
    pub(crate) manager: Target,
    pub(crate) identity: Identity,
    /// Told where spans go, unless the environment has said so.
    pub(crate) telemetry: Option<GenkitExporter>,
    pub(crate) backoff: Backoff,
}

/// Serves the manager, and dials it again and again when it is away, until
/// `ending`.
pub(crate) async fn attend(settings: Settings, runs: Runs, ending: CancellationToken) {
    let Settings { manager, identity, telemetry, backoff } = settings;
    let session = Session::new(identity, runs, telemetry, ending.clone());
    let line = Line { session: &session, backoff, address: manager.address(), ending };
    line.keep(|| manager.dial()).await;
    session.end().await;
}

/// The line to a manager, up or down.
struct Line<'a> {
    session: &'a Arc<Session>,
    backoff: Backoff,
    address: String,
    ending: CancellationToken,
}

impl Line<'_> {
    async fn keep<S, Dialling>(mut self, dial: impl Fn() -> Dialling)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
        Dialling: Future<Output = Result<WebSocketStream<S>, Error>>,
    {
        let (mut connected, mut lost) = (Sparing::new(LOG), Sparing::new(LOG));
        let mut connections = 0;
        let mut last_seen = Instant::now();
        let ending = self.ending.clone();
        loop {
            let Some(dialled) = ending.run_until_cancelled(dial()).await else { return };
            let address = &self.address;
            let reason = match dialled {
                Ok(socket) => {
                    connections += 1;
                    if connected.count().is_some() {
                        tracing::info!(address, "connected with the developer tools");
                    }
                    let since = Instant::now();
                    let end = connection::serve(socket, self.session, connections, &ending).await;
                    last_seen = Instant::now();
                    if since.elapsed() >= LASTED {
                        self.backoff.reset();
                    }
                    end.to_string()
                }
                Err(error) => error.to_string(),
            };
            if ending.is_cancelled() {
                return;
            }
            if let Some(times) = lost.count() {
                tracing::warn!(address, reason, times, "no manager of the developer tools there");
            }
            if last_seen.elapsed() >= GONE {
                self.session.give_up_manager();
            }
            let wait = self.backoff.next();
            if ending.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return;
            }
        }
    }
}
