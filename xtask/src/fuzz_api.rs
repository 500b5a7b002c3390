//! `cargo xtask fuzz-api`: schemathesis generates valid and invalid requests from the OpenAPI
//! documents of our servers, and compares the responses with the documents.

mod report;
mod servers;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{interop, metadata, tools};
use report::Report;
use servers::{Server, TARGETS};

/// Number of random requests per operation, in addition to those that cover its schema.
const EXAMPLES: u32 = 10;
/// The default seed, so that every run is the same.
const SEED: u64 = 1;
/// Timeout of a response in seconds. Then the request has failed. Streams are read for this time.
const ANSWER_TIME: &str = "10";

/// The options of the command line.
#[derive(Debug, PartialEq)]
struct Settings {
    examples: u32,
    seed: u64,
    /// Names of servers; all if there are none.
    targets: Vec<String>,
}

/// The folders that are used.
struct Places {
    /// The programs that cargo has built.
    bins: PathBuf,
    /// The files of this test in the repository.
    sources: PathBuf,
    /// Installed packages, logs and reports.
    scratch: PathBuf,
}

/// Returns one line per server, or the reason why the test cannot run on this machine.
pub(crate) fn run(args: &[String]) -> Result<Result<Vec<String>, String>> {
    let settings = Settings::parse(args)?;
    if tools::read(Command::new("python3").arg("--version")).is_err() {
        return Ok(Err("there is no `python3`".to_owned()));
    }
    let target = metadata::target_dir()?;
    let places = Places {
        bins: target.join("debug"),
        sources: tools::root().join("xtask/fuzz-api"),
        scratch: target.join("fuzz-api"),
    };
    fs::create_dir_all(&places.scratch)?;
    let requirements = places.sources.join("requirements.txt");
    interop::install_requirements(&places.scratch.join("py"), &requirements)?;
    let is_wanted = |name: &str| {
        settings.targets.is_empty() || settings.targets.iter().any(|wanted| wanted == name)
    };
    println!("seed {}, {} examples an operation", settings.seed, settings.examples);
    let mut reports = Vec::new();
    for target in TARGETS.iter().filter(|target| is_wanted(target.name)) {
        tools::build(target.packages)?;
        let server = (target.start)(&places)?;
        reports.push((target.name, test(&places, &settings, target.name, &server)?));
    }
    for (name, report) in &reports {
        println!("\n{name}\n{}", report.table());
    }
    let lines: Vec<_> =
        reports.iter().map(|(name, report)| format!("{name}: {}", report.summary())).collect();
    println!("\n{}", lines.join("\n"));
    if reports.iter().any(|(_, report)| !report.is_good()) {
        let logs = places.scratch.display();
        bail!("{}; the requests are in {logs}/*.log", lines.join(", "));
    }
    Ok(Ok(lines))
}

impl Settings {
    fn parse(args: &[String]) -> Result<Self> {
        let mut settings = Self { examples: EXAMPLES, seed: SEED, targets: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut number = || {
                let text = args.next().with_context(|| format!("`{arg}` needs a number"))?;
                text.parse::<u64>().with_context(|| format!("`{arg} {text}` is not a number"))
            };
            match arg.as_str() {
                "--examples" => settings.examples = u32::try_from(number()?)?.max(1),
                "--seed" => settings.seed = number()?,
                name if TARGETS.iter().any(|target| target.name == name) => {
                    settings.targets.push(name.to_owned());
                }
                other => {
                    let known = TARGETS.map(|target| target.name).join(", ");
                    bail!("`{other}` is not a server; there are: {known}")
                }
            }
        }
        Ok(settings)
    }
}

/// Tests one server. Failures of the server are in the report, not in the result.
fn test(places: &Places, settings: &Settings, name: &str, server: &Server) -> Result<Report> {
    let file = |end: &str| places.scratch.join(format!("{name}{end}"));
    let (seed, examples) = (settings.seed.to_string(), settings.examples.to_string());
    let log = file(".log");
    println!("{name}: {}, in {}", server.url, log.display());
    let mut command = Command::new(places.scratch.join("py/bin/st"));
    command.arg("--config-file").arg(places.sources.join("schemathesis.toml"));
    command.arg("run").arg(format!("{}{}", server.url, server.document));
    command.args(["--url", &server.url, "--seed", &seed, "--max-examples", &examples]);
    if let Some(token) = &server.token {
        command.args(["--header", &format!("Authorization: Bearer {token}")]);
        command.env("FUZZ_TOKEN", token);
    }
    command.args(["--checks", "all", "--phases", "examples,coverage,fuzzing"]);
    // A valid input may still be rejected, for example because of an unknown name.
    command.args(["--exclude-checks", "positive_data_acceptance"]);
    command.args(["--request-timeout", ANSWER_TIME, "--continue-on-failure"]);
    command.args(["--generation-database", "none", "--no-color", "--report", "json,ndjson"]);
    command.arg("--report-json-path").arg(file(".json"));
    command.arg("--report-ndjson-path").arg(file(".ndjson"));
    command.env("SCHEMATHESIS_HOOKS", "hooks").env("PYTHONPATH", &places.sources);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("FUZZ_URL", &server.url).env("FUZZ_TARGET", name).env("FUZZ_SEED", &seed);
    for proxy in interop::PROXIES {
        command.env_remove(proxy);
    }
    let output = File::create(&log)?;
    command.stdout(Stdio::from(output.try_clone()?)).stderr(output);
    command.current_dir(&places.scratch);
    let ended = tools::run(&mut command);
    let report = Report::read(&file(".json"), &file(".ndjson"));
    let report = report.with_context(|| format!("schemathesis printed: {}", tail(&log)))?;
    if ended.is_err() && report.is_good() {
        bail!("schemathesis failed: {}", tail(&log));
    }
    if !report.is_good() {
        println!("{}", fs::read_to_string(&log)?);
    }
    Ok(report)
}

/// The end of a log.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, expected: Result<Settings, &str>) {
        let args: Vec<_> = args.split_whitespace().map(str::to_owned).collect();
        let found = Settings::parse(&args).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{args:?}");
    }

    #[test]
    fn the_settings_are_read() {
        let usual = || Settings { examples: EXAMPLES, seed: SEED, targets: Vec::new() };
        check("", Ok(usual()));
        check("--examples 7 --seed 9", Ok(Settings { examples: 7, seed: 9, ..usual() }));
        check("tools", Ok(Settings { targets: vec!["tools".to_owned()], ..usual() }));
        check("--seed", Err("`--seed` needs a number"));
        check("--seed x", Err("`--seed x` is not a number"));
        check("other", Err("`other` is not a server; there are: tools, prompts, app"));
    }
}
