//! The runtime's side of reflection: Genkit's developer tools list the actions of an
//! application and run them.
//!
//! An application uses it through `oxikit-serve`, which adds the sessions of its agents. With
//! V1 the tools call an HTTP server of this process, which a file below `.genkit/runtimes`
//! announces; with V2 this process connects to a manager by WebSocket. The manager's side is
//! in `oxikit-manager`.
//!
//! | | V1 | V2 |
//! | --- | --- | --- |
//! | who connects | the tools, over HTTP | this process, by WebSocket |
//! | chosen by | default | [`DevConfig::manager`], `GENKIT_REFLECTION_V2_SERVER` |
//! | protected by | a random token in the URL | the URL of the manager |
//! | a run is cancelled | by a request, or when its connection is closed | by a request only |
//! | inputs of a running action | one, with the request | a stream of messages |
//!
//! The tools may run every action, also those that a server does not expose, and see errors
//! with all of their causes. So reflection is only for development: servers start it only if
//! [`DevConfig::from_env`] finds `GENKIT_ENV=dev`.

mod failure;
mod identity;
mod logs;
mod runs;
mod runtime_file;
mod runtime_id;
mod sessions;
mod settings;
mod v1;
mod v2;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::{Registry, Status};
use oxikit_telemetry::GenkitExporter;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use identity::Identity;
pub use logs::dev_log_layer;
use runs::Runs;
use runtime_file::RuntimeFileGuard;
use runtime_id::RuntimeId;
pub use sessions::{AgentsApi, SessionRequest};
pub use settings::DevConfig;

/// Timeout of each step of [`DevTools::close`]. The official tools wait for the end of an
/// application without a limit, so it must be short.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(400);

/// Gives the developer tools access to an application, until it is dropped or
/// [closed](Self::close).
///
/// `oxikit_serve::Server::serve` and `oxikit_serve::reflect` start it themselves.
///
/// ```no_run
/// use oxikit_reflection::DevConfig;
///
/// # async fn example(ai: oxikit_core::Registry) -> std::io::Result<()> {
/// let dev_tools = DevConfig::default().start(&ai).await?; // after all actions are defined
/// // … what the application does …
/// dev_tools.close().await;
/// # Ok(())
/// # }
/// ```
pub struct DevTools {
    id: RuntimeId,
    protocol: Protocol,
    runs: Runs,
    ending: CancellationToken,
    /// The background task; `None` once `close` waits for it.
    work: Option<JoinHandle<()>>,
}

/// The protocol that the tools use.
enum Protocol {
    /// The tools call a server of this process, whose URL they read from a file.
    V1 { url: String, runtime_file: Arc<RuntimeFileGuard> },
    /// This process connects to a manager.
    V2,
}

impl DevTools {
    /// Starts V2 if a manager is configured, else V1.
    async fn start_with(config: DevConfig, registry: &Registry) -> io::Result<Self> {
        let exporter = export_spans(&config, registry)?;
        registry.show_failures();
        // An environment variable overrides what the manager sends.
        let runs = Runs::new(registry.clone(), Arc::new(exporter.clone()))
            .with_agents_api(config.agents_api.clone());
        let telemetry = config.telemetry_server.is_none().then_some(exporter);
        match &config.manager {
            Some(manager) => {
                let manager = v2::ManagerAddress::parse(manager, config.manager_roots.as_deref());
                let manager = manager.map_err(invalid)?;
                Ok(Self::register(&config, manager, runs, telemetry))
            }
            None => Self::listen(config, runs, telemetry).await,
        }
    }

    /// Connects to a manager (V2).
    fn register(
        config: &DevConfig,
        manager: v2::ManagerAddress,
        runs: Runs,
        telemetry: Option<GenkitExporter>,
    ) -> Self {
        let (id, identity) = identify(config, std::process::id().to_string());
        let backoff = v2::Backoff::default();
        let settings = v2::Settings { manager, identity, telemetry, backoff };
        let ending = CancellationToken::new();
        let work = tokio::spawn(v2::serve_manager(settings, runs.clone(), ending.clone()));
        Self { id, protocol: Protocol::V2, runs, ending, work: Some(work) }
    }

