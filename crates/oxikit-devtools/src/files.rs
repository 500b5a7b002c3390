//! The files of the server: its databases, and the files with its URLs by which commands find it.
//!
//! | file | content | may be deleted |
//! | --- | --- | --- |
//! | `.oxikit/manager.json` | the URLs and the token, for commands of oxikit | by the server |
//! | `.oxikit/devtools.db` | traces and logs | while the server does not run |
//! | `.oxikit/project.db` | data sets, evaluations and the history of prompts, which are the user's work | no |
//! | `.oxikit/sign-ins.json` | hashes of the cookies of browsers that have signed in | yes |
//! | `.oxikit/prompt_directories.json` | directories of prompts that were registered | no |
//! | `.genkit/servers/tools-PID.json` | the URL, for official commands | by the server |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit_core::timestamp;
use oxikit_sql::{OpenError, SqliteProject};
use oxikit_traces::{TraceOptions, TraceStore, TraceWriter};
use oxikit_wire::rpc::GENKIT_GITIGNORE;
use serde::{Deserialize, Serialize};

use super::{Urls, previous};
use oxikit_http::Token;
use oxikit_local::local_url::{is_local, is_token_path};
pub(crate) use oxikit_local::private_file::write_private;
use oxikit_local::private_file::{check_private, make_dir, make_private_dir, read_private};
use oxikit_local::untrusted_file::MAX_SMALL;

/// The name of the file with the settings of a project, in its data folder.
pub const SETTINGS: &str = "config.toml";

/// The file with the URLs and the token of a running server, for the commands that call it.
///
/// The `Debug` text omits the tokens, so it may be logged. Before a command trusts the server behind
/// the URL, it uses the challenge of [`proof`](crate::proof).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ManagerFile {
    /// The id of the process of the server.
    pub pid: u32,
    /// The version of the server.
    pub version: String,
    /// When the server was started (RFC 3339).
    pub started_at: String,
    /// The URL of the API, to which `/api` is appended, without its token.
    pub api_url: String,
    /// The bearer token of the API.
    pub token: String,
    /// The URL for runtimes, with its token.
    pub reflection_url: String,
    /// The URL for spans and logs, with its token.
    pub telemetry_url: String,
    /// The id of the boot of the machine; `None` where the system has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

impl ManagerFile {
    /// The file of the server that runs, or ran, for this data folder; `None` if there is none or
    /// it is not trusted, see [`load`](Self::load).
    pub fn read(data_dir: &Path) -> Option<Self> {
        Self::load(data_dir).ok().flatten()
    }

    /// Whether the process of the server still exists. Its id may belong to another program by now,
    /// so `true` does not prove that the server runs; see [`proof`](crate::proof).
    #[cfg(unix)]
    pub fn is_alive(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    /// The file of the server that runs, or ran, for this data folder; `None` if there is none.
    ///
    /// A cloned repository may contain such a file. It is trusted only if no other user can have
    /// written it, it was written since this machine was booted, and its URLs are those of this
    /// machine.
    ///
    /// # Errors
    ///
    /// The reason why a file is not trusted.
    ///
    /// # Examples
    ///
    /// ```
    /// use oxikit_devtools::ManagerFile;
    ///
    /// let dir = tempfile::tempdir().unwrap();
    /// assert_eq!(ManagerFile::load(dir.path()), Ok(None));
    /// ```
    pub fn load(data_dir: &Path) -> Result<Option<Self>, String> {
        let path = Self::path(data_dir);
        let refused = |reason: &dyn std::fmt::Display| {
            let path = path.display();
            format!(
                "{path} does not count: {reason}; start the tools with `oxikit start`, which replaces it"
            )
        };
        let text = match read_private(&path, MAX_SMALL) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(error) => return Err(refused(&error)),
        };
        // A user who can write the folder can replace every file in it.
        let folder = std::fs::symlink_metadata(data_dir).and_then(|folder| check_private(&folder));
        folder.map_err(|error| refused(&format!("of its folder, {error}")))?;
        let file: Self = serde_json::from_str(&text)
            .map_err(|error| refused(&format!("it is not the file of a server ({error})")))?;
        if file.boot != previous::boot() {
            return Err(refused(
                &"it is from another machine, or from before this one was started",
            ));
        }
        if !file.is_local() {
            return Err(refused(&"it names URLs that are not those of tools on this machine"));
        }
        Ok(Some(file))
    }

    /// The path of the file in a data folder.
    fn path(data_dir: &Path) -> PathBuf {
        data_dir.join("manager.json")
    }

    /// Whether the URLs have the form in which the server writes them. A file with another host could
    /// make a command send its token to a foreign server.
    fn is_local(&self) -> bool {
        let Self { api_url, reflection_url, telemetry_url, token, .. } = self;
        is_local(api_url, "http", |path| path == "/")
            && is_local(reflection_url, "ws", |path| is_token_path(path, "/r/"))
            && is_local(telemetry_url, "http", |path| is_token_path(path, "/t/"))
            && Token::known(token).is_some()
    }
}

impl std::fmt::Debug for ManagerFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pid, version, api_url, .. } = self;
        let mut debug = f.debug_struct("ManagerFile");
        debug.field("pid", pid).field("version", version).field("api_url", api_url);
        debug.finish_non_exhaustive()
    }
}

