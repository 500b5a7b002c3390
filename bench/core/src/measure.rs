//! CPU per operation: the median of several rounds.
//!
//! All work is done on the main thread, by a current-thread runtime, so that the
//! kernel's account of that thread is the account of the work.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::figure::{Figure, Unit};

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(80);

/// Measures operations.
#[derive(Debug)]
pub(crate) struct Bench {
    runtime: Runtime,
}

/// The cost of one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Nanoseconds on a CPU.
    pub(crate) cpu: f64,
    /// Nanoseconds on the clock.
    pub(crate) wall: f64,
}

impl Bench {
    pub(crate) fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        Ok(Self { runtime })
    }

    /// Measures an operation and its floor in turns, so that a neighbour on the
    /// machine troubles both alike. One call of them is `count` operations.
    pub(crate) fn compare(
        &self,
        count: usize,
        subject: impl AsyncFn() -> Result<()>,
        floor: impl AsyncFn() -> Result<()>,
    ) -> Result<(Cost, Cost)> {
        let (subject_times, floor_times) = (self.calibrate(&subject)?, self.calibrate(&floor)?);
        let (mut of_subject, mut of_floor) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_subject.push(self.round(subject_times, count, &subject)?);
            of_floor.push(self.round(floor_times, count, &floor)?);
        }
        Ok((median(of_subject), median(of_floor)))
    }

    /// As [`compare`](Self::compare), returned as a figure.
    pub(crate) fn beside_floor(
        &self,
        what: &str,
        count: usize,
        subject: impl AsyncFn() -> Result<()>,
        floor: impl AsyncFn() -> Result<()>,
    ) -> Result<Figure> {
        let (subject, floor) = self.compare(count, subject, floor)?;
        let show = |value| Unit::Nanoseconds.show(value);
        let explanation = format!(
            "{what}: {} of CPU, {} of wall time; {:.2} × its floor of {}",
            show(subject.cpu),
            show(subject.wall),
            subject.cpu / floor.cpu,
            show(floor.cpu),
        );
        Ok(Figure::new(subject.cpu, Unit::Nanoseconds, explanation))
    }

    /// Number of operations in a round.
    fn calibrate(&self, operation: &impl AsyncFn() -> Result<()>) -> Result<usize> {
        let mut times = 1;
        loop {
            let began = Instant::now();
            self.round(times, 1, operation)?;
            let took = began.elapsed();
            if took * 2 >= ROUND {
                let fits = times as f64 * ROUND.as_secs_f64() / took.as_secs_f64();
                return Ok((fits as usize).max(1));
            }
            times *= 2;
        }
    }

    fn round(
        &self,
        times: usize,
        count: usize,
        operation: &impl AsyncFn() -> Result<()>,
    ) -> Result<Cost> {
        let (began, before) = (Instant::now(), cpu_of_main_thread()?);
        self.runtime.block_on(async {
            for _ in 0..times {
                operation().await?;
            }
            anyhow::Ok(())
        })?;
        let cpu = cpu_of_main_thread()? - before;
        let operations = (times * count) as f64;
        Ok(Cost {
            cpu: cpu as f64 / operations,
            wall: began.elapsed().as_nanos() as f64 / operations,
        })
    }

    /// Runs something once.
    pub(crate) fn once<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    costs[costs.len() / 2]
}

/// Nanoseconds that the main thread has spent on a CPU.
fn cpu_of_main_thread() -> Result<u64> {
    // The account is brought up to date when the scheduler is entered.
    std::thread::yield_now();
    let account = std::fs::read_to_string("/proc/self/schedstat")
        .context("the kernel keeps no account of CPU time")?;
    let nanoseconds = account.split_whitespace().next();
    Ok(nanoseconds.context("an empty account")?.parse()?)
}
