//! The settings of the developer tools. A flag overrides an environment variable, which
//! overrides the file `.oxikit/config.toml`, which overrides the default.

mod origin;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use clap::Args;
use oxikit_traces::{ModelPrice, TraceOptions};
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::Failure;
use super::limits::Limits;
use crate::project::DATA_DIR;
pub(super) use origin::{Origin, Setting};
use origin::{Variables, pick, pick_port};
use oxikit_devtools::SETTINGS;
use oxikit_devtools::{DevServerOptions, PortChoice};
use oxikit_local::private_file::check_private;
use oxikit_local::untrusted_file::{MAX_SMALL, open, text_of};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MEGABYTE: u64 = 1 << 20;

/// The settings that have a flag.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SettingArgs {
    /// Restart the application when its files change. [env: OXIKIT_WATCH]
    #[arg(long)]
    watch: bool,
    /// The port of the API. Default: the first free one from 4000. [env: OXIKIT_PORT]
    #[arg(long, short)]
    port: Option<u16>,
    /// The port that runtimes connect to. Default: the first free one from 3200.
    /// [env: OXIKIT_REFLECTION_PORT]
    #[arg(long, value_name = "PORT")]
    reflection_port: Option<u16>,
    /// The port that receives spans. Default: the first free one from 4033.
    /// [env: OXIKIT_TELEMETRY_PORT]
    #[arg(long, value_name = "PORT")]
    telemetry_port: Option<u16>,
    /// The address that the API listens on. Default: 127.0.0.1, which only this machine can
    /// reach. [env: OXIKIT_HOST]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
    /// An additional host name that requests to the API may use, besides those of this
    /// machine. Repeatable.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The origin of a web page that may call the API, such as http://localhost:5173.
    /// Repeatable.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Reject spans and logs without a token. [env: OXIKIT_STRICT]
    #[arg(long)]
    strict: bool,
    /// Store traces and logs without redacting secrets. [env: OXIKIT_RAW]
    #[arg(long)]
    raw: bool,
    /// Maximum number of traces. Older ones are deleted. [env: OXIKIT_MAX_TRACES]
    #[arg(long, value_name = "NUMBER")]
    max_traces: Option<usize>,
    /// Delete traces after this number of days. [env: OXIKIT_MAX_DAYS]
    #[arg(long, value_name = "DAYS")]
    max_days: Option<u32>,
}

/// The settings in `.oxikit/config.toml`. Unknown names are rejected.
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
    strict: Option<bool>,
    raw: Option<bool>,
    max_traces: Option<usize>,
    max_days: Option<u32>,
    max_megabytes: Option<u64>,
    prices: Option<HashMap<String, ModelPrice>>,
    command: Option<Vec<String>>,
    prompts: Option<Vec<PathBuf>>,
    limits: Option<Limits>,
}

/// All settings, resolved. A port of `None` means the first free one of its range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) watch: Setting<bool>,
    pub(super) port: Setting<Option<u16>>,
    pub(super) reflection_port: Setting<Option<u16>>,
    pub(super) telemetry_port: Setting<Option<u16>>,
    pub(super) host: Setting<IpAddr>,
    pub(super) allow_host: Setting<Vec<String>>,
    pub(super) allow_origin: Setting<Vec<String>>,
    pub(super) strict: Setting<bool>,
    pub(super) raw: Setting<bool>,
    pub(super) max_traces: Setting<usize>,
    pub(super) max_days: Setting<u32>,
    /// Maximum size of the trace database. Beyond it the oldest traces are deleted.
    pub(super) max_megabytes: Setting<u64>,
    /// Prices of models, for the costs that traces show.
    pub(super) prices: Setting<HashMap<String, ModelPrice>>,
    pub(super) command: Setting<Option<Vec<String>>>,
    /// Folders with prompts, relative to the project.
    pub(super) prompts: Setting<Vec<PathBuf>>,
    pub(super) limits: Setting<Limits>,
}

