//! The research studio, driven by the official client of A2A 0.3: `interop/studio`.

use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "studio",
    packages: &["research-studio"],
    suites: &[Suite { name: "studio/js-client", needs: &["npm"], run: js_client }],
};

/// The cases start the studio themselves: one of them kills an agent.
fn js_client(places: &Places) -> Result<Score> {
    install_js()?;
    let mut cases = Command::new("node");
    cases.arg("cases.mjs").arg(places.bins.join("research-studio"));
    cases.env("STUDIO_DATA", places.scratch.join("studio")).env("STUDIO_MODEL", "offline/studio");
    cases.env_remove("DATABASE_URL").env_remove("TOOLBOX_URL");
    places.score(cases.current_dir(places.sources.join("js")), "js-client")
}
