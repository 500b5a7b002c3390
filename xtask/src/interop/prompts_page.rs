//! The page of the prompt manager in a real browser, and the sample client of Prompt Manager:
//! `interop/prompts-page`.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js};
use crate::{tools, web};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "prompts-page",
    packages: PACKAGES,
    suites: &[
        Suite {
            name: "prompts-page/sample-client",
            needs: &["npm", "chromium"],
            run: sample_client,
        },
        Suite { name: "prompts-page/editing", needs: &["npm", "chromium"], run: editing },
        Suite { name: "prompts-page/page", needs: &["npm", "chromium"], run: page },
    ],
};

const PACKAGES: &[&str] = &["oxikit-cli"];

fn sample_client(places: &Places) -> Result<Score> {
    run(places, "sample_client")
}

fn editing(places: &Places) -> Result<Score> {
    run(places, "editing")
}

fn page(places: &Places) -> Result<Score> {
    run(places, "page")
}

/// Runs a program of cases. It starts and ends the servers itself, because some cases kill them.
/// Pictures of the page are written to `target/interop/prompts-page`.
fn run(places: &Places, name: &str) -> Result<Score> {
    install_js()?;
    println!("{}", web::build_if_needed()?);
    // The program embeds the page.
    tools::build(PACKAGES)?;
    let pictures = places.scratch.join("prompts-page");
    fs::create_dir_all(&pictures)?;
    let mut cases = Command::new("node");
    cases.arg(format!("{name}.mjs")).arg(places.bins.join("oxikit")).arg(pictures);
    places.score(cases.current_dir(places.sources.join("js")), name)
}