impl Settings {
    /// Resolves all settings. `variable` reads the environment.
    ///
    /// # Errors
    ///
    /// If a variable or the file contains a value that is not valid.
    pub(super) fn resolve(
        flags: &SettingArgs,
        variable: impl Fn(&str) -> Option<String>,
        root: &Path,
    ) -> Result<Self, Failure> {
        // The file is read first, so that a mistake in it is reported even if flags override it.
        let file = read_file(&file_of(root))?;
        let env = Variables(variable);
        let kept = TraceOptions::default();
        let days = u32::try_from(kept.max_age.as_secs() / DAY.as_secs()).unwrap_or(u32::MAX);
        let some = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        Ok(Self {
            watch: pick(on(flags.watch), env.read("OXIKIT_WATCH")?, file.watch, false),
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
            strict: pick(on(flags.strict), env.read("OXIKIT_STRICT")?, file.strict, false),
            raw: pick(on(flags.raw), env.read("OXIKIT_RAW")?, file.raw, false),
            max_traces: pick(
                flags.max_traces,
                env.read("OXIKIT_MAX_TRACES")?,
                file.max_traces,
                kept.max_traces,
            ),
            max_days: pick(flags.max_days, env.read("OXIKIT_MAX_DAYS")?, file.max_days, days),
            max_megabytes: pick(None, None, file.max_megabytes, kept.max_bytes / MEGABYTE),
            prices: pick(None, None, file.prices, HashMap::new()),
            command: pick(None, None, file.command.map(Some), None),
            prompts: pick(None, None, file.prompts, Vec::new()),
            limits: pick(None, None, file.limits, Limits::default()),
        })
    }

    /// The options of the server of the developer tools.
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
        options.telemetry.strict = self.strict.value;
        options.telemetry.raw = self.raw.value;
        options.traces.max_traces = self.max_traces.value;
        options.traces.max_age = DAY * self.max_days.value;
        options.traces.max_bytes = self.max_megabytes.value.saturating_mul(MEGABYTE);
        options.traces.prices.clone_from(&self.prices.value);
        self.limits.value.set(&mut options.manager);
        options.prompts.clone_from(&self.prompts.value);
        options
    }

    /// The name, value and origin of each setting.
    pub(super) fn rows(&self) -> Vec<(&'static str, Value, Origin)> {
        vec![
            ("watch", json!(self.watch.value), self.watch.origin),
            ("port", json!(self.port.value), self.port.origin),
            ("reflection_port", json!(self.reflection_port.value), self.reflection_port.origin),
            ("telemetry_port", json!(self.telemetry_port.value), self.telemetry_port.origin),
            ("host", json!(self.host.value), self.host.origin),
            ("allow_host", json!(self.allow_host.value), self.allow_host.origin),
            ("allow_origin", json!(self.allow_origin.value), self.allow_origin.origin),
            ("strict", json!(self.strict.value), self.strict.origin),
            ("raw", json!(self.raw.value), self.raw.origin),
            ("max_traces", json!(self.max_traces.value), self.max_traces.origin),
            ("max_days", json!(self.max_days.value), self.max_days.origin),
            ("max_megabytes", json!(self.max_megabytes.value), self.max_megabytes.origin),
            ("prices", json!(self.prices.value), self.prices.origin),
            ("command", json!(self.command.value), self.command.origin),
            ("prompts", json!(self.prompts.value), self.prompts.origin),
            ("limits", json!(self.limits.value), self.limits.origin),
        ]
    }
}

/// The value of a flag. An absent flag does not override `true` from elsewhere.
fn on(flag: bool) -> Option<bool> {
    flag.then_some(true)
}

/// The path of the settings file of a project.
fn file_of(root: &Path) -> PathBuf {
    root.join(DATA_DIR).join(SETTINGS)
}

fn read_file(path: &Path) -> Result<SettingFile, Failure> {
    let refused =
        |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let (file, metadata) = match open(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SettingFile::default()),
        Err(error) => return Err(refused(&error)),
    };
    let text = text_of(file, MAX_SMALL).map_err(|error| refused(&error))?;
    let file: SettingFile = toml::from_str(&text).map_err(|error| refused(&error))?;
    // A cloned repository may contain a settings file, which must not open the tools to
    // others. Git does not store the mode 600, so a private file was made by the user (or the
    // user's umask makes all files private).
    let root = path.parent().and_then(Path::parent).unwrap_or(path);
    match (file.opening(root), check_private(&metadata)) {
        (Some(setting), Err(error)) => Err(refused(&format!(
            "`{setting}` gives others access, so it is only accepted in a file that no other user can read, but {error}; if you wrote the file, run `chmod 600 {}`",
            path.display()
        ))),
        _ => Ok(file),
    }
}

