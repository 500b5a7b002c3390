//! The roles of other processes.

use std::path::Path;
use std::time::Duration;

use oxikit_core::ports::contract::EarlyAnswers;
use oxikit_core::ports::{Owner, SessionStore, Term};
use oxikit_sql::SqliteStore;

use super::{after, put, turn};
use crate::player::{Player, ROLE, freeze, say};

const FILE: &str = "OXIKIT_SQL_TEST_FILE";

/// Starts a process that plays this role on a file.
pub(super) fn start(role: &str, file: &Path) -> Player {
    Player::start("sqlite::child::play", role, &[(FILE, file)])
}

/// Plays the role of the environment; without one there is nothing to test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn play() {
    let (Ok(role), Ok(file)) = (std::env::var(ROLE), std::env::var(FILE)) else { return };
    let store = SqliteStore::open(file).unwrap();
    match role.as_str() {
        "hold" => hold(&store).await,
        "freeze" => freeze(&store, after(None, "late")).await,
        "write" => write(&store).await,
        "write-too-early" => write(&EarlyAnswers::new(store.sessions())).await,
        "change" => change(&store).await,
        "take over" => take_over(&store).await,
        _ => eight_writers(&store, &role).await,
    }
}

/// Takes a lease and never gives it back.
async fn hold(store: &SqliteStore) {
    let term = Term::of(Duration::from_secs(600));
    store.lease(&Owner::nobody(), "session", term).await.unwrap();
    say("held");
    std::future::pending().await
}

/// Writes for ever and tells what was acknowledged.
async fn write(store: &impl SessionStore) {
    for number in 0.. {
        let id = format!("s{number}");
        turn(store, "session", &id).await.unwrap();
        say(&id);
    }
}

/// Writes a snapshot that the parent waits for.
async fn change(store: &SqliteStore) {
    put(store, "session", "waited-for", &after(None, "hello")).await.unwrap();
    say("written");
}

/// Takes the lease that the parent has.
async fn take_over(store: &SqliteStore) {
    let term = Term { ttl: Duration::from_secs(60), by_force: true };
    let lease = store.lease(&Owner::nobody(), "session", term).await.unwrap();
    say(&lease.fence.to_string());
}

/// Eight writers of one session.
async fn eight_writers(store: &SqliteStore, name: &str) {
    let writers = (0..8).map(|writer| async move {
        for number in 0..10 {
            turn(store, "session", &format!("{name}-{writer}-{number}")).await.unwrap();
        }
    });
    futures_util::future::join_all(writers).await;
    say("done");
}
