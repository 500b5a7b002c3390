//! A caller of the REST API, which reads a document and changes what it has read.

use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use super::PATIENCE;
use super::manager::{Document, Project};
use super::socket::PAUSE;
use super::typist::Typist;

/// A caller.
pub(super) struct RestCaller {
    project: Project,
    id: String,
    pub(super) typist: Typist,
    /// The texts that were answered, also those that were refused.
    pub(super) answered: Vec<String>,
    pub(super) refused: usize,
}

impl RestCaller {
    pub(super) fn new(project: &Project, id: &str, typist: Typist) -> Self {
        let (project, id) = (project.clone(), id.to_owned());
        Self { project, id, typist, answered: Vec::new(), refused: 0 }
    }

    /// Edits this many times, with a pause before each edit and between reading and writing.
    pub(super) async fn edit(&mut self, edits: usize, longest_pause: Duration) -> Result<()> {
        for _ in 0..edits {
            sleep(longest_pause.mul_f64(self.typist.rng.f64())).await;
            let document = self.read().await?;
            sleep(longest_pause.mul_f64(self.typist.rng.f64() / 2.0)).await;
            let content = self.typist.edit(&document.content);
            match self.typist.rng.bool() {
                true => self.put_if_match(&document, content).await?,
                false => self.put_with_base(&document, content).await?,
            }
        }
        Ok(())
    }

    /// The document, as soon as the manager answers.
    async fn read(&self) -> Result<Document> {
        let began = Instant::now();
        loop {
            match self.project.document(&self.id).await {
                Err(error) if error.is::<reqwest::Error>() && began.elapsed() < PATIENCE => {
                    sleep(PAUSE).await;
                }
                read => return read,
            }
        }
    }

    /// Refused if the document has changed. Without an answer it is forgotten.
    async fn put_if_match(&mut self, document: &Document, content: String) -> Result<()> {
        let request = self.project.http.put(self.project.url(&self.id));
        let request = request.header("if-match", format!("\"{}\"", document.rev));
        if let Ok(response) = request.json(&json!({ "content": content })).send().await {
            self.take(response.status().as_u16(), content)?;
        }
        Ok(())
    }

    /// Merged if the document has changed. Without an answer it is sent again.
    async fn put_with_base(&mut self, document: &Document, content: String) -> Result<()> {
        let op = format!("op{}", self.typist.rng.u64(..));
        let body = json!({ "content": content, "base_rev": document.rev, "op": op });
        let began = Instant::now();
        loop {
            let sent = self.project.http.put(self.project.url(&self.id)).json(&body).send().await;
            match sent {
                Ok(response) => return self.take(response.status().as_u16(), content),
                Err(error) if began.elapsed() > PATIENCE => {
                    return Err(error).context("the manager cannot be reached");
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    fn take(&mut self, status: u16, content: String) -> Result<()> {
        match status {
            200 => {}
            412 => self.refused += 1,
            other => bail!("a change of `{}` was answered with {other}", self.id),
        }
        self.answered.push(content);
        Ok(())
    }
}
