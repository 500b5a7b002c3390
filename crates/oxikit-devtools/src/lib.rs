//! The server of the developer tools.
//!
//! [`DevServer`] listens on three ports of loopback. Runtimes connect to the first by WebSocket
//! (reflection V2), send their spans to the second (telemetry), and tools call the third, the
//! HTTP API. Each port has its own token, made at each start. The server does not start the
//! application and has no command line: `oxikit-cli` does both.
//!
//! The parts of the server are in other crates, and this one connects them: `oxikit-manager` has the
//! runtimes, `oxikit-traces` receives and stores spans, `oxikit-evaluation` has data sets and
//! evaluations, `oxikit-prompts` has the prompts of the project. Here are the routes of the API, among them those of the official tools, and the
//! files by which commands find the server.
//!
//! A page of another site must not be able to use the API, although it can send requests to
//! loopback. So every request needs the token, and its `Host` and `Origin` must be those of this
//! machine. The token is only in files that other users cannot read. The
//! URL that the user opens has a one-time code, with which the browser gets a cookie.
//!
//! ```no_run
//! use oxikit_devtools::{DevServer, DevServerOptions};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! let server = DevServer::start(DevServerOptions::new(".").on_any_ports()).await?;
//! println!("open {}", server.urls().page);
//! // An application that is started with these variables connects to the server.
//! for (name, value) in server.env() {
//!     println!("{name}={value}");
//! }
//! server.quit_requested().await;
//! server.close().await;
//! # Ok(()) }
//! ```

mod agents;
mod api;
mod app;
mod bridge;
mod doctor;
mod feed;
mod feed_sources;
mod files;
mod gate;
mod listen;
mod official;
mod openapi;
mod options;
mod previous;
mod prompts;
pub mod proof;
mod resume;
mod routes;
mod runs;
mod shapes;
mod shared;
mod sign_in;
mod trpc;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::ProjectStore;
use oxikit_prompts::Prompts;
use oxikit_traces::{TraceStore, TraceWriter};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub use app::how_to_connect;
pub use app::{AppControl, AppState, AppStatus};
pub use doctor::{Doctor, Finding, Verdict};
pub use files::ManagerFile;
pub use files::{SETTINGS, make_data_dir, project_path, traces_path};
use gate::Gate;
use listen::Port;
pub use options::DevServerOptions;
use oxikit_http::Token;
use oxikit_http::ports::BoundPort;
pub use oxikit_http::ports::PortChoice;
use oxikit_manager::{ManagerOptions, Runtimes, socket_route};
use oxikit_traces::{OwnProcesses, telemetry_port};
use previous::{Previous, PreviousPort};
pub use routes::openapi;
#[doc(hidden)]
pub use routes::route_table;
use shared::Shared;
use sign_in::SignIn;

/// Time for open requests to end when the server closes. Then they are cut.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// A running server of the developer tools. [`close`](Self::close) ends it in order.
///
/// A server that is dropped instead removes its files and stops listening too, but does not wait for
/// open requests.
///
/// ```
/// use oxikit_devtools::{DevServer, DevServerOptions};
///
/// # #[tokio::main] async fn main() -> std::io::Result<()> {
/// let project = tempfile::tempdir()?;
/// let server = DevServer::start(DevServerOptions::new(project.path()).on_any_ports()).await?;
/// assert!(server.runtimes().list().is_empty(), "no application was started");
/// assert!(project.path().join(".oxikit/manager.json").exists());
/// server.close().await;
/// assert!(!project.path().join(".oxikit/manager.json").exists());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct DevServer {
    shared: Arc<Shared>,
    urls: Urls,
    files: files::Files,
    connections: TaskTracker,
    /// Stops the threads of the server, also if it is dropped without [`close`](Self::close).
    _closing: DropGuard,
}

/// The URLs of the ports. Each contains the token of its port and must not be logged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Urls {
    /// The page for a browser, `http://127.0.0.1:4000/#code=…`. The code signs one browser in, once.
    pub page: String,
    /// The API for programs that accept only a URL: `http://127.0.0.1:4000/k/…`, to which
    /// `/api` is appended.
    pub api: String,
    /// The WebSocket of runtimes, `ws://127.0.0.1:3200/r/…`.
    pub reflection: String,
    /// The server of spans and logs, `http://127.0.0.1:4033/t/…`.
    pub telemetry: String,
}

impl Urls {
    /// The URL of the API without its token, `http://127.0.0.1:4000`. It may be logged. Requests to
    /// it need the token as a bearer token.
    pub fn base(&self) -> &str {
        self.page.split("/#").next().unwrap_or(&self.page)
    }
}

