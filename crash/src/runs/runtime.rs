//! The application of the trial: it executes the runs of the managers, while its own callers use
//! another flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use oxikit::prelude::*;
use oxikit_core::StatusCode;
use oxikit_serve::dev_tools;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::sleep;

use super::callers::Callers;
use super::notes::{Notes, What};
use super::{FLOW, Piece, Work};
use crate::Args;

/// Maximum pause between two chunks.
const PACE: Duration = Duration::from_millis(100);

static PANICS: AtomicU64 = AtomicU64::new(0);
/// Number of active runs of managers.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// Serves the manager of `GENKIT_REFLECTION_V2_SERVER` until the end of standard input. The
/// commands `rest` and `work` pause and resume its own callers; `report` prints the state of the
/// process.
pub(crate) async fn run(args: &Args) -> Result<()> {
    count_panics();
    let notes = Arc::new(Notes::open(args.get("--log")?, 0)?);
    let ai = Oxikit::builder().build()?;
    ai.define_flow(FLOW, move |work: Work, _: Context, out: Emitter<Piece>| {
        execute(work, out, notes.clone())
    });
    let own = ai.define_flow("own", |n: u64| async move {
        sleep(Duration::from_millis(5)).await;
        Ok(n + 1)
    });
    let tools = dev_tools(&ai).await?.context("it needs GENKIT_ENV=dev")?;
    let callers = Callers::start(&own);
    if args.has("--resting") {
        callers.pause();
    }
    println!("{}", report(&callers)?);
    let mut commands = BufReader::new(tokio::io::stdin()).lines();
    while let Some(command) = commands.next_line().await? {
        match command.as_str() {
            "rest" => callers.pause(),
            "work" => callers.resume(),
            "report" => println!("{}", report(&callers)?),
            _ => anyhow::bail!("there are the commands rest, work and report"),
        }
    }
    tools.close().await;
    Ok(())
}

async fn execute(work: Work, out: Emitter<Piece>, notes: Arc<Notes>) -> Result<String, Status> {
    let Work { nonce, chunks, fails } = work;
    notes.add(What::Began { nonce: nonce.clone() }).or_internal()?;
    let _running = Running::begin();
    for number in 0..chunks {
        sleep(PACE.mul_f64(fastrand::f64())).await;
        out.send(Piece { nonce: nonce.clone(), number }).await?;
    }
    if fails { Err(Status::public(StatusCode::Aborted, nonce)) } else { Ok(nonce) }
}

/// Counts an active run until it is dropped, also if the run fails or is cancelled.
struct Running;

impl Running {
    fn begin() -> Self {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

fn count_panics() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        default_hook(panic);
    }));
}

/// The state of this process: tasks, panics, memory and processor time.
fn report(callers: &Callers) -> Result<String> {
    let mut report = callers.report();
    report["tasks"] = tokio::runtime::Handle::current().metrics().num_alive_tasks().into();
    report["panics"] = PANICS.load(Ordering::Relaxed).into();
    report["running"] = RUNNING.load(Ordering::Relaxed).into();
    report["residentKb"] = resident_kb()?.into();
    report["cpuMillis"] = cpu_millis()?.into();
    Ok(report.to_string())
}

fn resident_kb() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("there is no VmRSS")?.parse()?)
}

/// User and system time of all threads; the kernel counts in hundredths of a second.
fn cpu_millis() -> Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, behind_name) = stat.rsplit_once(')').context("/proc/self/stat cannot be parsed")?;
    let times = behind_name.split_whitespace().skip(11).take(2);
    Ok(times.map(|ticks| ticks.parse::<u64>()).sum::<Result<u64, _>>()? * 10)
}
