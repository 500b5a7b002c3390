//! A client that sends requests without a pause, to measure the latency during a trial.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::tools::Tools;

const PAUSE: Duration = Duration::from_millis(5);

/// Sends requests until [`p99`](Self::p99) is called.
pub(super) struct Pinger {
    task: JoinHandle<Result<Vec<Duration>>>,
    end: watch::Sender<bool>,
}

/// The target of the requests.
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

    /// Stops. Returns the number of requests and the 99th percentile of their duration.
    pub(super) async fn p99(self) -> Result<(usize, Duration)> {
        self.end.send_replace(true);
        let mut times = self.task.await??;
        times.sort_unstable();
        if times.is_empty() {
            bail!("no request was completed");
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
                let response =
                    tools.http.get(url).bearer_auth(&tools.endpoints.token).send().await?;
                response.error_for_status()?;
            }
            Callee::Runtime(id) => tools.call(id).await?,
        }
        times.push(began.elapsed());
        sleep(PAUSE).await;
    }
    Ok(times)
}
