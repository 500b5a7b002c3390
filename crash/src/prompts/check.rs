//! What must hold when nobody edits any more.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

use super::client::Client;
use super::manager::Project;
use super::socket::PAUSE;

/// Time within which all clients and the file must have the same text.
const QUIET: Duration = Duration::from_secs(10);

/// The texts that are not in a history. They are shown by their beginnings.
pub(super) fn missing<'a>(
    answered: impl IntoIterator<Item = &'a String>,
    history: &[String],
) -> Vec<String> {
    let history: HashSet<&str> = history.iter().map(String::as_str).collect();
    let missing = answered.into_iter().filter(|text| !history.contains(text.as_str()));
    missing.map(|text| format!("not in the history: {text:?}")).collect()
}

/// A document that nobody edits, and what is wrong with it.
pub(super) struct Quiet {
    /// One line for each client whose text differs.
    pub(super) differing: Vec<String>,
    /// One line if the file differs.
    pub(super) wrong_file: Vec<String>,
}

/// Waits until all clients of a document have its text. The files must have been compared before.
pub(super) async fn wait_until_quiet<'a>(
    project: &Project,
    id: &str,
    clients: impl IntoIterator<Item = &'a mut Client>,
) -> Result<Quiet> {
    let document = project.document(id).await?;
    let end = Instant::now() + QUIET;
    let mut differing = Vec::new();
    for client in clients {
        if !client.receive_text(&document.content, end).await? {
            let (text, content) = (&client.text, &document.content);
            differing.push(format!("{id}: a client has {text:?}, the manager {content:?}"));
        }
    }
    let mut file = fs::read_to_string(project.file(id))?;
    // Live clients are answered before the file is written.
    while file != document.content && Instant::now() < end {
        sleep(PAUSE).await;
        file = fs::read_to_string(project.file(id))?;
    }
    let mut wrong_file = Vec::new();
    if file != document.content {
        wrong_file.push(format!("{id}: the file has {file:?}, the manager {:?}", document.content));
    }
    Ok(Quiet { differing, wrong_file })
}
