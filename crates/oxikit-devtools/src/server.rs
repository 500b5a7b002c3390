//! The server of the developer tools: three doors on loopback, and what is behind
//! them.
//!
//! Runtimes dial in at the first, send spans to the second, and tools call the
//! third, the HTTP API. Each has a token of its own, made at each start.

mod agents;
mod api;
mod app;
mod bridge;
mod effect;
pub(crate) mod files;
mod former;
mod gate;
mod listen;
pub(crate) mod objects;
mod official;
mod openapi;
mod options;
pub(crate) mod proof;
pub(crate) mod query;
pub(crate) mod reply;
pub(crate) mod request;
mod resume;
pub(crate) mod route;
mod routes;
mod runs;
mod shapes;
mod shared;
mod trpc;
mod unread;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use oxikit_sql::{ProjectStore, TraceStore, TraceWriter};
use tokio::net::TcpListener;
use tokio_util::sync::DropGuard;
use tokio_util::task::TaskTracker;

use crate::manager::{ManagerOptions, Runtimes, Token, socket_route};
use crate::telemetry::{OwnProcesses, telemetry_port};
pub(crate) use app::how_to_connect;
pub use app::{AppControl, AppState, AppStatus};
pub use files::ManagerFile;
pub(crate) use files::{project_path, traces_path};
use former::{Former, FormerDoor};
use gate::Gate;
use listen::{Bound, Door, bind};
pub use options::{DevServerOptions, PortChoice};
#[doc(hidden)]
pub use routes::route_table;
use shared::Shared;

/// Open requests get this long to end.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// The running server.
#[derive(Debug)]
pub struct DevServer {
    shared: Arc<Shared>,
    urls: Urls,
    files: files::Files,
    connections: TaskTracker,
    /// Ends what runs on threads of its own, also if nobody has closed the server.
    _closing: DropGuard,
}

/// Where the doors are. Each URL has its token in it: it opens everything behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Urls {
    /// For a browser, `http://127.0.0.1:4000/#token=…`.
    pub page: String,
    /// For programs that take a URL as it is: `http://127.0.0.1:4000/k/…`, before
    /// `/api`.
    pub api: String,
    /// For runtimes, `ws://127.0.0.1:3200/r/…`.
    pub reflection: String,
    /// For spans and logs, `http://127.0.0.1:4033/t/…`.
    pub telemetry: String,
}

impl Urls {
    /// The API without its token, `http://127.0.0.1:4000`.
    pub fn base(&self) -> &str {
        self.page.split("/#").next().unwrap_or(&self.page)
    }
}

impl DevServer {
    /// Opens the doors and the data of the project.
    ///
    /// # Errors
    ///
    /// If a port is not free, or the data folder cannot be used; the text says which.
    pub async fn start(options: DevServerOptions) -> io::Result<Self> {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let data_dir = options.data_dir();
        let former = Former::find(&data_dir);
        let port_of = |door: &Option<FormerDoor>| door.as_ref().map(|door| door.port);
        let (reflection, telemetry) = (port_of(&former.reflection), port_of(&former.telemetry));
        let api = bind("API", options.host, &options.api_port, None).await?;
        let reflection = bind("reflection", loopback, &options.reflection_port, reflection).await?;
        let telemetry = bind("telemetry", loopback, &options.telemetry_port, telemetry).await?;
        let tokens = Tokens::new(former);
        let urls = tokens.urls(&api, &reflection, &telemetry);
        files::make_data_dir(&data_dir)?;
        let (traces, writer) = files::open_traces(&data_dir, options.traces.clone())?;
        let project = files::open_project(&data_dir)?;
        let runtimes = Runtimes::new(manager_options(&options, &reflection, &urls));
        runtimes.discover(&options.root).map_err(|error| {
            io::Error::other(error.message.unwrap_or_else(|| "runtimes cannot be called".into()))
        })?;
        let gate = Gate::new(&options, tokens.api.clone());
        let shared = Arc::new(Shared::new(options, runtimes.clone(), traces, project));
        let server = Self {
            files: files::Files::write(&shared.options.root, &data_dir, &urls, &tokens.api)?,
            _closing: shared.closing.clone().drop_guard(),
            shared,
            urls,
            connections: TaskTracker::new(),
        };
        let shared = Arc::downgrade(&server.shared);
        server.runtimes().explain_absence(move || shared.upgrade()?.app()?.status().why_absent());
        let router = routes::router(server.shared.clone());
        server.show_runtimes();
        server.open(api, Door::gated(gate, router));
        server.open(reflection, Door::runtimes(socket_route(runtimes, tokens.reflection)));
        let shared = Arc::downgrade(&server.shared);
        let own = move || shared.upgrade().map(|it| it.own_processes()).unwrap_or_default();
        let taken = server.shared.options.telemetry.clone();
        let taken = taken.with_own_processes(OwnProcesses::new(own));
        let taken = taken.with_looks(server.shared.looks.clone());
        let spans = telemetry_port(server.traces().clone(), tokens.telemetry, taken);
        server.take_spans(telemetry, Door::telemetry(spans), writer)?;
        Ok(server)
    }

