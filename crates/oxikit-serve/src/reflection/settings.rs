//! How the developer tools are reached, as values.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use oxikit_core::Registry;
use oxikit_telemetry::GenkitExporter;

use super::DevTools;

/// Where the spans of all applications of this process go, and its log, if the
/// environment is asked.
static EXPORTER: OnceLock<GenkitExporter> = OnceLock::new();

/// How an application meets the developer tools.
///
/// The default is an application that waits for them on 127.0.0.1 (V1). Only
/// [`from_env`](Self::from_env) reads the environment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DevConfig {
    /// The name of the application in the tools; else that of the program.
    pub name: Option<String>,
    /// What the tools know this runtime by. Else the number of its process, with
    /// the port it listens on (V1).
    pub runtime_id: Option<String>,
    /// The socket of a manager to register with (V2), such as
    /// `ws://localhost:3200`; `wss://` needs the feature `wss`. Without one the application listens for requests
    /// and leaves a file that tells where (V1).
    pub manager: Option<String>,
    /// Certificates that are trusted for `wss://` beside those of the system: a file
    /// in PEM.
    pub manager_roots: Option<PathBuf>,
    /// V1: where to listen.
    pub host: String,
    /// V1: the port; 0 takes a free one. Else the first free one of 3100 to 3200.
    pub port: Option<u16>,
    /// V1: the folder whose `.genkit/runtimes` takes the file. Else the one that
    /// the official tools take when they are started in this working directory.
    pub project_root: Option<PathBuf>,
    /// Where spans and logs go. Without one, where the tools say.
    pub telemetry_server: Option<String>,
    /// Whether spans are shown while they run, not only when they have ended.
    pub is_realtime: bool,
    /// Sends the spans, if there is one before the tools are started.
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
            exporter: None,
        }
    }
}

impl DevConfig {
    /// What the environment says; `None` unless `GENKIT_ENV` is `dev`.
    ///
    /// The other variables are `GENKIT_REFLECTION_V2_SERVER`,
    /// `GENKIT_REFLECTION_HOST`, `GENKIT_REFLECTION_PORT`, `GENKIT_RUNTIME_ID`,
    /// `GENKIT_TELEMETRY_SERVER` and `GENKIT_ENABLE_REALTIME_TELEMETRY`; the
    /// official tools set what they need.
    pub fn from_env() -> io::Result<Option<Self>> {
        let mut config = Self::from_variables(|name| std::env::var(name).ok())?;
        if let Some(config) = &mut config {
            // One for the process, whoever asks first: its log has one way out.
            let make = || exporter(config.is_realtime);
            config.exporter = Some(EXPORTER.get_or_init(make).clone());
        }
        Ok(config)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> io::Result<Option<Self>> {
        // Set to nothing is not set.
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

    /// Lets the developer tools see and run the actions of this application.
    pub async fn start(self, app: &impl AsRef<Registry>) -> io::Result<DevTools> {
        DevTools::start_with(self, app.as_ref()).await
    }
}

/// An exporter that knows no server yet.
pub(super) fn exporter(is_realtime: bool) -> GenkitExporter {
    let exporter = GenkitExporter::builder().realtime(is_realtime).build();
    exporter.expect("only a URL can be refused, and there is none")
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
    fn a_port_that_is_none_is_refused() {
        for port in ["x", "70000", "-1", "31 00"] {
            let error = read(&[("GENKIT_ENV", "dev"), ("GENKIT_REFLECTION_PORT", port)]);
            let error = error.unwrap_err().to_string();
            assert!(error.contains("GENKIT_REFLECTION_PORT") && error.contains(port), "{error}");
        }
    }
}
