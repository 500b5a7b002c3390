//! The page of the developer tools in a real browser: `interop/web-page`.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js};
use crate::{tools, web};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "web-page",
    packages: PACKAGES,
    suites: &[
        Suite { name: "web-page/frame", needs: &["npm", "chromium"], run: frame },
        Suite { name: "web-page/areas", needs: &["npm", "chromium"], run: areas },
        Suite { name: "web-page/hostile", needs: &["npm", "chromium"], run: hostile },
        Suite { name: "web-page/views", needs: &["npm", "chromium"], run: views },
    ],
};

const PACKAGES: &[&str] = &["oxikit-cli"];

fn frame(places: &Places) -> Result<Score> {
    run(places, "frame")
}

fn areas(places: &Places) -> Result<Score> {
    run(places, "areas")
}

fn hostile(places: &Places) -> Result<Score> {
    run(places, "hostile")
}

fn views(places: &Places) -> Result<Score> {
    run(places, "views")
}

/// Runs a program of cases. It starts and ends the tools itself, because some cases kill them.
/// Pictures of the page are written to `target/interop/web-page`.
fn run(places: &Places, name: &str) -> Result<Score> {
    install_js()?;
    println!("{}", web::build_if_needed()?);
    // The program embeds the page.
    tools::build(PACKAGES)?;
    let pictures = places.scratch.join("web-page");
    fs::create_dir_all(&pictures)?;
    let mut cases = Command::new("node");
    cases.arg(format!("{name}.mjs")).arg(places.bins.join("oxikit")).arg(pictures);
    places.score(cases.current_dir(places.sources.join("js")), name)
}
