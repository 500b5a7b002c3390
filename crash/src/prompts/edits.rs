//! The manager is killed as soon as the last of 300 edits is acknowledged. All of them are in the
//! history, and the file has the newest state.

use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use tokio::time::Instant;

use super::Setting;
use super::check::{missing, wait_until_quiet};
use super::client::{Client, Style};
use super::manager::{Project, id};
use super::typist::{Typist, first_text};
use crate::figures::Figures;

/// Number of documents, of clients of each, and of edits of each client.
const DOCUMENTS: usize = 2;
const CLIENTS: usize = 3;
const EDITS: usize = 50;
/// Longest pause of a client between two edits.
const PAUSE: Duration = Duration::from_millis(40);
/// Longest time between the last acknowledgement and the kill.
const KILLED_WITHIN: Duration = Duration::from_millis(300);

pub(super) async fn run(setting: &mut Setting) -> Result<Figures> {
    let project = Project::new(setting, "edits", DOCUMENTS, &first_text())?;
    let manager = project.start().await?;
    let mut clients = Vec::new();
    for document in 0..DOCUMENTS {
        for client in 0..CLIENTS {
            let typist = Typist::new(&format!("c{client}"), &mut setting.rng);
            clients.push(Client::new(&project, &id(document), Style::Plain, typist));
        }
    }
    try_join_all(clients.iter_mut().map(|client| client.edit(EDITS, PAUSE))).await?;
    let acknowledged = Instant::now();
    manager.kill().await?;
    let killed = acknowledged.elapsed();
    let _manager = project.start().await?;

    let mut figures = Figures::default();
    figures.time("killed after", killed, KILLED_WITHIN);
    let (mut sent, mut lost, mut differing, mut wrong_files) = (0, Vec::new(), vec![], vec![]);
    for (document, clients) in clients.chunks_mut(CLIENTS).enumerate() {
        let quiet = wait_until_quiet(&project, &id(document), clients.iter_mut()).await?;
        differing.extend(quiet.differing);
        wrong_files.extend(quiet.wrong_file);
        let history = project.history(&id(document)).await?;
        for client in clients {
            sent += client.answered.len();
            lost.extend(missing(&client.answered, &history));
        }
    }
    figures.all("acknowledged", sent, DOCUMENTS * CLIENTS * EDITS);
    figures.all("in the history", sent - lost.len().min(sent), sent);
    figures.none("lost", &lost);
    figures.none("clients that differ", &differing);
    figures.none("files that are not the newest state", &wrong_files);
    Ok(figures)
}
