//! The research studio, driven by the official client of A2A 0.3: `interop/studio`.

use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "studio",
    packages: &["research-studio"],
    suites: &[Suite { name: "studio/js-client", needs: &["npm"], run: js_client }],
};

fn js_client(places: &Places) -> Result<Score> {
    install_js()?;
    let data = places.scratch.join("studio");
    let mut app = Command::new(places.bins.join("research-studio"));
    app.env("STUDIO_AGENT_PORT", "0")
        .env("STUDIO_DATA", data)
        .env("STUDIO_MODEL", "offline/studio");
    app.env_remove("DATABASE_URL").env_remove("TOOLBOX_URL");
    let app = places.start(&mut app, "app")?;
    let mut cases = Command::new("node");
    cases.arg("cases.mjs").arg(&app.url).current_dir(places.sources.join("js"));
    places.score(&mut cases, "js-client")
}
