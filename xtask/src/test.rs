//! `cargo xtask test`: all checks that must pass before a change is merged. Continuous integration
//! runs nothing else.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{
    conformance, crash, examples, features, fuzz_api, interop, invariants, licences, metadata,
    package, papers, services, tools, web,
};

/// One check.
struct Step {
    name: &'static str,
    /// Whether `--quick` leaves the step out.
    is_slow: bool,
    /// Whether the following steps are skipped if this one fails.
    is_gate: bool,
    run: fn() -> Result<Verdict>,
}

/// The result of a step that did not fail.
enum Verdict {
    Passed(String),
    /// A program is missing on this machine and cannot be installed.
    Skipped(String),
}

use Verdict::{Passed, Skipped};

/// The steps, the quickest ones first.
const STEPS: [Step; 19] = [
    Step::gate("lock-file", lock_file),
    Step::quick("fmt", fmt),
    Step::quick("papers", || papers::run().map(Passed)),
    Step::quick("invariants", || invariants::run().map(Passed)),
    Step::quick("licences", || licences::run().map(Passed)),
    Step::quick("page", page),
    Step::quick("package", || package::run().map(Passed)),
    Step::quick("clippy", clippy),
    Step::gate("build", build),
    Step::quick("tests", tests),
    Step::slow("web", web_checks),
    Step::slow("features", single_features),
    Step::slow("doc-tests", doc_tests),
    Step::slow("docs", docs),
    Step::slow("conformance", conformance_suites),
    Step::slow("interop", interop_suites),
    Step::slow("crash", crash_trials),
    Step::slow("fuzz-api", fuzzed_apis),
    Step::slow("examples", || examples::run().map(Passed)),
];

impl Step {
    const fn quick(name: &'static str, run: fn() -> Result<Verdict>) -> Self {
        Self { name, is_slow: false, is_gate: false, run }
    }

    const fn slow(name: &'static str, run: fn() -> Result<Verdict>) -> Self {
        Self { is_slow: true, ..Self::quick(name, run) }
    }

    const fn gate(name: &'static str, run: fn() -> Result<Verdict>) -> Self {
        Self { is_gate: true, ..Self::quick(name, run) }
    }
}

/// A line of the summary.
struct Line {
    name: &'static str,
    time: Option<Duration>,
    result: Outcome,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Passed(String),
    Failed(String),
    Skipped(String),
    NotRun(String),
}

/// Runs the steps with these names, or all.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let is_quick = args.iter().any(|arg| arg == "--quick");
    let names: Vec<&str> =
        args.iter().map(String::as_str).filter(|arg| *arg != "--quick").collect();
    for name in &names {
        if !STEPS.iter().any(|step| step.name == *name) {
            let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            bail!("there is no step `{name}`; there are: {}", known.join(", "));
        }
    }
    let began = Instant::now();
    let mut lines = Vec::new();
    let mut broken_gate = None;
    let is_wanted = |step: &Step| {
        (names.is_empty() || names.contains(&step.name)) && !(is_quick && step.is_slow)
    };
    let mut packages = STEPS
        .iter()
        .any(|step| step.name == "interop" && is_wanted(step))
        .then(interop::install_ahead);
    for step in &STEPS {
        if !names.is_empty() && !names.contains(&step.name) {
            continue;
        }
        if step.name == "interop"
            && let Some(packages) = packages.take()
        {
            _ = packages.join();
        }
        let line = if let Some(gate) = broken_gate {
            Line::not_run(step.name, format!("`{gate}` failed"))
        } else if is_quick && step.is_slow {
            Line::not_run(step.name, "left out by --quick".to_owned())
        } else {
            run_step(step)
        };
        if step.is_gate && matches!(line.result, Outcome::Failed(_)) {
            broken_gate = Some(step.name);
        }
        lines.push(line);
    }
    Ok(summarise(&lines, began.elapsed()))
}

fn run_step(step: &Step) -> Line {
    println!("\n=== {}", step.name);
    let began = Instant::now();
    let result = judge((step.run)(), tools::is_ci());
    let time = began.elapsed();
    println!("=== {}: {} ({})", step.name, result.word(), seconds(time));
    Line { name: step.name, time: Some(time), result }
}