/// The files with the URLs. They are removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Files {
    data_dir: PathBuf,
    own: ManagerFile,
    tools: PathBuf,
}

impl Files {
    /// Writes the files. Only the user of this process can read them.
    pub(crate) fn write(
        root: &Path,
        data_dir: &Path,
        urls: &Urls,
        token: &Token,
    ) -> io::Result<Self> {
        let own = ManagerFile {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: timestamp::now(),
            api_url: urls.base().to_owned(),
            token: token.reveal().to_owned(),
            reflection_url: urls.reflection.clone(),
            telemetry_url: urls.telemetry.clone(),
            boot: previous::boot(),
        };
        write_private(&ManagerFile::path(data_dir), &serde_json::to_vec_pretty(&own)?)?;
        let tools = root.join(".genkit").join("servers").join(format!("tools-{}.json", own.pid));
        if let Err(error) = write_official(&tools, urls, &own.started_at) {
            tracing::warn!(%error, "the file for the official tools could not be written; they do not find this server");
        }
        Ok(Self { data_dir: data_dir.to_owned(), own, tools })
    }

    /// Removes the files, unless another server has replaced them.
    pub(crate) fn remove(&self) {
        if ManagerFile::read(&self.data_dir).is_some_and(|file| file == self.own) {
            remove(&ManagerFile::path(&self.data_dir));
        }
        remove(&self.tools);
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Writes the file by which the official tools find a server.
fn write_official(path: &Path, urls: &Urls, started_at: &str) -> io::Result<()> {
    make_dirs(path.parent().unwrap_or(path))?;
    let official = serde_json::json!({"url": urls.api, "timestamp": started_at});
    write_private(path, &serde_json::to_vec_pretty(&official)?)
}

/// Creates the folder of the data. Only its owner can read it, and Git ignores it. Of its files
/// only [`SETTINGS`], which the server does not write, may be a link.
///
/// # Errors
///
/// If the folder cannot be created, belongs to another user, or contains links.
///
/// # Examples
///
/// ```
/// use oxikit_devtools::make_data_dir;
///
/// let project = tempfile::tempdir()?;
/// let data_dir = project.path().join(".oxikit");
/// make_data_dir(&data_dir)?;
/// assert_eq!(std::fs::read_to_string(data_dir.join(".gitignore"))?, "*\n");
/// make_data_dir(&data_dir)?; // It may exist.
/// # Ok::<_, std::io::Error>(())
/// ```
pub fn make_data_dir(data_dir: &Path) -> io::Result<()> {
    make_private_dir(data_dir, |name| name == SETTINGS)?;
    let ignore = data_dir.join(".gitignore");
    if !ignore.exists() {
        write_private(&ignore, b"*\n")?;
    }
    Ok(())
}

/// The path of the database of traces. It may be deleted while the server does not run.
pub fn traces_path(data_dir: &Path) -> PathBuf {
    data_dir.join("devtools.db")
}

/// The path of the database of data sets, evaluations and the history of prompts. It is the user's
/// work: it is never pruned, and should be part of backups.
pub fn project_path(data_dir: &Path) -> PathBuf {
    data_dir.join("project.db")
}

/// Opens the traces of the project. The caller runs the writer.
pub(crate) fn open_traces(
    data_dir: &Path,
    options: TraceOptions,
) -> io::Result<(TraceStore, TraceWriter)> {
    let path = traces_path(data_dir);
    TraceStore::open_apart(&path, options).map_err(|error| {
        let holds = match &error {
            OpenError::Unreleased { .. } => {
                "it holds traces, and the data sets and evaluations, if any, that the log names \
                 as not moved"
            }
            _ => "it holds traces only, and can be moved or deleted",
        };
        cannot_be_used(&path, &error, holds)
    })
}

/// Opens the data sets, evaluations and the history of the prompts of the project. Those that earlier
/// versions stored beside the traces are moved.
pub(crate) fn open_project(data_dir: &Path) -> io::Result<Arc<SqliteProject>> {
    let path = project_path(data_dir);
    let project = SqliteProject::open_beside(&path, &traces_path(data_dir)).map_err(|error| {
        let holds = "it holds data sets, evaluations and the history of prompts: keep a copy of it";
        cannot_be_used(&path, &error, holds)
    })?;
    Ok(Arc::new(project))
}

/// The error for a database that cannot be opened: the path, the cause, and what to do with the file.
fn cannot_be_used(path: &Path, error: &OpenError, holds: &str) -> io::Error {
    let path = path.display();
    let repair = match error {
        OpenError::NotADatabase | OpenError::Damaged(_) => {
            " `oxikit doctor --repair` saves what can be read;"
        }
        _ => "",
    };
    io::Error::other(format!("{path} cannot be used ({error});{repair} {holds}"))
}

/// Creates a folder below `.genkit`. Links are refused, because the files there contain tokens.
/// For the same reason a `.gitignore` is written, unless there is one.
pub(crate) fn make_dirs(path: &Path) -> io::Result<()> {
    if let Some(genkit) = path.parent() {
        make_dir(genkit)?;
        let ignore = genkit.join(".gitignore");
        if fs::symlink_metadata(&ignore).is_err() {
            write_private(&ignore, GENKIT_GITIGNORE.as_bytes())?;
        }
    }
    make_dir(path)
}

fn remove(path: &Path) {
    // A missing file is not an error.
    _ = fs::remove_file(path);
}
