//! The settings for the developer tools, and their environment variables.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use oxikit_core::Registry;
use oxikit_telemetry::GenkitExporter;

use super::DevTools;
use super::sessions::AgentsApi;

/// The exporter for spans and logs of all applications whose settings come from the environment.
static EXPORTER: OnceLock<GenkitExporter> = OnceLock::new();

/// Settings for the developer tools.
///
/// By default the application listens on 127.0.0.1 (V1). Only [`from_env`](Self::from_env) reads
/// the environment.
///
/// ```no_run
/// use oxikit_reflection::DevConfig;
///
/// # async fn example(ai: oxikit_core::Registry) -> std::io::Result<()> {
/// let mut config = DevConfig::default();
/// config.manager = Some("ws://localhost:3200".to_owned()); // V2
/// let dev_tools = config.start(&ai).await?;
/// # dev_tools.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DevConfig {
    /// The name of the application in the tools. Default: the name of the program.
    pub name: Option<String>,
    /// The id of the runtime in the tools. Default: the process id, with the port for V1.
    pub runtime_id: Option<String>,
    /// URL of a manager to connect to (V2), such as `ws://localhost:3200`; `wss://` needs the
    /// feature `wss`. Without it the application listens and writes a runtime file (V1).
    pub manager: Option<String>,
    /// PEM file with certificates that are trusted for `wss://`, in addition to those of the
    /// system.
    pub manager_roots: Option<PathBuf>,
    /// V1: the host name or address to listen on. If other machines can reach it, a warning is
    /// logged, since only the token protects the actions then. Default: 127.0.0.1.
    pub host: String,
    /// V1: the port; 0 selects any free one. Default: the first free one of 3100 to 3200.
    pub port: Option<u16>,
    /// V1: the folder whose `.genkit/runtimes` contains the runtime file. Default: the project
    /// that the official tools find from this working directory.
    pub project_root: Option<PathBuf>,
    /// URL of the server for spans and logs. Default: the one that the tools send.
    pub telemetry_server: Option<String>,
    /// Whether spans are exported when they start too, not only when they end. The tools can
    /// then show a trace while its run is in progress. Default: `false`.
    pub is_realtime: bool,
    /// Answers requests about the sessions of agents.
    pub(crate) agents_api: Option<Arc<dyn AgentsApi>>,
    /// The exporter of the process; `None` makes one for the application.
    pub(crate) exporter: Option<GenkitExporter>,
}

impl Default for DevConfig {
    fn default() -> Self {
        Self {
            name: None,
            runtime_id: None,
            manager: None,
            manager_roots: None,
            host: "127.0.0.1".to_owned(),
            port: None,
            project_root: None,
            telemetry_server: None,
            is_realtime: false,
            agents_api: None,
            exporter: None,
        }
    }
}

impl DevConfig {
    /// Reads the settings from the environment; `None` unless `GENKIT_ENV` is `dev`.
    ///
    /// The official tools set those variables that they need. An empty one counts as not set.
    ///
    /// | variable | sets |
    /// | --- | --- |
    /// | `GENKIT_REFLECTION_V2_SERVER` | [`manager`](Self::manager), and so V2 |
    /// | `GENKIT_REFLECTION_HOST` | [`host`](Self::host) |
    /// | `GENKIT_REFLECTION_PORT` | [`port`](Self::port) |
    /// | `GENKIT_RUNTIME_ID` | [`runtime_id`](Self::runtime_id) |
    /// | `GENKIT_TELEMETRY_SERVER` | [`telemetry_server`](Self::telemetry_server) |
    /// | `GENKIT_ENABLE_REALTIME_TELEMETRY` | [`is_realtime`](Self::is_realtime), by `true` |
    ///
    /// ```no_run
    /// use oxikit_reflection::DevConfig;
    ///
    /// # async fn example(ai: oxikit_core::Registry) -> std::io::Result<()> {
    /// if let Some(mut config) = DevConfig::from_env()? {
    ///     config.name = Some("tea shop".to_owned());
    ///     let dev_tools = config.start(&ai).await?;
    /// #   dev_tools.close().await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If `GENKIT_REFLECTION_PORT` is not a port number.
    pub fn from_env() -> io::Result<Option<Self>> {
        let mut config = Self::from_variables(|name| std::env::var(name).ok())?;
        if let Some(config) = &mut config {
            // One exporter per process, because the process has one log.
            let make = || exporter(config.is_realtime);
            config.exporter = Some(EXPORTER.get_or_init(make).clone());
        }
        Ok(config)
    }

