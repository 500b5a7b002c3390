//! The page of the developer tools in a real browser: `interop/web-page`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js, install_py};
use crate::{tools, web};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "web-page",
    packages: PACKAGES,
    suites: &[
        Suite { name: "web-page/frame", needs: &["npm", "chromium"], run: frame },
        Suite { name: "web-page/areas", needs: &["npm", "chromium"], run: areas },
        Suite { name: "web-page/conversations", needs: &["npm", "chromium"], run: conversations },
        Suite { name: "web-page/deeper", needs: &["npm", "chromium"], run: deeper },
        Suite {
            name: "web-page/languages",
            needs: &["npm", "chromium", "python3"],
            run: languages,
        },
        Suite { name: "web-page/hostile", needs: &["npm", "chromium"], run: hostile },
        Suite { name: "web-page/stranger", needs: &["npm", "chromium"], run: stranger },
        Suite { name: "web-page/views", needs: &["npm", "chromium"], run: views },
    ],
};

const PACKAGES: &[&str] = &["oxikit-cli", "oxikit-interop-agents-app"];

fn frame(places: &Places) -> Result<Score> {
    run(places, "frame", None)
}

fn areas(places: &Places) -> Result<Score> {
    run(places, "areas", None)
}

fn conversations(places: &Places) -> Result<Score> {
    run(places, "conversations", None)
}

fn deeper(places: &Places) -> Result<Score> {
    run(places, "deeper", None)
}

/// The official JavaScript and Python applications.
fn languages(places: &Places) -> Result<Score> {
    let python = install_py(&places.scratch)?;
    run(places, "languages", Some(python))
}

fn hostile(places: &Places) -> Result<Score> {
    run(places, "hostile", None)
}

fn stranger(places: &Places) -> Result<Score> {
    run(places, "stranger", None)
}

fn views(places: &Places) -> Result<Score> {
    run(places, "views", None)
}

/// Runs a program of cases. It starts and ends the tools itself, because some cases kill them.
/// Pictures of the page are written to `target/interop/web-page`. `interpreter` is that of Python.
fn run(places: &Places, name: &str, interpreter: Option<PathBuf>) -> Result<Score> {
    install_js()?;
    println!("{}", web::build_if_needed()?);
    // The program embeds the page.
    tools::build(PACKAGES)?;
    let pictures = places.scratch.join("web-page");
    fs::create_dir_all(&pictures)?;
    let mut cases = Command::new("node");
    cases.arg(format!("{name}.mjs")).arg(places.bins.join("oxikit")).arg(pictures);
    cases.args(interpreter);
    places.score(cases.current_dir(places.sources.join("js")), name)
}