    /// Where the doors are.
    pub fn urls(&self) -> &Urls {
        &self.urls
    }

    /// The variables that make a program a runtime of this server.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GENKIT_ENV", "dev".to_owned()),
            ("GENKIT_TELEMETRY_SERVER", self.urls.telemetry.clone()),
            ("GENKIT_REFLECTION_V2_SERVER", self.urls.reflection.clone()),
            ("GENKIT_ENABLE_REALTIME_TELEMETRY", "true".to_owned()),
        ]
    }

    /// The runtimes of the project.
    pub fn runtimes(&self) -> &Runtimes {
        &self.shared.runtimes
    }

    /// The traces of the project.
    pub fn traces(&self) -> &TraceStore {
        &self.shared.traces
    }

    /// What people have made in the project: data sets, evaluations.
    pub fn project(&self) -> &ProjectStore {
        &self.shared.project
    }

    /// From now on this application is shown, restarted and stopped.
    pub fn set_app(&self, app: Arc<dyn AppControl>) {
        self.shared.set_app(app);
    }

    /// Ready when somebody who may has asked the tools to end.
    pub async fn quit_requested(&self) {
        self.shared.quit.cancelled().await;
    }

    /// Closes the doors, ends all runs, and removes the files that name the doors.
    pub async fn close(self) {
        // Nobody is to find doors that close.
        self.files.remove();
        self.shared.closing.cancel();
        self.connections.close();
        self.shared.runtimes.shutdown().await;
        if tokio::time::timeout(DRAIN_TIME, self.connections.wait()).await.is_err() {
            tracing::warn!(open = self.connections.len(), "open requests are cut");
        }
    }

    /// Lets the official commands find the runtimes that dial in.
    fn show_runtimes(&self) {
        let (shared, api) = (self.shared.clone(), self.urls.api.clone());
        self.connections.spawn(async move {
            let (runtimes, closing) = (shared.runtimes.clone(), shared.closing.clone());
            bridge::keep_files(&shared.options.root, &api, runtimes, closing).await;
        });
    }

    fn open(&self, bound: Bound, door: Door) {
        for listener in bound.listeners {
            let (closing, tracker) = (self.shared.closing.clone(), self.connections.clone());
            self.connections.spawn(listen::listen(listener, door.clone(), closing, tracker));
        }
    }

    /// Takes spans on one thread, and writes them there. They are many small posts, of which
    /// each has to wait for a transaction: to hand them to other threads costs more than it
    /// gains, and those that come while one is written share the next. Runs do not wait
    /// behind spans.
    fn take_spans(&self, bound: Bound, door: Door, writer: TraceWriter) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connections = TaskTracker::new();
        {
            // The listeners and their tasks belong to the runtime of the thread.
            let _inside = runtime.enter();
            for listener in bound.listeners {
                let listener = TcpListener::from_std(listener.into_std()?)?;
                let closing = self.shared.closing.clone();
                let work = listen::listen(listener, door.clone(), closing, connections.clone());
                connections.spawn(work);
            }
        }
        connections.close();
        let served = self.connections.track_future(async move { connections.wait().await });
        std::thread::Builder::new().name("oxikit-telemetry".to_owned()).spawn(move || {
            runtime.spawn(always_wake_soon());
            let writes = runtime.spawn(writer.run());
            runtime.block_on(served);
            // Others may still store something.
            _ = runtime.block_on(writes);
        })?;
        Ok(())
    }
}

/// A timer that is set for an earlier time than all others makes a system call. Each post sets
/// one; beside this one none is the earliest.
async fn always_wake_soon() {
    let mut each_second = tokio::time::interval(Duration::from_secs(1));
    loop {
        each_second.tick().await;
    }
}

/// What opens the doors.
struct Tokens {
    api: Token,
    reflection: Token,
    telemetry: Token,
}

impl Tokens {
    /// New ones, but for the doors that others still dial.
    fn new(former: Former) -> Self {
        let Former { reflection, telemetry } = former;
        let (reflection, telemetry) = (FormerDoor::token(reflection), FormerDoor::token(telemetry));
        Self { api: Token::random(), reflection, telemetry }
    }

    fn urls(&self, api: &Bound, reflection: &Bound, telemetry: &Bound) -> Urls {
        let (base, token) = (api.url("http"), self.api.reveal());
        Urls {
            page: format!("{base}/#token={token}"),
            api: format!("{base}/k/{token}"),
            reflection: format!("{}/r/{}", reflection.url("ws"), self.reflection.reveal()),
            telemetry: format!("{}/t/{}", telemetry.url("http"), self.telemetry.reveal()),
        }
    }
}

fn manager_options(options: &DevServerOptions, reflection: &Bound, urls: &Urls) -> ManagerOptions {
    let manager = options
        .manager
        .clone()
        .with_telemetry_url(&urls.telemetry)
        .with_socket_url(reflection.url("ws"));
    match options.project_name() {
        Some(name) => manager.with_project_name(name),
        None => manager,
    }
}
