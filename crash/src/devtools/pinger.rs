//! Somebody who calls on and on, to see how long that takes meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::tools::Tools;

const PAUSE: Duration = Duration::from_millis(5);

/// Calls until it is asked for its figures.
pub(super) struct Pinger {
    task: JoinHandle<Result<Vec<Duration>>>,
    end: watch::Sender<bool>,
}

/// What is called.
#[derive(Debug, Clone)]
pub(super) enum Callee {
    Health,
    Runtime(&'static str),
}

impl Pinger {
    pub(super) fn start(tools: &Arc<Tools>, callee: Callee) -> Self {
        let (end, ended) = watch::channel(false);
        let task = tokio::spawn(ping(tools.clone(), callee, ended));
        Self { task, end }
    }

    /// How many calls there were, and how long they took but for one in a hundred.
    pub(super) async fn p99(self) -> Result<(usize, Duration)> {
        self.end.send_replace(true);
        let mut times = self.task.await??;
        times.sort_unstable();
        if times.is_empty() {
            bail!("not one call came to its end");
        }
        Ok((times.len(), times[(times.len() * 99 / 100).min(times.len() - 1)]))
    }
}

async fn ping(
    tools: Arc<Tools>,
    callee: Callee,
    ended: watch::Receiver<bool>,
) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !*ended.borrow() {
        let began = Instant::now();
        match &callee {
            Callee::Health => {
                let url = tools.url("/api/__health");
                let response = tools.http.get(url).bearer_auth(&tools.doors.token).send().await?;
                response.error_for_status()?;
            }
            Callee::Runtime(id) => tools.call(id).await?,
        }
        times.push(began.elapsed());
        sleep(PAUSE).await;
    }
    Ok(times)
}
