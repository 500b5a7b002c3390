//! To Genkit's developer tools, in their own format.

mod answers;
mod batch;
mod connection;
mod courier;
mod log_layer;
mod logs;
mod queue;
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
/// Handing over a span never waits: what there is no room for, because the
/// server is slow or away, is dropped, the oldest first, and
/// [counted](Self::dropped). Nothing is said about it in the log, but for one
/// line at `DEBUG` a minute.
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
/// // The developer tools say where their server is, sooner or later.
/// exporter.set_server("http://localhost:4033")?;
/// exporter.close().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct GenkitExporter(Arc<Owner>);

/// How a [`GenkitExporter`] is made, if not in the usual way.
#[derive(Debug, Clone)]
#[must_use]
pub struct GenkitExporterBuilder {
    realtime: bool,
    server: Option<String>,
}

impl GenkitExporterBuilder {
    /// Whether spans are shown while they run, or only when they have ended.
    /// They are, unless this says otherwise.
    pub fn realtime(mut self, realtime: bool) -> Self {
        self.realtime = realtime;
        self
    }

    /// Where to send, as in [`GenkitExporter::set_server`].
    pub fn server(mut self, url: impl Into<String>) -> Self {
        self.server = Some(url.into());
        self
    }

    /// The exporter; a bad URL is refused.
    pub fn build(self) -> Result<GenkitExporter> {
        let exporter = GenkitExporter::with(self.realtime);
        if let Some(url) = &self.server {
            exporter.set_server(url)?;
        }
        Ok(exporter)
    }
}

impl GenkitExporter {
    /// An exporter that knows no server yet. The last few spans are kept for it.
    pub fn new() -> Self {
        Self::with(true)
    }

    /// Says more about an exporter before it is made.
    pub fn builder() -> GenkitExporterBuilder {
        GenkitExporterBuilder { realtime: true, server: None }
    }

    fn with(realtime: bool) -> Self {
        let shared = Shared { queue: Queue::default(), server: Mutex::default() };
        Self(Arc::new(Owner { shared: Arc::new(shared), realtime }))
    }

    /// Sends to this server from now on: `http://host:port`, with a path if the
    /// server has one. May be called at any time, also while an earlier
    /// server is away. The first call starts the thread that sends.
    pub fn set_server(&self, url: impl AsRef<str>) -> Result<()> {
        let server = Arc::new(Server::parse(url.as_ref())?);
        let shared = &self.0.shared;
        let is_first = shared.lock_server().replace(server).is_none();
        if is_first && let Err(error) = courier::start(shared.clone()) {
            *shared.lock_server() = None;
            return Err(Status::internal("no thread for telemetry can be started").caused_by(error));
        }
        shared.queue.moved();
        Ok(())
    }

    /// The URL of the server, if one is known.
    pub fn server(&self) -> Option<String> {
        self.0.shared.server().map(|server| server.url().to_owned())
    }

    /// How many ended spans and log lines were lost so far.
    pub fn dropped(&self) -> u64 {
        self.0.shared.queue.dropped()
    }

    /// A layer for [`tracing_subscriber`] that sends log lines there too.
    pub fn log_layer(&self) -> LogLayer {
        LogLayer::new(self.clone())
    }

    /// Sends what is left, then nothing more: later spans are dropped. A slow
    /// server is waited for, so whoever is in a hurry sets a time limit. Without
    /// it, the thread sends what is left when the last clone is dropped, if the
    /// process lives that long.
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

    /// Returns at once while no server is known or it is away. May be dropped.
    async fn flush(&self) {
        self.0.shared.queue.flush().await;
    }
}

/// Held by the application; the thread ends after it.
struct Owner {
    shared: Arc<Shared>,
    realtime: bool,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

/// What the application and the thread share.
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
