//! The tools of a database by MCP Toolbox: `interop/toolbox`.

use std::process::Command;

use anyhow::{Result, ensure};

use super::{Places, Protocol, Score, Suite, install_js};
use crate::{services, tools};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "toolbox",
    packages: &["oxikit-interop-toolbox-cases"],
    suites: &[Suite { name: "toolbox/databases", needs: &["npm"], run: databases }],
};

/// The reference server of MCP.
const EVERYTHING: &str =
    "interop/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/// The program in the package for this machine.
const PROGRAM: &str = "interop/node_modules/@toolbox-sdk/server-linux-x64/bin/toolbox";

fn databases(places: &Places) -> Result<Score> {
    install_js()?;
    let program = tools::root().join(PROGRAM);
    ensure!(program.exists(), "there is no Toolbox for this machine: {}", program.display());
    // npm does not keep the mode of the file.
    tools::run(Command::new("chmod").arg("+x").arg(&program))?;
    let postgres = services::postgres()?;
    let mut cases = Command::new(places.bins.join("oxikit-interop-toolbox-cases"));
    cases.arg(program).arg(tools::root().join("examples/research-studio/deploy/toolbox"));
    cases.arg(tools::root().join(EVERYTHING));
    services::hand_over(&mut cases, &postgres)?;
    places.score(&mut cases, "databases")
}
