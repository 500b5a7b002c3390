//! The settings of the server.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use oxikit_sql::TraceOptions;

use super::AppControl;
use crate::manager::ManagerOptions;
use crate::telemetry::TelemetryOptions;

/// What a [`DevServer`](super::DevServer) is for and where it listens.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DevServerOptions {
    /// The folder of the project.
    pub root: PathBuf,
    /// Where data is kept; without it `.oxikit` in the project.
    pub data_dir: Option<PathBuf>,
    /// Where the API listens. Loopback stands for both of its addresses.
    pub host: IpAddr,
    /// The port of the API.
    pub api_port: PortChoice,
    /// The port that runtimes dial.
    pub reflection_port: PortChoice,
    /// The port that takes spans and logs.
    pub telemetry_port: PortChoice,
    /// Names, besides those of this machine, that the API may be called by.
    pub allow_hosts: Vec<String>,
    /// Origins of pages, besides its own, that may call the API.
    pub allow_origins: Vec<String>,
    /// Which spans and logs are taken, and what of them is stored.
    pub telemetry: TelemetryOptions,
    /// How much is kept of them, and what models cost.
    pub traces: TraceOptions,
    /// The limits of runtimes; where the doors are is filled in.
    pub manager: ManagerOptions,
    /// The application that belongs to the server; it can also be set later.
    pub app: Option<Arc<dyn AppControl>>,
}

/// Which port to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortChoice {
    /// The first that is free.
    FirstFree(RangeInclusive<u16>),
    /// This one, or none; 0 is any.
    Fixed(u16),
}

impl DevServerOptions {
    /// For the project in this folder, on the usual ports.
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
            app: None,
        }
    }

    /// On any free ports: for tests, and servers that live for one command.
    pub fn on_any_ports(mut self) -> Self {
        self.api_port = PortChoice::Fixed(0);
        self.reflection_port = PortChoice::Fixed(0);
        self.telemetry_port = PortChoice::Fixed(0);
        self
    }

    /// With this application.
    pub fn with_app(mut self, app: Arc<dyn AppControl>) -> Self {
        self.app = Some(app);
        self
    }

    /// Where data is kept.
    pub fn data_dir(&self) -> PathBuf {
        self.data_dir.clone().unwrap_or_else(|| self.root.join(".oxikit"))
    }

    /// The name of the project's folder.
    pub(super) fn project_name(&self) -> Option<String> {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        Some(root.file_name()?.to_string_lossy().into_owned())
    }
}
