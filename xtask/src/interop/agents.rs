//! Conversations with agents: `interop/agents`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Server, Suite, install_js, install_py};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "agents",
    packages: &["oxikit-interop-agents-app", "oxikit-interop-agents-client"],
    suites: &[
        Suite { name: "agents/js-client", needs: &["npm"], run: js_client },
        Suite { name: "agents/py-client", needs: &["python3"], run: py_client },
        Suite { name: "agents/our-client-on-express", needs: &["npm"], run: our_client },
        Suite { name: "agents/shared-files", needs: &["npm"], run: shared_files },
    ],
};

fn js_client(places: &Places) -> Result<Score> {
    install_js()?;
    let app = our_app(places, None)?;
    let mut cases = Command::new("node");
    cases.arg("cases.mjs").arg(&app.url).current_dir(places.sources.join("js"));
    places.score(&mut cases, "js-client")
}

fn py_client(places: &Places) -> Result<Score> {
    let python = install_py(&places.scratch)?;
    let app = our_app(places, None)?;
    let mut cases = Command::new(python);
    cases.arg(places.sources.join("py/cases.py")).arg(&app.url);
    places.score(cases.env("PYTHONDONTWRITEBYTECODE", "1"), "py-client")
}

fn our_client(places: &Places) -> Result<Score> {
    install_js()?;
    let app = official_app(places, None)?;
    let mut cases = Command::new(places.bins.join("oxikit-interop-agents-client"));
    places.score(cases.arg(&app.url), "our-client")
}

/// Both servers keep their sessions in one directory.
fn shared_files(places: &Places) -> Result<Score> {
    install_js()?;
    let files = places.scratch.join("agent-files");
    if files.exists() {
        fs::remove_dir_all(&files)?;
    }
    let ours = our_app(places, Some(&files))?;
    let theirs = official_app(places, Some(&files))?;
    let mut cases = Command::new("node");
    cases.arg("files.mjs").arg(&ours.url).arg(&theirs.url).arg(&files);
    places.score(cases.current_dir(places.sources.join("js")), "shared-files")
}

fn our_app(places: &Places, files: Option<&Path>) -> Result<Server> {
    let app = Command::new(places.bins.join("oxikit-interop-agents-app"));
    places.start(&mut with_files(app, files), "app")
}

fn official_app(places: &Places, files: Option<&Path>) -> Result<Server> {
    let mut app = Command::new("node");
    app.arg("agents-app.cjs").current_dir(places.sources.join("js"));
    places.start(&mut with_files(app, files), "express")
}

fn with_files(mut app: Command, files: Option<&Path>) -> Command {
    match files {
        Some(files) => app.env("AGENT_FILES", files),
        None => app.env_remove("AGENT_FILES"),
    };
    app
}
