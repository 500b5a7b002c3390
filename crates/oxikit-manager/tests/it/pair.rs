//! The real pair: our manager and an application of oxikit, over connections that
//! break, for callers who leave and callers who wait.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use oxikit::prelude::*;
use oxikit_manager::RunHandle;
use oxikit_serve::{DevConfig, DevTools};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use oxikit_testing::manager::{Manager, end, flow, manager, options, soon, until};

/// A way to the manager that can be cut.
struct Wire {
    address: SocketAddr,
    cuts: watch::Sender<u32>,
}

impl Wire {
    async fn to(manager: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, cuts) = (listener.local_addr().unwrap(), watch::Sender::new(0));
        let cut = cuts.subscribe();
        tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let mut cut = cut.clone();
                cut.mark_unchanged();
                connections.spawn(async move {
                    let mut far = TcpStream::connect(manager).await.unwrap();
                    let passing = tokio::io::copy_bidirectional(&mut near, &mut far);
                    tokio::select! { _ = passing => {}, _ = cut.changed() => {} }
                });
            }
        });
        Self { address, cuts }
    }
}

/// The executed runs, by nonce.
#[derive(Default)]
struct Work {
    began: HashMap<String, u32>,
    running: HashSet<String>,
}

/// Manager, way and application.
struct Pair {
    manager: Manager,
    wire: Wire,
    work: Arc<Mutex<Work>>,
    /// The nonces whose runs may end.
    released: watch::Sender<HashSet<String>>,
    _tools: DevTools,
}

/// A run that is known while it goes on.
struct Running(Arc<Mutex<Work>>, String);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().unwrap().running.remove(&self.1);
    }
}

impl Pair {
    async fn new(name: &str) -> Self {
        let mut options = options();
        // On a busy machine a runtime may take its time to come back.
        options.reconnect_grace = Duration::from_secs(60);
        let manager = manager(options).await;
        let wire = Wire::to(manager.address).await;
        let (work, released) = (Arc::<Mutex<Work>>::default(), watch::Sender::default());
        let ai = Oxikit::builder().build().unwrap();
        let (known, may_end) = (work.clone(), released.subscribe());
        ai.define_flow("gated", move |nonce: String| {
            let (known, mut may_end) = (known.clone(), may_end.clone());
            async move {
                let running = Running(known.clone(), nonce.clone());
                {
                    let mut known = known.lock().unwrap();
                    *known.began.entry(nonce.clone()).or_default() += 1;
                    known.running.insert(nonce.clone());
                }
                let may_end =
                    may_end.wait_for(|released: &HashSet<String>| released.contains(&nonce));
                may_end.await.map_err(|_| Status::cancelled())?;
                drop(running);
                Ok(nonce)
            }
        });
        let mut config = DevConfig::default();
        config.manager = Some(format!("ws://{}/r/{}", wire.address, manager.token.reveal()));
        config.runtime_id = Some(name.to_owned());
        let tools = config.start(&ai).await.unwrap();
        let pair = Self { manager, wire, work, released, _tools: tools };
        pair.is_back().await;
        pair
    }

    async fn is_back(&self) {
        until(|| !self.manager.runtimes.list().is_empty()).await;
    }

    /// A caller whose run has begun.
    async fn caller(&self, nonce: &str) -> RunHandle {
        let mut run = self.manager.start(flow("gated", json!(nonce))).await;
        assert!(soon(run.trace_id()).await.is_some(), "{nonce}");
        run
    }

    /// A caller leaves, and its run is called off.
    async fn leaves(&self, nonce: &str, run: RunHandle) {
        drop(run);
        until(|| !self.work.lock().unwrap().running.contains(nonce)).await;
    }

    /// The connection breaks, and the application comes back.
    async fn breaks(&self) {
        let mut list = self.manager.runtimes.watch();
        self.wire.cuts.send_modify(|cuts| *cuts += 1);
        soon(list.wait_for(|list| list.is_empty())).await.unwrap();
        self.is_back().await;
    }

    /// Lets this run end.
    fn release(&self, nonce: &str) {
        self.released.send_modify(|released| _ = released.insert(nonce.to_owned()));
    }

    /// A caller who waits is answered, with its own result, of the only run.
    async fn is_answered(&self, nonce: &str, run: RunHandle) {
        self.release(nonce);
        assert_eq!(end(run).await, Ok(Some(json!(nonce))));
        assert_eq!(self.work.lock().unwrap().began[nonce], 1, "{nonce}");
    }

    async fn is_idle(&self) {
        self.manager.is_idle().await;
        until(|| self.work.lock().unwrap().running.is_empty()).await;
    }
}

#[tokio::test]
async fn who_waits_is_answered_although_others_left_before_and_after_a_break() {
    let pair = Pair::new("one").await;
    let (a, b, c) = (pair.caller("a").await, pair.caller("b").await, pair.caller("c").await);
    pair.leaves("a", a).await;
    pair.breaks().await;
    pair.leaves("b", b).await;
    pair.is_answered("c", c).await;
    pair.is_idle().await;
}

#[tokio::test]
async fn who_leaves_while_the_connection_is_broken_stops_its_run_when_it_is_back() {
    let pair = Pair::new("one").await;
    let (a, b) = (pair.caller("a").await, pair.caller("b").await);
    let mut list = pair.manager.runtimes.watch();
    pair.wire.cuts.send_modify(|cuts| *cuts += 1);
    soon(list.wait_for(|list| list.is_empty())).await.unwrap();
    pair.leaves("a", a).await;
    pair.is_answered("b", b).await;
    pair.is_idle().await;
}

/// The events that happen in random order.
#[derive(Debug, Clone, Copy)]
enum Step {
    Call,
    Leave,
    Break,
    /// A result is ready while the connection is lost.
    EndInBreak,
    End,
}

async fn play(seed: u64) {
    use Step::*;
    let mut rng = fastrand::Rng::with_seed(seed);
    let pair = Pair::new(&format!("seed-{seed}")).await;
    let mut waiting: Vec<(String, RunHandle)> = Vec::new();
    let mut last = 0;
    for _ in 0..16 {
        // The application waits before it connects again.
        let step = *rng.choice(&[Call, Call, Call, Leave, Leave, End, Break, EndInBreak]).unwrap();
        match step {
            Call => {
                last += 1;
                let nonce = format!("{seed}-{last}");
                waiting.push((nonce.clone(), pair.caller(&nonce).await));
            }
            Break => pair.breaks().await,
            _ if waiting.is_empty() => {}
            Leave | End | EndInBreak => {
                let (nonce, run) = waiting.swap_remove(rng.usize(..waiting.len()));
                match step {
                    Leave => pair.leaves(&nonce, run).await,
                    EndInBreak => {
                        pair.release(&nonce);
                        pair.breaks().await;
                        pair.is_answered(&nonce, run).await;
                    }
                    _ => pair.is_answered(&nonce, run).await,
                }
            }
        }
    }
    for (nonce, run) in waiting {
        pair.is_answered(&nonce, run).await;
    }
    pair.is_idle().await;
}

#[tokio::test]
async fn every_caller_who_waits_is_answered_once_whatever_happens_to_others() {
    let seed = std::env::var("OXIKIT_SEED")
        .map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    eprintln!("OXIKIT_SEED={seed}");
    join_all((0..6).map(|number| play(seed.wrapping_add(number)))).await;
}
