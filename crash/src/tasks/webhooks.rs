//! The receiver of notifications goes away while tasks run, and the server is killed meanwhile.
//! When the receiver is back it must be told every event of every task, in order. Half of the
//! webhooks are registered with version 0.3, which tells the changes of the status only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use oxikit_wire::a2a::Version;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::process::Server;
use super::reader::{Reader, Seen};
use super::receiver::{Notification, Receiver};
use super::{Setting, Verdict, free_port};

const TASKS: usize = 100;
/// Maximum number of chunks of a task: some have ended when the server is killed, others run.
const MAX_CHUNKS: usize = 150;
/// Number of notifications that arrive before the receiver goes away.
const BEFORE: usize = 100;
/// Time that the receiver is away, and in the long form.
const AWAY: Duration = Duration::from_secs(5);
const LONG_AWAY: Duration = Duration::from_secs(60);
/// Number of times that the server is killed meanwhile, and in the long form.
const KILLS: u32 = 1;
const LONG_KILLS: u32 = 3;
/// Time within which all must be delivered when the receiver is back. The last retries before are
/// 54 s apart, give or take a quarter.
const DELIVERY: Duration = Duration::from_secs(180);

/// A task and its webhook.
struct Watched {
    id: String,
    reader: Reader,
}

pub(super) async fn run(setting: &mut Setting) -> Result<Verdict> {
    let (away, kills) = match setting.is_long {
        true => (LONG_AWAY, LONG_KILLS),
        false => (AWAY, KILLS),
    };
    let rng = &mut setting.rng;
    let mut receiver = Receiver::start(free_port(rng)?).await?;
    let mut server = Server::start(&setting.store, free_port(rng)?).await?;
    let tasks = begin_tasks(&server, &receiver, rng).await?;
    let before = receiver.wait_for(|received| received.len() >= BEFORE);
    timeout(DELIVERY, before).await.context("no notifications before the receiver left")??;
    receiver.leave().await;
    let back = Instant::now() + away;
    for left in (1..=kills).rev() {
        let until_back = back.saturating_duration_since(Instant::now());
        sleep(until_back.mul_f64(rng.f64() / f64::from(left))).await;
        server = server.kill_and_restart().await?;
    }
    tokio::time::sleep_until(back).await;
    receiver.come_back().await?;
    let returned = Instant::now();
    let figures = match timeout(DELIVERY, delivered(&receiver, &tasks)).await {
        Ok(expected) => Figures::of(&receiver.received(), &tasks, &expected?),
        Err(_) => Figures::of(&receiver.received(), &tasks, &logs(&tasks).await?),
    };
    let (away, took) = (away.as_secs(), returned.elapsed().as_secs_f64());
    let text =
        format!("receiver away {away} s, {kills} kills; {figures}; {took:.0} s after return");
    Ok(Verdict { figures: text, is_good: figures.is_good() })
}

async fn begin_tasks(
    server: &Server,
    receiver: &Receiver,
    rng: &mut fastrand::Rng,
) -> Result<Vec<Watched>> {
    let seen = Arc::new(Semaphore::new(0));
    let readers = [
        Reader::new(&server.agent(), Version::V0_3, &seen)?,
        Reader::new(&server.agent(), Version::V1_0, &seen)?,
    ];
    let mut tasks = Vec::new();
    for reader in readers.iter().cycle().take(TASKS) {
        let chunks = rng.usize(1..=MAX_CHUNKS);
        let id = reader.begin_with_webhook(chunks, &receiver.url()).await?;
        tasks.push(Watched { id, reader: reader.clone() });
    }
    Ok(tasks)
}

/// Waits until the end of every task was delivered; the logs of the tasks.
async fn delivered(receiver: &Receiver, tasks: &[Watched]) -> Result<Vec<Vec<Seen>>> {
    // A log can be read to its end when the task has one.
    let logs = logs(tasks).await?;
    receiver
        .wait_for(|received| {
            let positions = positions(received);
            tasks.iter().zip(&logs).all(|(task, log)| {
                positions.get(&*task.id).copied() == log.last().map(|event| event.number)
            })
        })
        .await?;
    Ok(logs)
}

async fn logs(tasks: &[Watched]) -> Result<Vec<Vec<Seen>>> {
    let mut logs = Vec::new();
    for task in tasks {
        logs.push(task.reader.log(&task.id).await?);
    }
    Ok(logs)
}

/// The largest number of each task that has arrived.
fn positions(received: &[Notification]) -> HashMap<&str, u64> {
    let mut positions = HashMap::new();
    for notification in received {
        let position = positions.entry(&*notification.task).or_default();
        *position = notification.number.max(*position);
    }
    positions
}

/// The notifications after the trial.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) tasks: usize,
    /// Tasks of which everything has arrived.
    complete: usize,
    notifications: usize,
    /// Notifications that the receiver had already, as may happen at a kill.
    pub(super) repeated: usize,
    out_of_order: usize,
    /// Notifications with a body that does not tell its event, or another one when repeated.
    wrong: usize,
}

impl Figures {
    fn of(received: &[Notification], tasks: &[Watched], logs: &[Vec<Seen>]) -> Self {
        let (tasks_number, notifications) = (tasks.len(), received.len());
        let mut figures = Self { tasks: tasks_number, notifications, ..Self::default() };
        for (task, log) in tasks.iter().zip(logs) {
            let of_task = received.iter().filter(|it| it.task == task.id);
            figures.add(task.reader.version, log, of_task);
        }
        figures
    }

    pub(super) fn add<'a>(
        &mut self,
        version: Version,
        log: &[Seen],
        received: impl Iterator<Item = &'a Notification>,
    ) {
        let mut expected = log.iter().filter(|event| is_told(version, event)).peekable();
        let mut had: Vec<&Notification> = Vec::new();
        for notification in received {
            if let Some(first) = had.iter().find(|it| it.number == notification.number) {
                self.repeated += 1;
                self.wrong += usize::from(**first != *notification);
                continue;
            }
            match expected.next_if(|event| event.number == notification.number) {
                Some(event) => {
                    self.wrong += usize::from(!tells(version, &notification.body, event))
                }
                None => self.out_of_order += 1,
            }
            had.push(notification);
        }
        self.complete += usize::from(expected.peek().is_none() && !had.is_empty());
    }

    pub(super) fn is_good(&self) -> bool {
        self.complete == self.tasks && self.out_of_order + self.wrong == 0
    }
}

/// Whether a webhook of this version is called for the event.
fn is_told(version: Version, event: &Seen) -> bool {
    version == Version::V1_0 || event.event["kind"] == "status-update"
}

/// Whether the body of a notification tells the event.
fn tells(version: Version, body: &serde_json::Value, event: &Seen) -> bool {
    match version {
        Version::V0_3 => body["kind"] == "task" && body["status"] == event.event["status"],
        // The first one is the whole task.
        Version::V1_0 if event.number == 1 => {
            body["task"]["status"] == event.event["statusUpdate"]["status"]
        }
        Version::V1_0 => *body == event.event,
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tasks, complete, notifications, repeated, out_of_order, wrong } = self;
        write!(
            f,
            "{complete} of {tasks} tasks delivered, {notifications} notifications, {repeated} of \
             them repeated, out of order {out_of_order}, wrong {wrong}"
        )
    }
}