impl DevServer {
    /// Listens on the ports and opens the data of the project. A server that was killed in the
    /// same project is succeeded on its reflection and telemetry ports, so that its runtimes
    /// reconnect.
    ///
    /// The data folder is created if it is missing. Only one server should use it at a time: a second
    /// one replaces the file with the URLs, so that commands find the newer server.
    ///
    /// # Errors
    ///
    /// If a port is not free, or the data folder cannot be used; the message names it.
    pub async fn start(options: DevServerOptions) -> io::Result<Self> {
        // The ports are bound before anything is written, so that a server whose port is in use
        // fails without changing anything. The file with the URLs is written before they are served:
        // connections wait in the backlog meanwhile.
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let data_dir = options.data_dir();
        let previous = Previous::find(&data_dir);
        let port_of = |port: &Option<PreviousPort>| port.as_ref().map(|port| port.port);
        let (reflection, telemetry) = (port_of(&previous.reflection), port_of(&previous.telemetry));
        let api = BoundPort::bind("API", options.host, &options.api_port, None).await?;
        let reflection =
            BoundPort::bind("reflection", loopback, &options.reflection_port, reflection).await?;
        let telemetry =
            BoundPort::bind("telemetry", loopback, &options.telemetry_port, telemetry).await?;
        let tokens = Tokens::new(previous);
        files::make_data_dir(&data_dir)?;
        let sign_in = Arc::new(SignIn::new(tokens.api.clone(), api.port(), &data_dir));
        let urls = tokens.urls(&sign_in, &api, &reflection, &telemetry);
        // The project first: it takes people's work out of an old file of traces, which the
        // trace store may refuse.
        let project = files::open_project(&data_dir)?;
        let (traces, writer) = files::open_traces(&data_dir, options.traces.clone())?;
        let runtimes = Runtimes::new(manager_options(&options, &reflection, &urls));
        runtimes.discover(&options.root).map_err(|error| {
            io::Error::other(error.message.unwrap_or_else(|| "runtimes cannot be called".into()))
        })?;
        let gate = Gate::new(&options, sign_in.clone());
        let sign_in = (sign_in, urls.base().to_owned());
        let closing = CancellationToken::new();
        let prompts = prompts::open(&options, project.clone(), closing.clone()).await?;
        let shared =
            Shared::new(options, runtimes.clone(), traces, project, prompts, sign_in, closing);
        let shared = Arc::new(shared);
        let server = Self {
            files: files::Files::write(&shared.options.root, &data_dir, &urls, &tokens.api)?,
            _closing: shared.closing.clone().drop_guard(),
            shared,
            urls,
            connections: TaskTracker::new(),
        };
        // Weak references: the runtimes are part of the shared state and must not keep it alive.
        let shared = Arc::downgrade(&server.shared);
        server
            .runtimes()
            .set_no_runtime_hint(move || shared.upgrade()?.app()?.status().why_absent());
        let router = routes::router(server.shared.clone());
        server.show_runtimes();
        server.connections.spawn(feed_sources::follow(server.shared.clone()));
        server.open(api, Port::api(gate, router));
        server.open(reflection, Port::runtimes(socket_route(runtimes, tokens.reflection)));
        let shared = Arc::downgrade(&server.shared);
        let own = move || shared.upgrade().map(|it| it.own_processes()).unwrap_or_default();
        let shared = Arc::downgrade(&server.shared);
        let runtimes =
            move || shared.upgrade().map(|it| it.runtime_processes()).unwrap_or_default();
        let telemetry_options = server.shared.options.telemetry.clone();
        let processes = OwnProcesses::new(own).with_runtimes(runtimes);
        let telemetry_options = telemetry_options.with_own_processes(processes);
        let telemetry_options =
            telemetry_options.with_hidden_traces(server.shared.hidden_traces.clone());
        let spans = telemetry_port(server.traces().clone(), tokens.telemetry, telemetry_options);
        server.receive_spans(telemetry, Port::telemetry(spans), writer)?;
        Ok(server)
    }

    /// The URLs of the ports.
    pub fn urls(&self) -> &Urls {
        &self.urls
    }

