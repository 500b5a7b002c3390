//! What the server leaves on the disk: its data, and where its doors are.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use oxikit_core::timestamp;
use oxikit_sql::{OpenError, ProjectStore, TraceOptions, TraceStore};
use serde::{Deserialize, Serialize};

use super::{Urls, former};
use crate::manager::Token;

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
    /// The file of the server that runs, or ran, for this data folder.
    pub fn read(data_dir: &Path) -> Option<Self> {
        let text = fs::read(Self::path(data_dir)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn path(data_dir: &Path) -> PathBuf {
        data_dir.join("manager.json")
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
        // Where the official tools look for a server.
        let servers = root.join(".genkit").join("servers");
        make_dirs(&servers)?;
        let tools = servers.join(format!("tools-{}.json", own.pid));
        let official = serde_json::json!({"url": urls.api, "timestamp": own.started_at});
        write_private(&tools, &serde_json::to_vec_pretty(&official)?)?;
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

/// Makes the folder of the data, which only its owner can look into and nobody is to
/// check in.
pub(crate) fn make_data_dir(data_dir: &Path) -> io::Result<()> {
    make_dirs(data_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(data_dir, fs::Permissions::from_mode(0o700))?;
    }
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

/// Opens the traces of the project.
pub(crate) fn open_traces(data_dir: &Path, options: TraceOptions) -> io::Result<TraceStore> {
    let path = traces_path(data_dir);
    TraceStore::open_with(&path, options).map_err(|error| {
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

pub(crate) fn make_dirs(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("the folder {} cannot be made: {error}", path.display()),
        )
    })
}

/// Writes a file at once: whoever reads it sees all of it or the one before.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options.open(&fresh).and_then(|mut file| file.write_all(content));
    written.and_then(|()| fs::rename(&fresh, path)).map_err(|error| {
        remove(&fresh);
        io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
    })
}

fn remove(path: &Path) {
    // That it is gone already is as good.
    _ = fs::remove_file(path);
}
