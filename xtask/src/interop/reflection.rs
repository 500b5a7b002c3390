//! The developer tools: `interop/reflection`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "reflection",
    packages: &["oxikit-interop-reflection-app"],
    suites: &[
        Suite { name: "reflection/v2", needs: &["npm"], run: v2 },
        Suite { name: "reflection/v1", needs: &["npm"], run: v1 },
        Suite { name: "reflection/cli", needs: &["npm"], run: cli },
    ],
};

fn v2(places: &Places) -> Result<Score> {
    cases(places, &["runtime.mjs", "v2"], "v2")
}

fn v1(places: &Places) -> Result<Score> {
    cases(places, &["runtime.mjs", "v1"], "v1")
}

fn cli(places: &Places) -> Result<Score> {
    cases(places, &["cli.mjs"], "cli")
}

/// Runs a program of cases, whose arguments are a folder and the command of the application.
fn cases(places: &Places, program: &[&str], name: &str) -> Result<Score> {
    install_js()?;
    let scratch = places.scratch.join(format!("reflection-{name}"));
    let mut node = Command::new("node");
    node.args(program).arg(scratch).args(app(places)).current_dir(places.sources.join("js"));
    places.score(&mut node, name)
}

/// The command of our application, or of the official one, which checks the cases themselves.
fn app(places: &Places) -> Vec<PathBuf> {
    if std::env::var_os("OXIKIT_INTEROP_JS").is_some() {
        return vec!["node".into(), places.sources.join("js/app.mjs")];
    }
    vec![places.bins.join("reflect-app")]
}
