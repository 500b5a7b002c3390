//! One application and its manager, which is killed repeatedly.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::crash::programs::{Process, Programs, free_port};

/// Number of runs that stream to a manager.
const RUNS: u32 = 20;
/// Timeout for the start of a process, and for the end of runs.
const LIMIT: Duration = Duration::from_secs(30);
/// Time in which the application must reconnect to a manager that listens again.
const BACK: Duration = Duration::from_secs(5);
/// Time for which the manager is stopped at the end, and the processor time and log lines that the
/// application may use meanwhile.
const AWAY: Duration = Duration::from_secs(10);
const AWAY_CPU_PERCENT: f64 = 1.0;
const AWAY_LINES: usize = 1;
/// Maximum p99 of the application's own calls, on a machine with more load than cores.
const CALL_P99_MILLIS: f64 = 500.0;
/// Maximum growth of the application between a quarter of the kills and the end.
const GROWTH_KB: u64 = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Request ids continue after those of the killed manager, so the next one receives the results
    /// of its runs.
    KeepsIds,
    /// Request ids begin with 1 again, as in official managers. Results of old runs are not sent.
    CountsAnew,
}

impl Kind {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::KeepsIds => "continues its request ids",
            Self::CountsAnew => "begins its request ids with 1",
        }
    }
}

/// An application and its manager.
pub(super) struct Pair<'a> {
    pub(super) programs: &'a Programs,
    pub(super) number: usize,
    pub(super) kind: Kind,
}

/// The measurements of an application.
pub(super) struct Seen {
    calls: u64,
    p99: f64,
    growth_kb: u64,
    away_percent: f64,
    away_lines: usize,
    back: Duration,
}

/// The notes of the managers.
pub(super) fn notes(programs: &Programs, number: usize) -> PathBuf {
    programs.path(&format!("manager-{number}.notes"))
}

/// The notes of the application.
pub(super) fn runtime_notes(programs: &Programs, number: usize) -> PathBuf {
    programs.path(&format!("runtime-{number}.notes"))
}

impl Pair<'_> {
    pub(super) fn run(&self, kills: u32, rng: &mut fastrand::Rng) -> Result<Seen> {
        let port = free_port(rng)?;
        let mut runtime = self.start_runtime(port)?;
        let at_first = read(&runtime)?;
        let mut early = Value::Null;
        for process in 1..=kills {
            let manager = self.start_manager(port, process, RUNS)?;
            self.let_live(&manager, rng)?;
            self.kill(manager, process)?;
            // A moment without a manager.
            std::thread::sleep(Duration::from_millis(rng.u64(..100)));
            if process == kills.div_ceil(4) {
                early = report(&mut runtime)?;
            }
        }
        let last = self.start_manager(port, kills + 1, RUNS)?;
        let at_end = drain(last, &mut runtime)?;
        let away = self.measure_alone(&mut runtime)?;
        let manager = self.start_manager(port, kills + 2, 0)?;
        let listens = Instant::now();
        expect(&manager, "registered", BACK)?;
        let back = listens.elapsed();
        let count = |report: &Value, what: &str| report[what].as_u64().unwrap_or_default();
        let seen = Seen {
            calls: count(&at_end, "calls"),
            p99: at_end["p99"].as_f64().context("there were no own calls")?,
            growth_kb: count(&at_end, "residentKb").saturating_sub(count(&early, "residentKb")),
            away_percent: away.0,
            away_lines: away.1,
            back,
        };
        let (tasks, tasks_before) = (count(&at_end, "tasks"), count(&at_first, "tasks"));
        seen.judge(tasks, tasks_before, count(&at_end, "panics"), count(&at_end, "failures"))?;
        Ok(seen)
    }

    fn start_runtime(&self, port: u16) -> Result<Process> {
        let mut command = self.programs.command_with_log("runtime", &self.log())?;
        command.arg("--log").arg(runtime_notes(self.programs, self.number));
        command.env("GENKIT_ENV", "dev").env_remove("GENKIT_TELEMETRY_SERVER");
        command.env("GENKIT_REFLECTION_V2_SERVER", format!("ws://127.0.0.1:{port}"));
        Process::start(&mut command)
    }

    fn start_manager(&self, port: u16, process: u32, runs: u32) -> Result<Process> {
        let log = format!("manager-{}.log", self.number);
        let mut command = self.programs.command_with_log("manager", &log)?;
        command.args(["--port", &port.to_string(), "--process", &process.to_string()]);
        command.args(["--runs", &runs.to_string()]);
        command.arg("--log").arg(notes(self.programs, self.number));
        if self.kind == Kind::CountsAnew {
            command.arg("--counts-anew");
        }
        let manager = Process::start(&mut command)?;
        expect(&manager, "listening", LIMIT)?;
        Ok(manager)
    }

    /// Waits before a kill. Most managers run a little longer than a second, after which their
    /// application reconnects at once. Some are killed during the registration, and some before the
    /// application has connected.
    fn let_live(&self, manager: &Process, rng: &mut fastrand::Rng) -> Result<()> {
        let (waits, life) = match rng.u8(..8) {
            0 => (false, rng.u64(..150)),
            1 => (true, rng.u64(..300)),
            _ => (true, rng.u64(1000..1400)),
        };
        if waits {
            expect(manager, "registered", BACK)?;
        }
        std::thread::sleep(Duration::from_millis(life));
        Ok(())
    }

    /// Kills the manager (SIGKILL) and notes the time.
    fn kill(&self, manager: Process, process: u32) -> Result<()> {
        let at = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
        drop(manager);
        let note = json!({ "at": at, "process": process, "what": "killed" });
        let path = notes(self.programs, self.number);
        let mut file = std::fs::File::options().create(true).append(true).open(path)?;
        Ok(writeln!(file, "{note}")?)
    }

    /// The processor time in percent and the number of log lines of an idle application without a
    /// manager.
    fn measure_alone(&self, runtime: &mut Process) -> Result<(f64, usize)> {
        runtime.tell("rest")?;
        std::thread::sleep(Duration::from_millis(300));
        let log = self.programs.path(&self.log());
        let lines = || Ok::<_, anyhow::Error>(std::fs::read_to_string(&log)?.lines().count());
        let cpu = |report: &Value| report["cpuMillis"].as_f64().unwrap_or_default();
        let before = (cpu(&report(runtime)?), lines()?);
        std::thread::sleep(AWAY);
        let millis = cpu(&report(runtime)?) - before.0;
        Ok((millis / AWAY.as_secs_f64() / 10.0, lines()? - before.1))
    }

    fn log(&self) -> String {
        format!("runtime-{}.log", self.number)
    }
}

