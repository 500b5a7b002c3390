//! The contracts of the ports: one list of promises for all stores, each checked on a
//! store that is new.

use oxikit_core::ports::contract::{Case, SESSION_STORE, STREAM_STORE};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinError;

use crate::stores::{self, Kind, Opened, SESSIONS, STREAMS};
use crate::suite::{Outcome, Places, Report};

pub(crate) fn run(_: &Places) -> anyhow::Result<Outcome> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let mut outcomes = Vec::new();
    for store in SESSIONS {
        let name = format!("sessions/{}", store.name());
        let make = async || store.sessions().await;
        let outcome = on_store(&name, store, SESSION_STORE, make, &runtime);
        outcomes.push((name, outcome));
    }
    for store in STREAMS {
        let name = format!("streams/{}", store.name());
        let make = async || store.streams().await;
        let outcome = on_store(&name, store, STREAM_STORE, make, &runtime);
        outcomes.push((name, outcome));
    }
    runtime.shutdown_background();
    Ok(Outcome::Several(outcomes))
}

/// Prints a line for every promise.
fn on_store<Port: ?Sized + Send + Sync + 'static>(
    name: &str,
    store: Kind,
    cases: &'static [Case<Port>],
    make: impl AsyncFn() -> anyhow::Result<Opened<Port>>,
    runtime: &Runtime,
) -> Outcome {
    if let Some(outcome) = stores::unavailable(store) {
        return outcome;
    }
    let mut report = Report::default();
    for case in cases {
        let result = runtime.block_on(async {
            let opened = make().await.map_err(|error| format!("{error:#}"))?;
            // In a task, as a broken promise is a panic.
            let check = tokio::spawn(case.check(opened.store.clone()));
            check.await.map_err(broken_promise)
        });
        println!("{name}/{} {}", case.name(), if result.is_ok() { "ok" } else { "BROKEN" });
        report.case(case.name(), result);
    }
    Outcome::Ran(report)
}

fn broken_promise(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "it was cancelled".to_owned() };
    match panic.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => panic.downcast_ref::<&str>().copied().unwrap_or("it panicked").to_owned(),
    }
}
