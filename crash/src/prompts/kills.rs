//! The manager is killed in the middle of a flow of edits, each time right after one of them was
//! acknowledged. Its clients continue with the next process.

use std::time::Duration;

use anyhow::Result;
use futures_util::future::{try_join, try_join_all};

use super::Setting;
use super::check::{missing, wait_until_quiet};
use super::client::{Client, Style};
use super::manager::{Manager, Project, id};
use super::typist::{Typist, first_text};
use crate::figures::Figures;

/// Number of kills, and in the long form.
const KILLS: usize = 5;
const LONG_KILLS: usize = 50;
/// Number of documents. One of them has a client whose edits are followed by kills.
const DOCUMENTS: usize = 2;
/// The clients of each document.
const STYLES: [Style; 4] = [Style::Plain, Style::Plain, Style::Plain, Style::Revisions];
/// Number of edits of a client between two kills.
const EDITS: usize = 12;
/// Longest pause of a client between two edits.
const PAUSE: Duration = Duration::from_millis(40);

pub(super) async fn run(setting: &mut Setting) -> Result<Figures> {
    let kills = if setting.is_long { LONG_KILLS } else { KILLS };
    let project = Project::new(setting, "kills", DOCUMENTS, &first_text())?;
    let mut manager = project.start().await?;
    let mut clients: Vec<Vec<Client>> = Vec::new();
    for document in 0..DOCUMENTS {
        let client = |(number, style)| {
            let typist = Typist::new(&format!("c{number}"), &mut setting.rng);
            Client::new(&project, &id(document), style, typist)
        };
        clients.push(STYLES.into_iter().enumerate().map(client).collect());
    }
    let last = Typist::new("last", &mut setting.rng);
    let mut last = Client::new(&project, &id(0), Style::Plain, last);
    let (mut differing, mut wrong_files) = (Vec::new(), Vec::new());
    for _ in 0..kills {
        let edits = setting.rng.usize(1..EDITS);
        let flow = try_join_all(clients.iter_mut().flatten().map(|it| it.edit(EDITS, PAUSE)));
        (_, manager) = try_join(flow, kill_after(&mut last, edits, manager)).await?;
        for (document, clients) in clients.iter_mut().enumerate() {
            let quiet = wait_until_quiet(&project, &id(document), clients).await?;
            differing.extend(quiet.differing);
            wrong_files.extend(quiet.wrong_file);
        }
    }
    let connections = clients.iter().flatten().map(|client| client.connections).min();
    clients[0].push(last);
    let (mut acknowledged, mut lost, mut repeated) = (0, Vec::new(), 0);
    for (document, clients) in clients.iter().enumerate() {
        let history = project.history(&id(document)).await?;
        for client in clients {
            acknowledged += client.answered.len();
            repeated += client.repeated;
            lost.extend(missing(&client.answered, &history));
        }
    }
    drop(manager);
    let mut figures = Figures::default();
    figures.holds(&format!("{kills} kills"), connections > Some(kills));
    figures.holds(&format!("{acknowledged} edits acknowledged"), acknowledged > 0);
    figures.none("lost", &lost);
    figures.none("clients that differ", &differing);
    figures.none("files that are not the newest state", &wrong_files);
    figures.holds(&format!("{repeated} sent again"), true);
    Ok(figures)
}

/// Kills the manager as soon as the last of these edits is acknowledged, and starts it again.
async fn kill_after(last: &mut Client, edits: usize, manager: Manager) -> Result<Manager> {
    last.edit(edits, PAUSE).await?;
    manager.kill_and_restart().await
}