    /// The environment variables with which a program connects to this server as a runtime. Their
    /// values contain tokens and must not be logged.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GENKIT_ENV", "dev".to_owned()),
            ("GENKIT_TELEMETRY_SERVER", self.urls.telemetry.clone()),
            ("GENKIT_REFLECTION_V2_SERVER", self.urls.reflection.clone()),
            ("GENKIT_ENABLE_REALTIME_TELEMETRY", "true".to_owned()),
        ]
    }

    /// The runtimes of the project, to run their actions from this process without HTTP.
    pub fn runtimes(&self) -> &Runtimes {
        &self.shared.runtimes
    }

    /// The traces of the project.
    pub fn traces(&self) -> &TraceStore {
        &self.shared.traces
    }

    /// The data sets and evaluations of the project. Unlike traces they are never removed
    /// automatically.
    pub fn project(&self) -> &Arc<dyn ProjectStore> {
        &self.shared.project
    }

    /// The prompts of the project.
    pub fn prompts(&self) -> &Prompts {
        self.shared.prompts.prompts()
    }

    /// Sets the application that the API shows, restarts and stops. It replaces that of the options.
    /// An application is started with [`env`](Self::env), which is known only after the start of the
    /// server.
    pub fn set_app(&self, app: Arc<dyn AppControl>) {
        self.shared.set_app(app);
    }

    /// Sets the checks that `GET /api/v1/doctor` runs.
    pub fn set_doctor(&self, doctor: Arc<dyn Doctor>) {
        self.shared.set_doctor(doctor);
    }

    /// Waits until a client of the API has asked the tools to quit. The caller then calls
    /// [`close`](Self::close).
    pub async fn quit_requested(&self) {
        self.shared.quit.cancelled().await;
    }

    /// Stops listening, cancels all runs, closes the WebSockets of prompts with 1001, waits up to two
    /// seconds for open requests, and removes the files with the URLs.
    pub async fn close(self) {
        // First the files, so that no command finds a server that closes.
        self.files.remove();
        self.shared.closing.cancel();
        self.connections.close();
        tokio::join!(self.shared.runtimes.shutdown(), self.shared.prompts.close());
        if tokio::time::timeout(DRAIN_TIME, self.connections.wait()).await.is_err() {
            tracing::warn!(open = self.connections.len(), "open requests were cut");
        }
    }

    /// Writes the files by which the official commands find the runtimes of this server.
    fn show_runtimes(&self) {
        let (shared, api) = (self.shared.clone(), self.urls.api.clone());
        self.connections.spawn(async move {
            let (runtimes, closing) = (shared.runtimes.clone(), shared.closing.clone());
            bridge::keep_files(&shared.options.root, &api, runtimes, closing).await;
        });
    }

    /// Serves a port on the runtime of the caller, one task per listener.
    fn open(&self, bound: BoundPort, port: Port) {
        for listener in bound.listeners {
            let (closing, tracker) = (self.shared.closing.clone(), self.connections.clone());
            self.connections.spawn(port.clone().serve(listener, closing, tracker));
        }
    }

    /// Serves the telemetry port and writes spans on one thread of its own. Spans arrive in many
    /// small posts, each of which waits for a transaction: passing them to other threads would
    /// cost more than it gains. Posts that arrive during a transaction share the next one. Runs,
    /// which other threads handle, do not wait for spans.
    fn receive_spans(&self, bound: BoundPort, port: Port, writer: TraceWriter) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connections = TaskTracker::new();
        {
            // The listeners and their tasks belong to the runtime of the thread.
            let _inside = runtime.enter();
            for listener in bound.listeners {
                let listener = TcpListener::from_std(listener.into_std()?)?;
                let closing = self.shared.closing.clone();
                let work = port.clone().serve(listener, closing, connections.clone());
                connections.spawn(work);
            }
        }
        connections.close();
        let served = self.connections.track_future(async move { connections.wait().await });
        std::thread::Builder::new().name("oxikit-telemetry".to_owned()).spawn(move || {
            runtime.spawn(keep_earliest_timer());
            let writes = runtime.spawn(writer.run());
            runtime.block_on(served);
            // Other parts of the server may still write traces, so the writer ends last.
            _ = runtime.block_on(writes);
        })?;
        Ok(())
    }
}

/// Keeps a timer of one second running. A timer that becomes the earliest of its runtime costs a
/// system call, and each post sets one; beside this timer none is the earliest.
async fn keep_earliest_timer() {
    let mut each_second = tokio::time::interval(Duration::from_secs(1));
    loop {
        each_second.tick().await;
    }
}

/// The tokens of the ports.
struct Tokens {
    api: Token,
    reflection: Token,
    telemetry: Token,
}

impl Tokens {
    /// New tokens, except for the ports to which the runtimes of a killed server reconnect.
    fn new(previous: Previous) -> Self {
        let Previous { reflection, telemetry } = previous;
        let (reflection, telemetry) =
            (PreviousPort::token(reflection), PreviousPort::token(telemetry));
        Self { api: Token::random(), reflection, telemetry }
    }

    /// The URLs of the ports. The page has its code in the fragment, which browsers do not send and
    /// servers do not log.
    fn urls(
        &self,
        sign_in: &SignIn,
        api: &BoundPort,
        reflection: &BoundPort,
        telemetry: &BoundPort,
    ) -> Urls {
        let (base, token) = (api.url("http"), self.api.reveal());
        Urls {
            page: format!("{base}/#code={}", sign_in.new_code(None)),
            api: format!("{base}/k/{token}"),
            reflection: format!("{}/r/{}", reflection.url("ws"), self.reflection.reveal()),
            telemetry: format!("{}/t/{}", telemetry.url("http"), self.telemetry.reveal()),
        }
    }
}

/// The options of the manager, with the URLs of this server filled in.
fn manager_options(
    options: &DevServerOptions,
    reflection: &BoundPort,
    urls: &Urls,
) -> ManagerOptions {
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
