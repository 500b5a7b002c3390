//! What things cost, each beside its floor and its aim.

mod chart;
mod devtools;
mod goals;
mod http;
mod manager;
mod peers;
mod reflection;
mod report;
mod runner;
mod scenario;
mod sessions;
mod stores;
mod tool_server;
mod traced;

use anyhow::{Result, bail};

use crate::tools;

/// Runs one suite; without a name `core`. Further words are the suite's.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.split_first() {
        None => core(&[]),
        Some((suite, scenarios)) if suite == "core" => core(scenarios),
        Some((suite, options)) if suite == "http" => runner::run(&http::SUITE, options),
        Some((suite, options)) if suite == "sessions" => runner::run(&sessions::SUITE, options),
        Some((suite, options)) if suite == "reflection" => runner::run(&reflection::SUITE, options),
        Some((suite, options)) if suite == "manager" => runner::run(&manager::SUITE, options),
        Some((suite, _)) => {
            let suites = "`core`, `http`, `sessions`, `reflection`, `manager`";
            bail!("there is no benchmark suite `{suite}`; there are {suites}")
        }
    }
}

fn core(scenarios: &[String]) -> Result<()> {
    let mut command =
        tools::cargo(["run", "--quiet", "--release", "--package", "oxikit-bench-core", "--"]);
    tools::run(command.args(scenarios))
}
