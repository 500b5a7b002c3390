//! Every example runs offline and ends well.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{metadata, tools};

/// An example answers at once; one that does not hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs all of them; answers a line for the summary.
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
        // Nobody answers there: an example that needs the network fails here.
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(proxy, "http://127.0.0.1:9");
        }
        // The machine itself is not the network.
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
