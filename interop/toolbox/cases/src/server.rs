//! A Toolbox as a child process, over a database with the schema of the library.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use url::Url;

/// Timeout of the start.
const START: Duration = Duration::from_secs(30);

/// A running Toolbox. It ends when this is dropped.
pub(crate) struct Toolbox {
    pub(crate) url: String,
    _process: Child,
    /// The file of SQLite.
    _folder: Option<TempDir>,
}

impl Toolbox {
    pub(crate) async fn over_postgres(
        program: &Path,
        files: &Path,
        database: &str,
    ) -> Result<Self> {
        let schema = std::fs::read_to_string(files.join("library.sql"))?;
        let mut connection = PgConnection::connect(database).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(schema)).execute(&mut connection).await?;
        let url = Url::parse(database)?;
        let mut command = Command::new(program);
        command
            .env("LIBRARY_HOST", url.host_str().unwrap_or("127.0.0.1"))
            .env("LIBRARY_PORT", url.port().unwrap_or(5432).to_string())
            .env("LIBRARY_DATABASE", url.path().trim_start_matches('/'))
            .env("LIBRARY_USER", url.username())
            .env("LIBRARY_PASSWORD", url.password().unwrap_or_default());
        Self::start(command, &files.join("postgres.yaml"), None).await
    }

    pub(crate) async fn over_sqlite(program: &Path, files: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("library.db");
        let schema = std::fs::read_to_string(files.join("library-sqlite.sql"))?;
        rusqlite::Connection::open(&file)?.execute_batch(&schema)?;
        let mut command = Command::new(program);
        command.env("LIBRARY_FILE", file);
        Self::start(command, &files.join("sqlite.yaml"), Some(folder)).await
    }

    async fn start(mut command: Command, config: &Path, folder: Option<TempDir>) -> Result<Self> {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut process = command
            .arg("--config")
            .arg(config)
            .args(["--address", "127.0.0.1", "--port", &port.to_string()])
            .args(["--allowed-hosts", "127.0.0.1", "--allowed-origins", "http://127.0.0.1"])
            .args(["--disable-version-check", "--disable-reload"])
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start Toolbox")?;
        let output = process.stdout.take().context("stdout is piped")?;
        tokio::time::timeout(START, ready(output)).await.context("Toolbox did not start")??;
        let url = format!("http://127.0.0.1:{port}");
        Ok(Self { url, _process: process, _folder: folder })
    }
}

/// Waits for the line that says that the server is ready. The rest of the output is read and thrown
/// away, so that the process never blocks on a full pipe.
async fn ready(output: tokio::process::ChildStdout) -> Result<()> {
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await? {
        eprintln!("{line}");
        if line.contains("Server ready to serve") {
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(());
        }
    }
    anyhow::bail!("Toolbox has ended")
}
