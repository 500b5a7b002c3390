//! What the server leaves on the disk: its data, and where its doors are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use oxikit_core::timestamp;
use oxikit_sql::{OpenError, ProjectStore, TraceOptions, TraceStore, TraceWriter};
use oxikit_wire::rpc::GENKIT_GITIGNORE;
use serde::{Deserialize, Serialize};

use super::{Urls, former};
use crate::local_url::{is_local, is_token_path};
use crate::manager::Token;
pub(crate) use crate::private_file::write_private;
use crate::private_file::{check_private, make_dir, make_private_dir, read_private};
use crate::untrusted_file::MAX_SMALL;

/// The settings of a project, in its data folder.
pub(crate) const SETTINGS: &str = "config.toml";

/// Names the doors of a running server, for the commands that call it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ManagerFile {
    /// The process of the server.
    pub pid: u32,
    /// The version of the server.
    pub version: String,
    /// Since when it runs.
    pub started_at: String,
    /// The API, before `/api`; the token is not in it.
    pub api_url: String,
    /// What opens the API, as a bearer token.
    pub token: String,
    /// For runtimes, with its token.
    pub reflection_url: String,
    /// For spans and logs, with its token.
    pub telemetry_url: String,
    /// The start of the machine, where the system has a name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

impl ManagerFile {
    /// The file of the server that runs, or ran, for this data folder; `None` also if
    /// there is one that does not count.
    pub fn read(data_dir: &Path) -> Option<Self> {
        Self::load(data_dir).ok().flatten()
    }

    /// The same, with what is wrong with a file that does not count. A cloned repository
    /// may bring one along: it counts only if nobody but us can have written it, since
    /// this machine was started, and it names addresses of this machine.
    pub(crate) fn load(data_dir: &Path) -> Result<Option<Self>, String> {
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
        // Of whoever can write the folder anything in it may be.
        let folder = std::fs::symlink_metadata(data_dir).and_then(|folder| check_private(&folder));
        folder.map_err(|error| refused(&format!("of its folder, {error}")))?;
        let file: Self = serde_json::from_str(&text)
            .map_err(|error| refused(&format!("it is not the file of a server ({error})")))?;
        if file.boot != former::boot() {
            return Err(refused(
                &"it is from another machine, or from before this one was started",
            ));
        }
        if !file.is_local() {
            return Err(refused(&"it names URLs that are not those of tools on this machine"));
        }
        Ok(Some(file))
    }

    fn path(data_dir: &Path) -> PathBuf {
        data_dir.join("manager.json")
    }

    /// Whether the URLs are as we write them.
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

/// The files that name the doors; they go with this.
#[derive(Debug)]
pub(crate) struct Files {
    data_dir: PathBuf,
    own: ManagerFile,
    tools: PathBuf,
}

impl Files {
    /// Writes them. Only the user of this process can read them.
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
            boot: former::boot(),
        };
        write_private(&ManagerFile::path(data_dir), &serde_json::to_vec_pretty(&own)?)?;
        let tools = root.join(".genkit").join("servers").join(format!("tools-{}.json", own.pid));
        if let Err(error) = write_official(&tools, urls, &own.started_at) {
            tracing::warn!(%error, "the official tools cannot find this server");
        }
        Ok(Self { data_dir: data_dir.to_owned(), own, tools })
    }

    /// Removes them, unless they are those of another server by now.
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

/// The file where the official tools look for a server.
fn write_official(path: &Path, urls: &Urls, started_at: &str) -> io::Result<()> {
    make_dirs(path.parent().unwrap_or(path))?;
    let official = serde_json::json!({"url": urls.api, "timestamp": started_at});
    write_private(path, &serde_json::to_vec_pretty(&official)?)
}

/// Makes the folder of the data, which only its owner can look into and nobody is to
/// check in. Of its files only the settings, which are not written, may be a link.
pub(crate) fn make_data_dir(data_dir: &Path) -> io::Result<()> {
    make_private_dir(data_dir, |name| name == SETTINGS)?;
    let ignore = data_dir.join(".gitignore");
    if !ignore.exists() {
        write_private(&ignore, b"*\n")?;
    }
    Ok(())
}

/// The file of the traces, which may be deleted.
pub(crate) fn traces_path(data_dir: &Path) -> PathBuf {
    data_dir.join("devtools.db")
}

/// The file of what people have made: data sets, evaluations.
pub(crate) fn project_path(data_dir: &Path) -> PathBuf {
    data_dir.join("project.db")
}

/// Opens the traces of the project, and leaves it to the caller where they are written.
pub(crate) fn open_traces(
    data_dir: &Path,
    options: TraceOptions,
) -> io::Result<(TraceStore, TraceWriter)> {
    let path = traces_path(data_dir);
    TraceStore::open_apart(&path, options).map_err(|error| {
        cannot_be_used(&path, &error, "it holds traces only, and can be moved or deleted")
    })
}

/// Opens the people's work of the project; what earlier versions have kept beside the
/// traces is moved there.
pub(crate) fn open_project(data_dir: &Path) -> io::Result<ProjectStore> {
    let path = project_path(data_dir);
    ProjectStore::open_beside(&path, &traces_path(data_dir)).map_err(|error| {
        cannot_be_used(&path, &error, "it holds data sets and evaluations: keep a copy of it")
    })
}

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

/// Makes a folder below `.genkit`. Links are refused: what is written there holds tokens.
/// So Git is told to ignore it, unless somebody else has told it what to ignore.
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
    // That it is gone already is as good.
    _ = fs::remove_file(path);
}
