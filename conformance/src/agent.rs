//! Genkit's `agent.yaml`: agents on every store, in this process and over HTTP.

mod agents;
mod door;
mod play;
mod spec;

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::stores::{self, Kind, SESSIONS};
use crate::suite::{Outcome, Places, Report};
use agents::{Script, application};
use door::{Door, WAYS, Way};
use play::Player;
use spec::{Spec, Test};

const DATA: &str = "conformance/genkit/agent.yaml";

/// A test that takes longer will not end.
const LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn run(places: &Places) -> anyhow::Result<Outcome> {
    let path = places.spec.join(DATA);
    if !path.exists() {
        return Ok(places.missing(DATA, 39));
    }
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    // By way of a value, as steps are read late.
    let spec: Value = serde_saphyr::from_str(&text)?;
    let Spec { tests } = serde_json::from_value(spec)?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let mut outcomes = Vec::new();
    for store in SESSIONS {
        for way in WAYS {
            let name = format!("{}/{}", store.name(), way.name());
            outcomes.push((name, on_store(store, way, &tests, &runtime)));
        }
    }
    runtime.shutdown_background();
    Ok(Outcome::Several(outcomes))
}

fn on_store(store: Kind, way: Way, tests: &[Test], runtime: &Runtime) -> Outcome {
    if let Some(outcome) = stores::unavailable(store) {
        return outcome;
    }
    let mut report = Report::default();
    for test in tests {
        let result = runtime.block_on(async { timeout(LIMIT, check(test, store, way)).await });
        let result = result.unwrap_or_else(|_| Err("it does not end".to_owned()));
        report.case(&test.name, result);
    }
    if way == Way::Http {
        report.note = "one input a request: two turns are two requests, and a detach after a message goes along with it".to_owned();
    }
    Outcome::Ran(report)
}

async fn check(test: &Test, store: Kind, way: Way) -> Result<(), String> {
    let said = |error: anyhow::Error| format!("{error:#}");
    let opened = store.sessions().await.map_err(said)?;
    let script = Script::default();
    let (ai, agent) = application(&test.agent, opened.store.clone(), script.clone())
        .map_err(|status| status.to_string())?;
    let door = Door::open(way, ai, agent).await.map_err(said)?;
    Player { door, script, known: HashMap::new() }.play(test.steps.clone()).await
}
