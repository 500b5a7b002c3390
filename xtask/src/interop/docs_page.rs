//! The page `/docs` in a real browser: `interop/docs-page`.

use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Suite, install_js};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "docs-page",
    packages: &["oxikit-interop-agents-app"],
    suites: &[Suite { name: "docs-page/browser", needs: &["npm", "chromium"], run: browser }],
};

/// The key of the server.
const KEY: &str = "key-of-the-docs-page";

fn browser(places: &Places) -> Result<Score> {
    install_js()?;
    let mut app = Command::new(places.bins.join("oxikit-fuzz-app"));
    let app = places.start(app.env("APP_KEY", KEY), "app")?;
    let mut cases = Command::new("node");
    cases.arg("cases.mjs").arg(&app.url).arg(KEY).current_dir(places.sources.join("js"));
    places.score(&mut cases, "browser")
}
