//! `cargo xtask bench`: measures processor time and memory, and compares them with a lower bound (the
//! floor) and with goals.

mod a2a;
mod browser;
mod chart;
mod devtools;
mod goals;
mod http;
mod manager;
mod peers;
mod programs;
mod prompts;
mod reflection;
mod report;
mod rooms;
mod runner;
mod scenario;
mod sessions;
mod stores;
mod tool_server;
mod traced;
mod web;

use anyhow::{Result, bail};

use crate::tools;

/// Runs one suite, by default `core`. Further arguments belong to the suite.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.split_first() {
        None => core(&[]),
        Some((suite, scenarios)) if suite == "core" => core(scenarios),
        Some((suite, options)) if suite == "http" => runner::run(&http::SUITE, options),
        Some((suite, options)) if suite == "sessions" => runner::run(&sessions::SUITE, options),
        Some((suite, options)) if suite == "reflection" => runner::run(&reflection::SUITE, options),
        Some((suite, options)) if suite == "manager" => runner::run(&manager::SUITE, options),
        Some((suite, options)) if suite == "a2a" => runner::run(&a2a::SUITE, options),
        Some((suite, options)) if suite == "prompts" => runner::run(&prompts::SUITE, options),
        Some((suite, options)) if suite == "web" => {
            // The program embeds the page.
            println!("{}", crate::web::build_if_needed()?);
            runner::run(&web::SUITE, options)
        }
        Some((suite, _)) => {
            let suites =
                "`core`, `http`, `sessions`, `reflection`, `manager`, `a2a`, `prompts`, `web`";
            bail!("there is no benchmark suite `{suite}`; there are {suites}")
        }
    }
}

fn core(scenarios: &[String]) -> Result<()> {
    let mut command =
        tools::cargo(["run", "--quiet", "--release", "--package", "oxikit-bench-core", "--"]);
    tools::run(command.args(scenarios))
}
