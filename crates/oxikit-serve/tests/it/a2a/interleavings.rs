//! Random interleavings of messages, cancellations, subscriptions, kills and removals, against a
//! real server on each store. Whatever happens, the log of every task keeps the rules of the
//! protocol, and every subscriber sees a part of it without gap or change.

mod log;
mod server;
mod world;

use oxikit_wire::a2a::Version;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use server::Kind;
use world::World;

/// Number of interleavings per store. The variable `OXIKIT_CASES` sets another one.
const CASES: u32 = 24;
/// Maximum number of steps of an interleaving.
const STEPS: usize = 16;

/// What the agent does with a message.
#[derive(Debug, Clone, Copy)]
enum Work {
    Complete,
    Fail,
    Panic,
    Reject,
    Ask,
    Chunks,
    /// Waits until it is released, then completes the task.
    Wait,
    /// Waits until it is released, then asks the client.
    WaitAndAsk,
    /// Needs an authorisation, waits until it is released, and goes on.
    Authorise,
}

const WORKS: [Work; 9] = [
    Work::Complete,
    Work::Fail,
    Work::Panic,
    Work::Reject,
    Work::Ask,
    Work::Chunks,
    Work::Wait,
    Work::WaitAndAsk,
    Work::Authorise,
];

/// How a client sends a message.
#[derive(Debug, Clone, Copy)]
enum How {
    /// Waits for the answer, while the other steps go on.
    Wait,
    /// Is answered with the task at once.
    Return,
    Stream,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Send(Work, How, Version),
    Continue(usize, Work, How, Version),
    Cancel(usize, Version),
    /// From the start of the log, or from now on.
    Subscribe(usize, bool, Version),
    /// Lets one turn that waits go on.
    Release,
    /// Ends the server without a shutdown, and starts another one on the same store.
    Kill,
    /// Fails the tasks of servers that were killed, as another server does after a while.
    Expire,
    /// Removes tasks that have ended.
    Prune,
}

fn step(has_kills: bool) -> impl Strategy<Value = Step> {
    let work = || proptest::sample::select(WORKS.to_vec());
    let how = || proptest::sample::select(vec![How::Wait, How::Return, How::Stream]);
    let version = || proptest::sample::select(vec![Version::V0_3, Version::V1_0]);
    let task = || 0_usize..4;
    let send = (work(), how(), version());
    let go_on = (task(), work(), how(), version());
    prop_oneof![
        6 => send.prop_map(|(work, how, version)| Step::Send(work, how, version)),
        6 => go_on.prop_map(|(task, work, how, version)| Step::Continue(task, work, how, version)),
        2 => (task(), version()).prop_map(|(task, version)| Step::Cancel(task, version)),
        4 => (task(), any::<bool>(), version())
            .prop_map(|(task, is_whole, version)| Step::Subscribe(task, is_whole, version)),
        3 => Just(Step::Release),
        2 => Just(if has_kills { Step::Kill } else { Step::Release }),
        1 => Just(Step::Expire),
        1 => Just(Step::Prune),
    ]
}

fn check(kind: &Kind, has_kills: bool) {
    let cases = std::env::var("OXIKIT_CASES").ok().map(|cases| cases.parse().unwrap());
    let config = Config {
        cases: cases.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 50,
        ..Config::default()
    };
    let runtime = server::runtime();
    let steps = prop::collection::vec(step(has_kills), 1..STEPS);
    let checked = TestRunner::new(config).run(&steps, |steps| {
        let kind = kind.clone();
        let case = runtime.spawn(async move {
            let mut world = World::new(kind).await;
            for step in steps {
                world.step(step).await;
            }
            world.finish().await;
        });
        runtime.block_on(case).map_err(|failure| TestCaseError::fail(format!("{failure:?}")))
    });
    checked.unwrap();
}

#[test]
fn tasks_in_memory_keep_the_rules() {
    check(&Kind::Memory, false);
}

#[test]
fn tasks_in_sqlite_keep_the_rules_whenever_the_server_is_killed() {
    check(&Kind::Sqlite, true);
}

#[test]
fn tasks_in_postgres_keep_the_rules_whenever_the_server_is_killed() {
    if let Ok(url) = std::env::var("OXIKIT_TEST_POSTGRES") {
        check(&Kind::Postgres(url), true);
    }
}
