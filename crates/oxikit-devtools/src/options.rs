//! The options of the server. The command line reads them from its settings; embedders set them
//! directly.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use oxikit_traces::TraceOptions;

use oxikit_http::ports::PortChoice;

use super::AppControl;
use oxikit_manager::ManagerOptions;
use oxikit_traces::TelemetryOptions;

/// Options of a [`DevServer`](super::DevServer).
///
/// ```
/// use oxikit_devtools::{DevServerOptions, PortChoice};
///
/// let mut options = DevServerOptions::new("/srv/shop");
/// options.api_port = PortChoice::Fixed(4100);
/// options.allow_hosts.push("tools.example".to_owned());
/// assert!(options.data_dir().ends_with("shop/.oxikit"));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DevServerOptions {
    /// The folder of the project. Runtime files of official runtimes are found below its `.genkit`.
    pub root: PathBuf,
    /// The folder of the data. The default is `.oxikit` in the project.
    pub data_dir: Option<PathBuf>,
    /// The address on which the API listens. `127.0.0.1`, the default, means both loopback addresses.
    /// The other two ports listen on loopback only.
    pub host: IpAddr,
    /// The port of the API.
    pub api_port: PortChoice,
    /// The port to which runtimes connect.
    pub reflection_port: PortChoice,
    /// The port that receives spans and logs.
    pub telemetry_port: PortChoice,
    /// Host names, besides those of this machine, that the API accepts in the `Host` header. They are
    /// needed behind a proxy; others are rejected with 403, which prevents DNS rebinding.
    pub allow_hosts: Vec<String>,
    /// Origins, besides its own, whose pages may call the API, such as `http://localhost:5173`. The
    /// pages still need the token.
    pub allow_origins: Vec<String>,
    /// Which spans and logs are accepted, and whether secrets are stored.
    pub telemetry: TelemetryOptions,
    /// The limits of stored traces, and the prices of models.
    pub traces: TraceOptions,
    /// The limits of runtimes. The server fills in its URLs.
    pub manager: ManagerOptions,
    /// The folders with prompts, relative to the project. Default: those of
    /// [`project_directories`](oxikit_prompts::project_directories).
    pub prompts: Vec<PathBuf>,
    /// The application that the API shows, restarts and stops. It can also be set later, see
    /// [`DevServer::set_app`](super::DevServer::set_app).
    pub app: Option<Arc<dyn AppControl>>,
}

impl DevServerOptions {
    /// Options for the project in this folder, with the usual ports: the first free one from 4000
    /// (API), 3200 (reflection) and 4033 (telemetry).
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            data_dir: None,
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            api_port: PortChoice::FirstFree(4000..=4099),
            reflection_port: PortChoice::FirstFree(3200..=3400),
            telemetry_port: PortChoice::FirstFree(4033..=4999),
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            telemetry: TelemetryOptions::default(),
            traces: TraceOptions::default(),
            manager: ManagerOptions::default(),
            prompts: Vec::new(),
            app: None,
        }
    }

    /// Listens on any free ports: for tests, and for servers that run for one command.
    #[must_use]
    pub fn on_any_ports(mut self) -> Self {
        self.api_port = PortChoice::Fixed(0);
        self.reflection_port = PortChoice::Fixed(0);
        self.telemetry_port = PortChoice::Fixed(0);
        self
    }

    /// Sets the application, if it exists before the server is started.
    #[must_use]
    pub fn with_app(mut self, app: Arc<dyn AppControl>) -> Self {
        self.app = Some(app);
        self
    }

    /// The folder of the data: the chosen one, or `.oxikit` in the project.
    pub fn data_dir(&self) -> PathBuf {
        self.data_dir.clone().unwrap_or_else(|| self.root.join(".oxikit"))
    }

    /// The name of the project's folder.
    pub(super) fn project_name(&self) -> Option<String> {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        Some(root.file_name()?.to_string_lossy().into_owned())
    }
}
