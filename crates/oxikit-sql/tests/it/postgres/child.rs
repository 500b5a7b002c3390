//! The roles of other processes.

use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, Term};
use oxikit_sql::PostgresStore;

use super::server::store_in;
use super::turns::{LONG, after, turn};
use crate::player::{Player, ROLE, freeze, say};

const SCHEMA: &str = "OXIKIT_TEST_SCHEMA";

/// Starts a process that plays this role in a schema.
pub(super) fn start(role: &str, url: &str, schema: &str) -> Player {
    let variables = [(SCHEMA, schema), ("OXIKIT_TEST_POSTGRES", url)];
    Player::start("postgres::child::play", role, &variables)
}

/// Plays the role that the environment names; without one it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn play() {
    let (Ok(role), Ok(schema)) = (std::env::var(ROLE), std::env::var(SCHEMA)) else { return };
    let store = store_in(&std::env::var("OXIKIT_TEST_POSTGRES").unwrap(), &schema).await;
    match role.as_str() {
        "hold" => hold(&store).await,
        "freeze" => freeze(&store, after(None, "late")).await,
        "write" => write(&store).await,
        "take over" => take_over(&store).await,
        name => eight_writers(&store, name).await,
    }
}

/// Takes the lease, notes work that goes on, and never gives it back.
async fn hold(store: &PostgresStore) {
    let owner = Owner::nobody();
    let lease = store.lease(&owner, "session", LONG).await.unwrap();
    let write = SnapshotWrite {
        lease: Some(&lease),
        work: Some("{}"),
        ..SnapshotWrite::new(&owner, "helper", "session", "pending")
    };
    store.save(write, &|_| Ok(Some(after(None, "pending")))).await.unwrap();
    say("held");
    std::future::pending().await
}

/// Writes for ever, and tells what was acknowledged.
async fn write(store: &PostgresStore) {
    for number in 0.. {
        let id = format!("s{number}");
        turn(store, &id).await.unwrap();
        say(&id);
    }
}

/// Takes the lease that the parent has, and stays: the announcement is sent after the
/// answer.
async fn take_over(store: &PostgresStore) {
    let term = Term { by_force: true, ..LONG };
    store.lease(&Owner::nobody(), "session", term).await.unwrap();
    say("taken");
    std::future::pending().await
}

async fn eight_writers(store: &PostgresStore, name: &str) {
    let writers = (0..8).map(|writer| async move {
        for number in 0..10 {
            turn(store, &format!("{name}-{writer}-{number}")).await.unwrap();
        }
    });
    futures_util::future::join_all(writers).await;
    say("done");
}