impl SettingFile {
    /// The name of a setting that lets others reach the developer tools, stores secrets, or serves
    /// files outside of the project.
    fn opening(&self, root: &Path) -> Option<&'static str> {
        let is_some = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|it| !it.is_empty());
        let settings = [
            ("host", self.host.is_some_and(|host| !host.is_loopback())),
            ("allow_host", is_some(&self.allow_host)),
            ("allow_origin", is_some(&self.allow_origin)),
            ("raw", self.raw == Some(true)),
            ("prompts", self.prompts.iter().flatten().any(|folder| is_outside(root, folder))),
        ];
        settings.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name)
    }
}

/// Whether a path leads out of the project, also by a symbolic link.
fn is_outside(root: &Path, folder: &Path) -> bool {
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let target = root.canonicalize().and_then(|root| Ok((root.join(folder).canonicalize()?, root)));
    let is_link = target.is_ok_and(|(target, root)| !target.starts_with(root));
    is_link || !folder.components().all(is_inside)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use oxikit_local::private_file::write_private;
    use oxikit_manager::ManagerOptions;

    fn resolve(
        flags: &SettingArgs,
        variables: &[(&str, &str)],
        file: &str,
    ) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(DATA_DIR)).unwrap();
        write_private(&file_of(dir.path()), file.as_bytes()).unwrap();
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
    fn a_project_may_have_limits_of_its_own() {
        let flags = SettingArgs::default();
        let settings = resolve(&flags, &[], "limits = { sockets = 7, ping_ms = 20 }").unwrap();
        let (set, usual) = (settings.server_options(".".into()).manager, ManagerOptions::default());
        assert_eq!((set.max_sockets, set.ping_interval), (7, Duration::from_millis(20)));
        assert_eq!(set.pong_timeout, usual.pong_timeout);
        assert!(resolve(&flags, &[], "limits = { socket = 7 }").unwrap_err().contains("socket"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let flags = SettingArgs::default();
        let refused =
            |variables: &[(&str, &str)], file: &str| resolve(&flags, variables, file).unwrap_err();
        assert!(refused(&[("OXIKIT_PORT", "many")], "").contains("OXIKIT_PORT"));
        assert!(refused(&[], "prot = 1").contains("prot"));
        assert!(refused(&[], "host = \"example\"").contains("host"));
        assert!(refused(&[], "[prices.m]\ninput = 1").contains("output"));
    }

    #[test]
    fn only_a_private_file_lets_others_in() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let check = |text: &str, mode: u32| {
            write_private(&path, text.as_bytes()).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            read_file(&path).map(drop).map_err(|failure| failure.to_json().to_string())
        };
        for (name, text) in [
            ("host", "host = \"0.0.0.0\""),
            ("allow_host", "allow_host = [\"evil.example\"]"),
            ("allow_origin", "allow_origin = [\"http://evil.example\"]"),
            ("raw", "raw = true"),
            ("prompts", "prompts = [\"prompts\", \"../others\"]"),
            ("prompts", "prompts = [\"/srv/prompts\"]"),
        ] {
            let refused = check(text, 0o644).unwrap_err();
            assert!(refused.contains(name) && refused.contains("chmod 600"), "{refused}");
            check(text, 0o600).unwrap();
        }
        let harmless =
            "host = \"127.0.0.2\"\nport = 1\nstrict = true\nraw = false\nprompts = [\"a/b\"]";
        check(harmless, 0o644).unwrap();
    }

    #[test]
    fn what_is_kept_and_taken_reaches_the_server() {
        let file = "raw = true\nmax_days = 2\nmax_megabytes = 3\n[prices.\"demo/model\"]\ninput = 0.3\noutput = 2.5";
        let flags = SettingArgs { max_traces: Some(5), ..SettingArgs::default() };
        let settings = resolve(&flags, &[("OXIKIT_STRICT", "true")], file).unwrap();
        let options = settings.server_options(PathBuf::new());
        assert!(options.telemetry.raw && options.telemetry.strict);
        assert_eq!((options.traces.max_traces, options.traces.max_age), (5, 2 * DAY));
        assert_eq!(options.traces.max_bytes, 3 << 20);
        let price = ModelPrice { input: 0.3, output: 2.5 };
        assert_eq!(options.traces.prices["demo/model"], price);
    }
}