    /// Reads the settings from these variables. Tests pass their own.
    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> io::Result<Option<Self>> {
        // An empty variable counts as not set.
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        if variable("GENKIT_ENV").as_deref() != Some("dev") {
            return Ok(None);
        }
        let default = Self::default();
        Ok(Some(Self {
            runtime_id: variable("GENKIT_RUNTIME_ID"),
            manager: variable("GENKIT_REFLECTION_V2_SERVER"),
            host: variable("GENKIT_REFLECTION_HOST").unwrap_or(default.host),
            port: variable("GENKIT_REFLECTION_PORT").map(|port| port_number(&port)).transpose()?,
            telemetry_server: variable("GENKIT_TELEMETRY_SERVER"),
            is_realtime: variable("GENKIT_ENABLE_REALTIME_TELEMETRY").as_deref() == Some("true"),
            ..default
        }))
    }

    /// Sets the access to the sessions of agents; `oxikit_serve::dev_agents` makes one.
    #[must_use]
    pub fn with_agents_api(mut self, agents_api: Arc<dyn AgentsApi>) -> Self {
        self.agents_api = Some(agents_api);
        self
    }

    /// Gives the developer tools access to the actions of this application. Define all actions
    /// before: the tools list them as soon as they connect.
    ///
    /// With V1 the server listens when this returns. With V2 the connection is made in the
    /// background and repeated until it succeeds, so a manager that is not running yet is not an
    /// error. It has to be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// If the port is in use, the URL of the manager is invalid, or the runtime file cannot be
    /// written.
    pub async fn start(self, app: &impl AsRef<Registry>) -> io::Result<DevTools> {
        DevTools::start_with(self, app.as_ref()).await
    }
}

/// An exporter without a server.
pub(super) fn exporter(is_realtime: bool) -> GenkitExporter {
    let builder = GenkitExporter::builder();
    let builder = if is_realtime { builder } else { builder.ended_spans_only() };
    builder.build().expect("only a URL can be refused, and there is none")
}

fn port_number(text: &str) -> io::Result<u16> {
    text.parse().map_err(|_| {
        let message = format!("GENKIT_REFLECTION_PORT is `{text}`, not a port number");
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> io::Result<Option<DevConfig>> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        DevConfig::from_variables(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], change: impl FnOnce(&mut DevConfig)) {
        let mut expected = DevConfig::default();
        change(&mut expected);
        let config = read(&[&[("GENKIT_ENV", "dev")], variables].concat()).unwrap().unwrap();
        assert_eq!(format!("{config:?}"), format!("{expected:?}"), "{variables:?}");
    }

    #[test]
    fn only_the_development_environment_turns_the_tools_on() {
        for env in ["", "prod", "Dev", "development", "true"] {
            let variables = [("GENKIT_ENV", env), ("GENKIT_REFLECTION_PORT", "3100")];
            assert!(read(&variables).unwrap().is_none(), "{env}");
        }
        assert!(read(&[("GENKIT_REFLECTION_V2_SERVER", "ws://localhost:1")]).unwrap().is_none());
        check(&[], |_| {});
    }

    #[test]
    fn each_variable_sets_one_thing() {
        check(&[("GENKIT_RUNTIME_ID", "mine")], |config| config.runtime_id = Some("mine".into()));
        let manager = "ws://localhost:3200/r/secret?x=y";
        check(&[("GENKIT_REFLECTION_V2_SERVER", manager)], |config| {
            config.manager = Some(manager.into());
        });
        check(&[("GENKIT_REFLECTION_V2_SERVER", "")], |_| {});
        check(&[("GENKIT_REFLECTION_HOST", "::1")], |config| config.host = "::1".into());
        check(&[("GENKIT_REFLECTION_PORT", "3150")], |config| config.port = Some(3150));
        let telemetry = "http://localhost:4033";
        check(&[("GENKIT_TELEMETRY_SERVER", telemetry)], |config| {
            config.telemetry_server = Some(telemetry.into());
        });
        check(&[("GENKIT_ENABLE_REALTIME_TELEMETRY", "true")], |config| config.is_realtime = true);
        check(&[("GENKIT_ENABLE_REALTIME_TELEMETRY", "false")], |_| {});
    }

    #[test]
    fn an_invalid_port_number_is_rejected() {
        for port in ["x", "70000", "-1", "31 00"] {
            let error = read(&[("GENKIT_ENV", "dev"), ("GENKIT_REFLECTION_PORT", port)]);
            let error = error.unwrap_err().to_string();
            assert!(error.contains("GENKIT_REFLECTION_PORT") && error.contains(port), "{error}");
        }
    }
}