/// In continuous integration a skipped step is a failure.
fn judge(verdict: Result<Verdict>, is_ci: bool) -> Outcome {
    match verdict {
        Ok(Passed(what)) => Outcome::Passed(what),
        Ok(Skipped(why)) if is_ci => Outcome::Failed(format!("skipped, and CI is set: {why}")),
        Ok(Skipped(why)) => Outcome::Skipped(why),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn summarise(lines: &[Line], time: Duration) -> ExitCode {
    println!("\n=== summary, {}", seconds(time));
    for line in lines {
        let time = line.time.map_or_else(|| "–".to_owned(), seconds);
        let (word, detail) = (line.result.word(), line.result.detail());
        let colon = if detail.is_empty() { "" } else { ": " };
        println!("{:<12} {time:>8}  {word}{colon}{detail}", line.name);
    }
    let count = |word: &str| {
        let same = lines.iter().filter(|line| line.result.word() == word);
        same.count()
    };
    let failed = count("FAILED");
    println!("{} passed, {failed} failed", count("ok"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Line {
    fn not_run(name: &'static str, why: String) -> Self {
        Self { name, time: None, result: Outcome::NotRun(why) }
    }
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Passed(_) => "ok",
            Self::Failed(_) => "FAILED",
            Self::Skipped(_) => "skipped",
            Self::NotRun(_) => "not run",
        }
    }

    fn detail(&self) -> &str {
        let (Self::Passed(text) | Self::Failed(text) | Self::Skipped(text) | Self::NotRun(text)) =
            self;
        text
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn lock_file() -> Result<Verdict> {
    let packages = metadata::packages().context("Cargo.lock is not up to date")?;
    Ok(Passed(format!("{} packages", packages.len())))
}

fn fmt() -> Result<Verdict> {
    if let Err(why) = tools::need_component("fmt", "rustfmt") {
        return Ok(Skipped(format!("{why:#}")));
    }
    cargo("fmt --all --check")
}

/// The page is built before the programs that embed it, and before their packages.
fn page() -> Result<Verdict> {
    if let Err(why) = web::need_node() {
        return Ok(Skipped(format!("{why:#}")));
    }
    web::build_if_needed().map(Passed)
}

fn web_checks() -> Result<Verdict> {
    if let Err(why) = web::need_node() {
        return Ok(Skipped(format!("{why:#}")));
    }
    web::check().map(Passed)
}

fn clippy() -> Result<Verdict> {
    if let Err(why) = tools::need_component("clippy", "clippy") {
        return Ok(Skipped(format!("{why:#}")));
    }
    cargo("clippy --workspace --all-targets -- -D warnings")
}

fn single_features() -> Result<Verdict> {
    if let Err(why) = tools::need_component("clippy", "clippy") {
        return Ok(Skipped(format!("{why:#}")));
    }
    features::run().map(Passed)
}

fn build() -> Result<Verdict> {
    let built = cargo("test --workspace --all-targets --no-run --quiet");
    tools::build_all_from_now_on();
    built
}

fn tests() -> Result<Verdict> {
    let mut command = tools::cargo("test --workspace --all-targets --no-fail-fast".split(' '));
    let postgres = services::postgres();
    match &postgres {
        Ok(server) => services::hand_over(&mut command, server)?,
        Err(why) => println!("without PostgreSQL: {why:#}"),
    }
    let count = count_tests(&mut command)?;
    Ok(match postgres {
        Ok(_) => Passed(count),
        Err(why) => Skipped(format!("{count}, none of them on PostgreSQL: {why:#}")),
    })
}

fn doc_tests() -> Result<Verdict> {
    let mut command = tools::cargo("test --workspace --doc --no-fail-fast".split(' '));
    count_tests(&mut command).map(Passed)
}

fn docs() -> Result<Verdict> {
    let mut command = tools::cargo("doc --workspace --no-deps".split(' '));
    tools::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Passed(String::new()))
}

fn conformance_suites() -> Result<Verdict> {
    let suites = conformance::run(&[])?;
    let is_incomplete = suites
        .iter()
        .any(|line| conformance::is_skipped(line) && !conformance::lacks_official_data(line));
    let summary = suites.join(", ");
    Ok(if is_incomplete { Skipped(summary) } else { Passed(summary) })
}

fn interop_suites() -> Result<Verdict> {
    let suites = interop::run(&[])?;
    let summary = suites.join(", ");
    Ok(if interop::is_incomplete(&suites) { Skipped(summary) } else { Passed(summary) })
}

fn crash_trials() -> Result<Verdict> {
    let mut trials = crash::run(&["sessions".to_owned()])?;
    trials.extend(crash::run(&["reflection".to_owned()])?);
    trials.extend(crash::run(&["manager".to_owned()])?);
    trials.extend(crash::run(&["a2a".to_owned()])?);
    trials.extend(crash::run(&["prompts".to_owned()])?);
    let summary = trials.join(", ");
    Ok(if crash::is_incomplete(&trials) { Skipped(summary) } else { Passed(summary) })
}

fn fuzzed_apis() -> Result<Verdict> {
    Ok(match fuzz_api::run(&[])? {
        Ok(servers) => Passed(servers.join(", ")),
        Err(why) => Skipped(why),
    })
}

fn cargo(args: &str) -> Result<Verdict> {
    tools::run(&mut tools::cargo(args.split(' ')))?;
    Ok(Passed(String::new()))
}

fn count_tests(command: &mut Command) -> Result<String> {
    let (status, output) = tools::tee(command, tools::LONG)?;
    let count = Count::of(&output);
    if !status.success() {
        bail!("{count}");
    }
    Ok(count.to_string())
}

/// The sums of the `test result:` lines of test programs.
#[derive(Debug, Default, PartialEq)]
struct Count {
    passed: u32,
    failed: u32,
    ignored: u32,
}

impl Count {
    fn of(output: &str) -> Self {
        let mut count = Self::default();
        for line in output.lines() {
            let Some(result) = line.strip_prefix("test result: ") else {
                continue;
            };
            let parts: Vec<&str> = result.split([' ', ';', '.']).collect();
            for pair in parts.windows(2) {
                let Ok(number) = pair[0].parse::<u32>() else {
                    continue;
                };
                match pair[1] {
                    "passed" => count.passed += number,
                    "failed" => count.failed += number,
                    "ignored" => count.ignored += number,
                    _ => {}
                }
            }
        }
        count
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tests", self.passed)?;
        if self.failed > 0 {
            write!(f, ", {} failed", self.failed)?;
        }
        if self.ignored > 0 {
            write!(f, ", {} ignored", self.ignored)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_programs_are_added() {
        let output = "\
test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
noise 7 passed
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s
";
        assert_eq!(Count::of(output).to_string(), "7 tests, 1 failed, 1 ignored");
    }

    #[test]
    fn a_skipped_step_is_a_failure_in_ci() {
        let skip = || Ok(Skipped("no clippy".to_owned()));
        assert_eq!(judge(skip(), false), Outcome::Skipped("no clippy".to_owned()));
        assert_eq!(judge(skip(), true).word(), "FAILED");
    }
}
