//! A real `oxikit prompts` in a project folder of its own, and requests to its REST API.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use futures_util::{StreamExt, TryStreamExt, stream};
use oxikit_wire::prompts::{RevisionList, RevisionText};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::socket::PAUSE;
use super::{PATIENCE, Setting};
use crate::tasks::free_port;

/// Number of revisions that are read at the same time.
const PARALLEL: usize = 8;
/// Number of revisions of a page.
const PAGE: usize = 1000;

/// A folder with documents, and the address at which it is served. Clones are the same project.
#[derive(Clone)]
pub(super) struct Project {
    program: PathBuf,
    folder: PathBuf,
    /// The folder of the documents. It is part of their names in the database, which trials share.
    name: String,
    database: Option<String>,
    port: u16,
    pub(super) http: reqwest::Client,
}

/// A running `oxikit prompts`. It is killed when this is dropped.
pub(super) struct Manager {
    child: Child,
    project: Project,
}

/// A document as the REST API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Document {
    pub(super) content: String,
    pub(super) rev: u64,
}

impl Project {
    /// A project with this many documents, which all have this text.
    pub(super) fn new(
        setting: &mut Setting,
        name: &str,
        documents: usize,
        text: &str,
    ) -> Result<Self> {
        let project = Self {
            program: setting.program.clone(),
            folder: setting.folder.join(name),
            name: name.to_owned(),
            database: setting.database.clone(),
            port: free_port(&mut setting.rng)?,
            http: reqwest::Client::builder().no_proxy().build()?,
        };
        fs::create_dir_all(project.folder.join(name))?;
        // The folder is recognised as a project by this file.
        fs::write(project.folder.join("package.json"), "{}")?;
        for number in 0..documents {
            fs::write(project.file(&id(number)), text)?;
        }
        Ok(project)
    }

    /// The file of a document.
    pub(super) fn file(&self, id: &str) -> PathBuf {
        self.folder.join(&self.name).join(format!("{id}.md"))
    }

    /// The address of the WebSocket of a document.
    pub(super) fn socket_url(&self, id: &str) -> String {
        format!("ws://127.0.0.1:{}/api/prompts/ws/{id}", self.port)
    }

    /// The address of a path of the REST API.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/api/prompts/{path}", self.port)
    }

    /// Starts the manager and waits until it answers.
    pub(super) async fn start(&self) -> Result<Manager> {
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = Command::new(&self.program);
        // No variable of this process is a setting of the manager.
        command.env_clear().current_dir(&self.folder);
        command.args(["prompts", &self.name, "--port", &self.port.to_string()]);
        if let Some(database) = &self.database {
            command.args(["--database", database]);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let mut child = command.spawn()?;
        let began = Instant::now();
        while self.http.get(self.url("check_exists/any")).send().await.is_err() {
            if child.try_wait()?.is_some() || began.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.folder.join("log"))?;
                bail!("`oxikit prompts` does not start: {log}");
            }
            sleep(PAUSE).await;
        }
        Ok(Manager { child, project: self.clone() })
    }

    pub(super) async fn document(&self, id: &str) -> Result<Document> {
        self.get(id).await
    }

    /// Lets the manager compare all files with their documents now.
    pub(super) async fn reload(&self) -> Result<()> {
        let request = self.http.post(self.url("reload"));
        let request = request.header("content-type", "application/json");
        request.send().await?.error_for_status()?;
        Ok(())
    }

    /// All texts of the history of a document, the newest first.
    pub(super) async fn history(&self, id: &str) -> Result<Vec<String>> {
        let mut numbers = Vec::new();
        let mut path = format!("{id}/history?limit={PAGE}");
        loop {
            let page: RevisionList = self.get(&path).await?;
            numbers.extend(page.revisions.iter().map(|revision| revision.rev));
            match page.next {
                Some(next) => path = format!("{id}/history?limit={PAGE}&before={next}"),
                None => break,
            }
        }
        let texts = stream::iter(numbers).map(|number| async move {
            let revision: RevisionText = self.get(&format!("{id}/history/{number}")).await?;
            anyhow::Ok(revision.text.unwrap_or_default())
        });
        texts.buffered(PARALLEL).try_collect().await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let response = self.http.get(self.url(path)).send().await?;
        let status = response.status();
        let text = response.text().await?;
        serde_json::from_str(&text).with_context(|| format!("{path} answered {status}: {text}"))
    }
}

impl Manager {
    /// SIGKILL: the process can do nothing about it.
    pub(super) async fn kill(mut self) -> Result<()> {
        self.child.kill().await.context("the manager could not be killed")
    }

    /// Kills the process and starts another one for the same files, history and port.
    pub(super) async fn kill_and_restart(self) -> Result<Self> {
        let project = self.project.clone();
        self.kill().await?;
        project.start().await
    }
}

/// The id of a document of a project.
pub(super) fn id(number: usize) -> String {
    format!("d{number}")
}
