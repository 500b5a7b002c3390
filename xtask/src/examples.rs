//! Runs every example without a network. Each must succeed.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{metadata, tools};

/// Timeout of an example.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs all examples. Returns a line for the summary.
pub(crate) fn run() -> Result<String> {
    let members = metadata::members()?;
    let package = members
        .iter()
        .find(|member| member.name == "oxikit-examples")
        .context("there is no package `oxikit-examples`")?;
    tools::build(&["oxikit-examples"])?;
    let bins = metadata::target_dir()?.join("debug");
    let mut failed = Vec::new();
    for name in &package.bins {
        println!("--- {name}");
        let mut command = Command::new(bins.join(name));
        command.current_dir(tools::root()).env_clear();
        command.envs(std::env::vars().filter(|(name, _)| name == "PATH"));
        // No server listens at this address: an example that needs the network fails.
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(proxy, "http://127.0.0.1:9");
        }
        // Servers on this machine stay reachable.
        command.env("NO_PROXY", "127.0.0.1");
        if let Err(error) = tools::run_and_read(&mut command, LIMIT) {
            failed.push(format!("`{name}`: {error:#}"));
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(format!("{} examples", package.bins.len()))
}
