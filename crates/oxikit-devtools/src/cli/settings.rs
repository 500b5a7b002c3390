//! The settings of the tools: flags before variables before the file before
//! defaults.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::Failure;
use crate::project::DATA_DIR;
use crate::server::{DevServerOptions, PortChoice};

/// What can be set on the command line.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SettingArgs {
    /// Start the application again when its files change. [env: OXIKIT_WATCH]
    #[arg(long)]
    watch: bool,
    /// The port of the API; else the first free one from 4000. [env: OXIKIT_PORT]
    #[arg(long, short)]
    port: Option<u16>,
    /// The port that runtimes dial; else the first free one from 3200.
    /// [env: OXIKIT_REFLECTION_PORT]
    #[arg(long, value_name = "PORT")]
    reflection_port: Option<u16>,
    /// The port that takes spans; else the first free one from 4033.
    /// [env: OXIKIT_TELEMETRY_PORT]
    #[arg(long, value_name = "PORT")]
    telemetry_port: Option<u16>,
    /// The address of the API; else only this machine can reach it. [env: OXIKIT_HOST]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
    /// A host name, besides those of this machine, that the API may be called by.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The origin of a page that may call the API, besides its own.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
}

/// What can be set in `.oxikit/config.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingFile {
    watch: Option<bool>,
    port: Option<u16>,
    reflection_port: Option<u16>,
    telemetry_port: Option<u16>,
    host: Option<IpAddr>,
    allow_host: Option<Vec<String>>,
    allow_origin: Option<Vec<String>>,
    command: Option<Vec<String>>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Flag,
    Variable(&'static str),
    File,
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable(name) => write!(f, "env {name}"),
            Self::File => write!(f, "file {DATA_DIR}/config.toml"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting<T> {
    pub(super) value: T,
    pub(super) origin: Origin,
}

/// All settings. A port of `None` is the first free one of its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) watch: Setting<bool>,
    pub(super) port: Setting<Option<u16>>,
    pub(super) reflection_port: Setting<Option<u16>>,
    pub(super) telemetry_port: Setting<Option<u16>>,
    pub(super) host: Setting<IpAddr>,
    pub(super) allow_host: Setting<Vec<String>>,
    pub(super) allow_origin: Setting<Vec<String>>,
    pub(super) command: Setting<Option<Vec<String>>>,
}

impl Settings {
    /// Puts them together; `variable` reads the environment.
    ///
    /// # Errors
    ///
    /// If a variable or the file holds what cannot be meant.
    pub(super) fn resolve(
        flags: &SettingArgs,
        variable: impl Fn(&str) -> Option<String>,
        root: &Path,
    ) -> Result<Self, Failure> {
        let file = read_file(&file_of(root))?;
        let env = Variables(variable);
        let some = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        Ok(Self {
            watch: pick(flags.watch.then_some(true), env.read("OXIKIT_WATCH")?, file.watch, false),
            port: pick_port(flags.port, env.read("OXIKIT_PORT")?, file.port),
            reflection_port: pick_port(
                flags.reflection_port,
                env.read("OXIKIT_REFLECTION_PORT")?,
                file.reflection_port,
            ),
            telemetry_port: pick_port(
                flags.telemetry_port,
                env.read("OXIKIT_TELEMETRY_PORT")?,
                file.telemetry_port,
            ),
            host: pick(
                flags.host,
                env.read("OXIKIT_HOST")?,
                file.host,
                IpAddr::V4(Ipv4Addr::LOCALHOST),
            ),
            allow_host: pick(some(&flags.allow_host), None, file.allow_host, Vec::new()),
            allow_origin: pick(some(&flags.allow_origin), None, file.allow_origin, Vec::new()),
            command: pick(None, None, file.command.map(Some), None),
        })
    }

    /// What the server is started with.
    pub(super) fn server_options(&self, root: PathBuf) -> DevServerOptions {
        let mut options = DevServerOptions::new(root);
        options.host = self.host.value;
        let fixed = |port: &Setting<Option<u16>>, choice: &mut PortChoice| {
            if let Some(port) = port.value {
                *choice = PortChoice::Fixed(port);
            }
        };
        fixed(&self.port, &mut options.api_port);
        fixed(&self.reflection_port, &mut options.reflection_port);
        fixed(&self.telemetry_port, &mut options.telemetry_port);
        options.allow_hosts.clone_from(&self.allow_host.value);
        options.allow_origins.clone_from(&self.allow_origin.value);
        options
    }

    /// Each with its name, its value and its origin.
    pub(super) fn rows(&self) -> Vec<(&'static str, Value, Origin)> {
        vec![
            ("watch", json!(self.watch.value), self.watch.origin),
            ("port", json!(self.port.value), self.port.origin),
            ("reflection_port", json!(self.reflection_port.value), self.reflection_port.origin),
            ("telemetry_port", json!(self.telemetry_port.value), self.telemetry_port.origin),
            ("host", json!(self.host.value), self.host.origin),
            ("allow_host", json!(self.allow_host.value), self.allow_host.origin),
            ("allow_origin", json!(self.allow_origin.value), self.allow_origin.origin),
            ("command", json!(self.command.value), self.command.origin),
        ]
    }
}

/// The file with the settings of a project.
fn file_of(root: &Path) -> PathBuf {
    root.join(DATA_DIR).join("config.toml")
}

fn read_file(path: &Path) -> Result<SettingFile, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SettingFile::default()),
        Err(error) => return Err(Failure::usage(format!("{}: {error}", path.display()))),
    };
    toml::from_str(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// The environment.
struct Variables<F>(F);

/// A value of a variable and the variable's name.
type FromVariable<T> = Option<(T, &'static str)>;

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    fn read<T: FromStr>(&self, name: &'static str) -> Result<FromVariable<T>, Failure> {
        let Some(text) = (self.0)(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse() {
            Ok(value) => Ok(Some((value, name))),
            Err(_) => Err(Failure::usage(format!("the variable {name} cannot be `{text}`"))),
        }
    }
}

fn pick<T>(flag: Option<T>, env: FromVariable<T>, file: Option<T>, default: T) -> Setting<T> {
    match (flag, env, file) {
        (Some(value), _, _) => Setting { value, origin: Origin::Flag },
        (None, Some((value, name)), _) => Setting { value, origin: Origin::Variable(name) },
        (None, None, Some(value)) => Setting { value, origin: Origin::File },
        (None, None, None) => Setting { value: default, origin: Origin::Default },
    }
}

fn pick_port(flag: Option<u16>, env: FromVariable<u16>, file: Option<u16>) -> Setting<Option<u16>> {
    let env = env.map(|(port, name)| (Some(port), name));
    pick(flag.map(Some), env, file.map(Some), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(
        flags: &SettingArgs,
        variables: &[(&str, &str)],
        file: &str,
    ) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(DATA_DIR)).unwrap();
        fs::write(file_of(dir.path()), file).unwrap();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::resolve(flags, variable, dir.path())
            .map_err(|failure| failure.to_json().to_string())
    }

    #[test]
    fn flags_come_before_variables_before_the_file_before_defaults() {
        let port = |flag: Option<u16>, variables: &[(&str, &str)], file: &str| {
            let flags = SettingArgs { port: flag, ..SettingArgs::default() };
            let port = resolve(&flags, variables, file).unwrap().port;
            (port.value, port.origin)
        };
        let (env, file) = ([("OXIKIT_PORT", "2")], "port = 3");
        assert_eq!(port(Some(1), &env, file), (Some(1), Origin::Flag));
        assert_eq!(port(None, &env, file), (Some(2), Origin::Variable("OXIKIT_PORT")));
        assert_eq!(port(None, &[], file), (Some(3), Origin::File));
        assert_eq!(port(None, &[], ""), (None, Origin::Default));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let flags = SettingArgs::default();
        let refused =
            |variables: &[(&str, &str)], file: &str| resolve(&flags, variables, file).unwrap_err();
        assert!(refused(&[("OXIKIT_PORT", "many")], "").contains("OXIKIT_PORT"));
        assert!(refused(&[], "prot = 1").contains("prot"));
        assert!(refused(&[], "host = \"example\"").contains("host"));
    }
}
