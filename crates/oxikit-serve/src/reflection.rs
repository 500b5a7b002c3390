//! The runtime's side of the developer tools: they list the actions and run them.

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

use crate::server::asked_to_end;
use identity::Identity;
pub use logs::dev_log_layer;
use runs::Runs;
use runtime_file::Announcement;
use runtime_id::RuntimeId;
pub use settings::DevConfig;

/// The official tools wait for the end of an application without a limit: it is
/// soon.
const CLOSE: Duration = Duration::from_millis(400);

/// The developer tools' way into an application, open until this is dropped or
/// [closed](Self::close).
///
/// [`Server::serve`](crate::Server::serve) and [`reflect`] have it by
/// themselves. An application with a main loop of its own keeps one:
///
/// ```no_run
/// # async fn example(ai: oxikit_core::Registry) -> std::io::Result<()> {
/// let dev_tools = oxikit_serve::DevTools::start(&ai).await?; // after all actions are defined
/// // … what the application does …
/// if let Some(dev_tools) = dev_tools {
///     dev_tools.close().await;
/// }
/// # Ok(())
/// # }
/// ```
pub struct DevTools {
    id: RuntimeId,
    door: Door,
    runs: Runs,
    ending: CancellationToken,
    /// `None` once it has been waited for.
    work: Option<JoinHandle<()>>,
}

/// How the tools come in.
enum Door {
    /// They call a server of this process, which a file tells of.
    Listens { url: String, announcement: Arc<Announcement> },
    /// This process has called them.
    Registers,
}

impl DevTools {
    /// Turns the developer tools on if `GENKIT_ENV` is `dev`, and does nothing
    /// otherwise. Define all actions before.
    ///
    /// With `GENKIT_REFLECTION_V2_SERVER` the application registers with that
    /// manager; else it listens on this machine and tells where in a file below
    /// `.genkit/runtimes`. See [`DevConfig::from_env`] for the variables.
    ///
    /// If the application has not set up [`tracing`], [`init_log`](crate::init_log)
    /// does it here.
    pub async fn start(app: &impl AsRef<Registry>) -> io::Result<Option<Self>> {
        let Some(config) = DevConfig::from_env()? else { return Ok(None) };
        crate::init_log();
        config.start(app).await.map(Some)
    }

    async fn start_with(config: DevConfig, registry: &Registry) -> io::Result<Self> {
        let exporter = export_spans(&config, registry)?;
        registry.show_failures();
        // Who was told by the environment is not told by the tools.
        let runs = Runs::new(registry.clone(), Arc::new(exporter.clone()));
        let telemetry = config.telemetry_server.is_none().then_some(exporter);
        match &config.manager {
            Some(manager) => {
                let manager = v2::Target::parse(manager, config.manager_roots.as_deref());
                let manager = manager.map_err(invalid)?;
                Ok(Self::register(&config, manager, runs, telemetry))
            }
            None => Self::listen(config, runs, telemetry).await,
        }
    }

    /// V2.
    fn register(
        config: &DevConfig,
        manager: v2::Target,
        runs: Runs,
        telemetry: Option<GenkitExporter>,
    ) -> Self {
        let (id, identity) = identify(config, std::process::id().to_string());
        let backoff = v2::Backoff::default();
        let settings = v2::Settings { manager, identity, telemetry, backoff };
        let ending = CancellationToken::new();
        let work = tokio::spawn(v2::attend(settings, runs.clone(), ending.clone()));
        Self { id, door: Door::Registers, runs, ending, work: Some(work) }
    }

    /// V1.
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
        // Connections wait in the listener's queue from here on.
        let announcement = Announcement::write(&project_root, &identity, &url, port)?;
        let announcement = Arc::new(announcement);
        let ending = CancellationToken::new();
        let serving = listening.serve(runs.clone(), identity.id, telemetry, ending.clone());
        let (file, ended) = (announcement.clone(), ending.clone());
        let work = tokio::spawn(async move {
            let withdrawn = async {
                ended.cancelled().await;
                file.remove();
            };
            tokio::join!(serving, withdrawn);
        });
        tracing::info!(port, id = id.as_str(), "the developer tools may call");
        Ok(Self { id, door: Door::Listens { url, announcement }, runs, ending, work: Some(work) })
    }

    /// What the tools know this runtime by.
    pub fn id(&self) -> &str {
        self.id.as_str()
    }

    /// Where the tools call (V1). It holds the token that lets them in: keep it
    /// out of logs.
    pub fn url(&self) -> Option<&str> {
        match &self.door {
            Door::Listens { url, .. } => Some(url),
            Door::Registers => None,
        }
    }

    /// Ends it: the file is gone, running actions are cancelled, the last spans
    /// are sent. Takes well under a second.
    pub async fn close(mut self) {
        self.withdraw();
        if let Some(work) = self.work.take() {
            _ = tokio::time::timeout(CLOSE, work).await;
        }
        if let Some(exporter) = self.runs.registry().exporter() {
            _ = tokio::time::timeout(CLOSE, exporter.flush()).await;
        }
    }

    fn withdraw(&self) {
        if let Door::Listens { announcement, .. } = &self.door {
            announcement.remove();
        }
        self.ending.cancel();
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl fmt::Debug for DevTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevTools").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// Lets the developer tools use an application that serves nothing else, until
/// the process is asked to end (Ctrl-C or SIGTERM).
///
/// It is an error to call this without the tools, that is, unless `GENKIT_ENV`
/// is `dev`: the application would do nothing. Spans also go to the collector that
/// OpenTelemetry's variables name, if they do.
///
/// ```no_run
/// use oxikit::prelude::*;
///
/// #[tokio::main]
/// async fn main() -> std::io::Result<()> {
///     let ai = Oxikit::builder().build();
///     ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
///     oxikit_serve::reflect(&ai).await
/// }
/// ```
///
/// ```sh
/// genkit start -- cargo run
/// ```
pub async fn reflect(app: &impl AsRef<Registry>) -> io::Result<()> {
    let Some(dev_tools) = DevTools::start(app).await? else {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the developer tools are off: start this program by `genkit start -- cargo run`, or set GENKIT_ENV=dev",
        ));
    };
    #[cfg(feature = "otlp")]
    crate::otlp::export(app.as_ref())?;
    asked_to_end().await;
    dev_tools.close().await;
    Ok(())
}

/// One exporter an application, however often the tools are started.
#[derive(Default)]
struct Exported(std::sync::OnceLock<GenkitExporter>);

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
