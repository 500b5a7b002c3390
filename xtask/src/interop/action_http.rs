//! Actions over HTTP: `interop/action-http`.

use std::process::Command;

use anyhow::Result;

use super::{Places, Protocol, Score, Server, Suite, install_js, install_py};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "action-http",
    packages: &["oxikit-interop-app", "oxikit-interop-client"],
    suites: &[
        Suite { name: "action-http/js-client", needs: &["npm"], run: js_client },
        Suite { name: "action-http/py-client", needs: &["python3"], run: py_client },
        Suite { name: "action-http/our-client-on-express", needs: &["npm"], run: our_client },
    ],
};

fn js_client(places: &Places) -> Result<Score> {
    install_js()?;
    let app = our_app(places)?;
    let mut cases = Command::new("node");
    cases.arg("cases.mjs").arg(&app.url).current_dir(places.sources.join("js"));
    places.score(&mut cases, "js-client")
}

fn py_client(places: &Places) -> Result<Score> {
    let python = install_py(&places.scratch)?;
    let app = our_app(places)?;
    let mut cases = Command::new(python);
    cases.arg(places.sources.join("py/cases.py")).arg(&app.url);
    places.score(cases.env("PYTHONDONTWRITEBYTECODE", "1"), "py-client")
}

fn our_client(places: &Places) -> Result<Score> {
    install_js()?;
    let mut express = Command::new("node");
    express.arg("express-app.cjs").current_dir(places.sources.join("js"));
    let app = places.start(&mut express, "express")?;
    let mut cases = Command::new(places.bins.join("oxikit-interop-client"));
    places.score(cases.arg(&app.url), "our-client")
}

fn our_app(places: &Places) -> Result<Server> {
    places.start(&mut Command::new(places.bins.join("oxikit-interop-app")), "app")
}