    /// Listens for the tools (V1).
    async fn listen(
        config: DevConfig,
        runs: Runs,
        telemetry: Option<GenkitExporter>,
    ) -> io::Result<Self> {
        let listening = v1::Listening::bind(&config.host, config.port).await?;
        let (port, url) = (listening.port(), listening.url());
        let (id, identity) = identify(&config, format!("{}-{port}", std::process::id()));
        let project_root = match config.project_root {
            Some(root) => root,
            None => runtime_file::project_root(&std::env::current_dir()?).to_owned(),
        };
        // The listener accepts connections already: the tools connect as soon as the file exists.
        let runtime_file = RuntimeFileGuard::write(&project_root, &identity, &url, port)?;
        let runtime_file = Arc::new(runtime_file);
        let ending = CancellationToken::new();
        let serving = listening.serve(runs.clone(), identity.id, telemetry, ending.clone());
        let (file, ended) = (runtime_file.clone(), ending.clone());
        let work = tokio::spawn(async move {
            let remove_file = async {
                ended.cancelled().await;
                file.remove();
            };
            tokio::join!(serving, remove_file);
        });
        tracing::info!(port, id = id.as_str(), "listening for the developer tools");
        Ok(Self {
            id,
            protocol: Protocol::V1 { url, runtime_file },
            runs,
            ending,
            work: Some(work),
        })
    }

    /// The id of this runtime, as the tools show it. It is unique in this process: a second
    /// application with the same id in its settings gets a number behind it.
    pub fn id(&self) -> &str {
        self.id.as_str()
    }

    /// The URL that the tools call (V1); `None` with V2. It contains the access token: keep it
    /// out of logs.
    pub fn url(&self) -> Option<&str> {
        match &self.protocol {
            Protocol::V1 { url, .. } => Some(url),
            Protocol::V2 => None,
        }
    }

    /// Ends the access: removes the runtime file, cancels running actions and sends the last
    /// spans. Takes less than a second; spans that cannot be sent in that time are lost.
    ///
    /// Dropping the value does the same without waiting, so the last spans may be missing.
    pub async fn close(mut self) {
        self.stop();
        if let Some(work) = self.work.take() {
            _ = tokio::time::timeout(CLOSE_TIMEOUT, work).await;
        }
        if let Some(exporter) = self.runs.registry().exporter() {
            _ = tokio::time::timeout(CLOSE_TIMEOUT, exporter.flush()).await;
        }
    }

    /// Removes the runtime file and cancels the background task. May be called twice.
    fn stop(&self) {
        if let Protocol::V1 { runtime_file, .. } = &self.protocol {
            runtime_file.remove();
        }
        self.ending.cancel();
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for DevTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevTools").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// The exporter of an application. It is added once, however often the tools are started.
#[derive(Default)]
struct Exported(std::sync::OnceLock<GenkitExporter>);

/// Adds the exporter for spans to the application, and sets its server if the settings have one.
fn export_spans(config: &DevConfig, registry: &Registry) -> io::Result<GenkitExporter> {
    let exported = registry.state::<Exported>();
    let exporter = exported.0.get_or_init(|| {
        let exporter = config.exporter.clone();
        let exporter = exporter.unwrap_or_else(|| settings::exporter(config.is_realtime));
        registry.add_exporter(Arc::new(exporter.clone()));
        exporter
    });
    if let Some(server) = &config.telemetry_server {
        exporter.set_server(server).map_err(invalid)?;
    }
    Ok(exporter.clone())
}

fn invalid(status: Status) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, status)
}

/// The id and the name of the runtime, from the settings or from the process.
fn identify(config: &DevConfig, default: String) -> (RuntimeId, Identity) {
    let id = RuntimeId::claim(config.runtime_id.as_ref().unwrap_or(&default));
    let program = || {
        let path = std::env::current_exe().ok()?;
        Some(path.file_stem()?.to_string_lossy().into_owned())
    };
    let name = config.name.clone().or_else(program).unwrap_or_else(|| id.as_str().to_owned());
    let identity = Identity { id: id.as_str().to_owned(), pid: std::process::id(), name };
    (id, identity)
}

/// Method and path of the routes of V1 below its token, for tests that call all of them.
#[doc(hidden)]
pub fn v1_route_table() -> Vec<(&'static str, &'static str)> {
    v1::route_table()
}
