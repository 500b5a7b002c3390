//! The exporter to Genkit's developer tools, in their own format.
//!
//! Events go through a bounded queue (`queue`) to a thread (`sender`), which turns them into
//! requests (`batch`, `logs`) and sends those over one connection (`connection`, `answers`).

mod answers;
mod batch;
mod connection;
mod log_layer;
mod logs;
mod queue;
mod sender;
mod server;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use oxikit_core::{OpenSpan, Result, SpanExporter, SpanRecord, Status};

pub use self::log_layer::LogLayer;
use self::queue::{Event, Queue};
use self::server::Server;

/// Sends spans and log lines to the telemetry server of Genkit's developer
/// tools. Cheap to clone; all clones are one exporter.
///
/// Exporting a span never waits. If the queue is full, because the
/// server is slow or not reachable, the oldest events are dropped and
/// [counted](Self::dropped). The log has one line about it per minute at most, at `DEBUG`.
///
/// ```
/// use std::sync::Arc;
///
/// use oxikit_core::{Action, ActionKind, Call, Registry};
/// use oxikit_telemetry::GenkitExporter;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit_core::Result<()> {
/// let exporter = GenkitExporter::new();
/// let registry = Registry::default();
/// registry.add_exporter(Arc::new(exporter.clone()));
///
/// let double = Action::builder(ActionKind::Flow, "double").handler(async |n: u32| Ok(2 * n));
/// double.run(Call::new(4u32).in_registry(&registry)).await?;
///
/// // The address of the server may become known later.
/// exporter.set_server("http://localhost:4033")?;
/// exporter.close().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct GenkitExporter(Arc<Owner>);

/// The settings of a new [`GenkitExporter`].
///
/// ```
/// use oxikit_telemetry::GenkitExporter;
///
/// # fn main() -> oxikit_core::Result<()> {
/// let exporter =
///     GenkitExporter::builder().ended_spans_only().server("http://localhost:4033").build()?;
/// assert_eq!(exporter.server().as_deref(), Some("http://localhost:4033"));
/// assert!(GenkitExporter::builder().server("localhost").build().is_err());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct GenkitExporterBuilder {
    realtime: bool,
    server: Option<String>,
}

impl GenkitExporterBuilder {
    /// Sends a span only when it has ended. By default spans are sent when they start, too, so
    /// that the tools show what is running.
    pub fn ended_spans_only(mut self) -> Self {
        self.realtime = false;
        self
    }

    /// Sets the server, as [`GenkitExporter::set_server`] does.
    pub fn server(mut self, url: impl Into<String>) -> Self {
        self.server = Some(url.into());
        self
    }

    /// Makes the exporter.
    ///
    /// # Errors
    ///
    /// As [`GenkitExporter::set_server`], if a server is set.
    pub fn build(self) -> Result<GenkitExporter> {
        let exporter = GenkitExporter::with(self.realtime);
        if let Some(url) = &self.server {
            exporter.set_server(url)?;
        }
        Ok(exporter)
    }
}

impl GenkitExporter {
    /// An exporter without a server. The last 256 events are kept until
    /// [`set_server`](Self::set_server) is called.
    pub fn new() -> Self {
        Self::with(true)
    }

    /// Begins an exporter with other settings than the defaults.
    pub fn builder() -> GenkitExporterBuilder {
        GenkitExporterBuilder { realtime: true, server: None }
    }

    fn with(realtime: bool) -> Self {
        let shared = Shared { queue: Queue::default(), server: Mutex::default() };
        Self(Arc::new(Owner { shared: Arc::new(shared), realtime }))
    }

    /// Sends to this server from now on: `http://host:port`, with a path if the
    /// server has one. May be called at any time, also while an earlier
    /// server is not reachable. The first call starts the thread that sends.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not a plain `http` address, `INTERNAL` if the thread
    /// cannot be started.
    pub fn set_server(&self, url: impl AsRef<str>) -> Result<()> {
        let server = Arc::new(Server::parse(url.as_ref())?);
        let shared = &self.0.shared;
        let is_first = shared.lock_server().replace(server).is_none();
        if is_first && let Err(error) = sender::start(shared.clone()) {
            *shared.lock_server() = None;
            return Err(Status::internal("no thread for telemetry can be started").caused_by(error));
        }
        shared.queue.moved();
        Ok(())
    }

    /// The URL of the server, if it is set.
    pub fn server(&self) -> Option<String> {
        self.0.shared.server().map(|server| server.url().to_owned())
    }

    /// The number of ended spans and log lines that were lost so far. Starts of spans do not
    /// count: the end of a span repeats all of it.
    pub fn dropped(&self) -> u64 {
        self.0.shared.queue.dropped()
    }

    /// A layer for [`tracing_subscriber`] that sends log lines to the same server.
    pub fn log_layer(&self) -> LogLayer {
        LogLayer::new(self.clone())
    }

    /// Sends the queued events and then closes the exporter: later spans are dropped. It waits
    /// for a slow server, so use a timeout if that matters. If it is not called, the thread
    /// sends the rest when the last clone is dropped, provided that the process still runs.
    pub async fn close(&self) {
        self.flush().await;
        self.0.shared.queue.close();
    }

    fn push(&self, event: Event) {
        self.0.shared.queue.push(event);
    }
}

impl Default for GenkitExporter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for GenkitExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenkitExporter")
            .field("server", &self.0.shared.server())
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl SpanExporter for GenkitExporter {
    fn start(&self, span: &OpenSpan) {
        if self.0.realtime {
            self.push(Event::Start(span.clone()));
        }
    }

    fn end(&self, span: SpanRecord) {
        self.push(Event::End(span));
    }

    /// Returns at once while no server is set or it is not reachable. The future may be dropped
    /// at any time.
    async fn flush(&self) {
        self.0.shared.queue.flush().await;
    }
}

/// The part that only the application holds. Dropping it closes the queue, which ends the thread.
struct Owner {
    shared: Arc<Shared>,
    realtime: bool,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

/// The data that the application and the thread share.
struct Shared {
    queue: Queue,
    server: Mutex<Option<Arc<Server>>>,
}

impl Shared {
    fn server(&self) -> Option<Arc<Server>> {
        self.lock_server().clone()
    }

    fn lock_server(&self) -> MutexGuard<'_, Option<Arc<Server>>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
