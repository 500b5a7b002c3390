//! Our developer tools with official runtimes and commands: `interop/manager`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "manager",
    packages: &["oxikit-devtools", "oxikit-interop-reflection-app"],
    suites: &[
        Suite { name: "manager/v2", needs: "npm", run: v2 },
        Suite { name: "manager/v1", needs: "npm", run: v1 },
        Suite { name: "manager/many", needs: "npm", run: many },
    ],
};

fn v2(places: &Places) -> Result<Score> {
    cases(places, &["main.mjs", "v2"], "v2", &[])
}

fn v1(places: &Places) -> Result<Score> {
    cases(places, &["main.mjs", "v1"], "v1", &[])
}

fn many(places: &Places) -> Result<Score> {
    cases(places, &["many.mjs"], "many", &[places.bins.join("reflect-app")])
}

/// The programs take a folder to work in, our command, and what else they start.
fn cases(places: &Places, program: &[&str], name: &str, more: &[PathBuf]) -> Result<Score> {
    install_js()?;
    let scratch = places.scratch.join(format!("manager-{name}"));
    let mut node = Command::new("node");
    node.args(program).arg(scratch).arg(places.bins.join("oxikit")).args(more);
    places.score(node.current_dir(places.sources.join("js")), name)
}
