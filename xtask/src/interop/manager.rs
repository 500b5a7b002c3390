//! Our developer tools with official runtimes and commands: `interop/manager`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js, install_py};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "manager",
    packages: &["oxikit-cli", "oxikit-interop-reflection-app"],
    suites: &[
        Suite { name: "manager/v2", needs: &["npm"], run: v2 },
        Suite { name: "manager/v1", needs: &["npm"], run: v1 },
        Suite { name: "manager/many", needs: &["npm"], run: many },
        Suite { name: "manager/python-v2", needs: &["python3"], run: python_v2 },
        Suite { name: "manager/python-v1", needs: &["python3"], run: python_v1 },
        Suite { name: "manager/odd", needs: &["npm"], run: odd },
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

fn python_v2(places: &Places) -> Result<Score> {
    let python = install_py(&places.scratch)?;
    cases(places, &["python.mjs", "v2"], "python-v2", &[python])
}

fn python_v1(places: &Places) -> Result<Score> {
    let python = install_py(&places.scratch)?;
    cases(places, &["python.mjs", "v1"], "python-v1", &[python])
}

fn odd(places: &Places) -> Result<Score> {
    cases(places, &["odd.mjs"], "odd", &[])
}

/// Runs a program of cases, whose arguments are a folder, our command, and other programs to start.
fn cases(places: &Places, program: &[&str], name: &str, more: &[PathBuf]) -> Result<Score> {
    install_js()?;
    let scratch = places.scratch.join(format!("manager-{name}"));
    let mut node = Command::new("node");
    node.args(program).arg(scratch).arg(places.bins.join("oxikit")).args(more);
    places.score(node.current_dir(places.sources.join("js")), name)
}