impl Seen {
    fn judge(&self, tasks: u64, tasks_before: u64, panics: u64, failures: u64) -> Result<()> {
        let faults = [
            (panics > 0, format!("{panics} panics")),
            (failures > 0, format!("{failures} calls of its own failed")),
            (tasks != tasks_before, format!("{tasks} tasks are left of {tasks_before}")),
            (self.p99 > CALL_P99_MILLIS, format!("own calls took {} ms (p99)", self.p99)),
            (self.growth_kb > GROWTH_KB, format!("it grew by {} kB", self.growth_kb)),
            (self.away_percent >= AWAY_CPU_PERCENT, format!("{} % CPU alone", self.away_percent)),
            (self.away_lines > AWAY_LINES, format!("{} log lines alone", self.away_lines)),
        ];
        let faults: Vec<_> =
            faults.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect();
        if !faults.is_empty() {
            bail!("the application: {}", faults.join(", "));
        }
        Ok(())
    }

    /// The worst values of all applications.
    pub(super) fn describe(all: &[Self]) -> String {
        let worst = |of: fn(&Self) -> f64| all.iter().map(of).fold(0.0, f64::max);
        let calls: u64 = all.iter().map(|seen| seen.calls).sum();
        format!(
            "0 panics, no task left, {calls} own calls, 0 failed, p99 {:.0} ms, grew by {:.1} MB; \
             alone {:.1} % CPU and {} lines in {} s, back after {:.1} s",
            worst(|seen| seen.p99),
            worst(|seen| seen.growth_kb as f64) / 1024.0,
            worst(|seen| seen.away_percent),
            worst(|seen| seen.away_lines as f64),
            AWAY.as_secs(),
            worst(|seen| seen.back.as_secs_f64()),
        )
    }
}

/// Waits until all runs have ended and the last manager has received their results. This manager is
/// not killed, so no result may be missing. Returns the state of the application.
fn drain(mut manager: Process, runtime: &mut Process) -> Result<Value> {
    expect(&manager, "registered", BACK)?;
    manager.tell("drain")?;
    expect(&manager, "drained", LIMIT)?;
    let began = Instant::now();
    while report(runtime)?["running"] != 0 {
        if began.elapsed() > LIMIT {
            bail!("runs of previous managers do not end");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // The last answer and its confirmation need some time.
    std::thread::sleep(Duration::from_millis(1500));
    report(runtime)
}

fn expect(process: &Process, word: &str, limit: Duration) -> Result<()> {
    let line = process.line(limit).with_context(|| format!("it did not print `{word}` in time"))?;
    if line != word {
        bail!("it printed {line:?} instead of `{word}`");
    }
    Ok(())
}

fn report(runtime: &mut Process) -> Result<Value> {
    runtime.tell("report")?;
    read(runtime)
}

fn read(runtime: &Process) -> Result<Value> {
    let line = runtime.line(LIMIT).context("the application does not answer")?;
    Ok(serde_json::from_str(&line)?)
}
