//! Several people who type at the same time with plain clients, through the task and the room of a
//! document. Counts the edits that are missing from the final text.
//!
//! The delays are virtual: a message takes `delay` units from a client to the server, and the same
//! back. The unit is the mean time between two edits of all clients together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::time::Duration;

use fastrand::Rng;
use oxikit_prompts::Outgoing;
use serde_json::json;
use tokio::time::{Instant, advance};

use crate::kit::{Client, Kit, open};

const CLIENTS: usize = 4;
const EDITS: usize = 30;
const UNIT: Duration = Duration::from_secs(1);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Edit {
        client: usize,
    },
    /// A text reaches the server.
    Submit {
        client: usize,
        text: String,
    },
    /// A message reaches a client.
    Receive {
        client: usize,
        message: String,
    },
}

/// One text that is edited by everybody.
struct Editing {
    rng: Rng,
    delay: Duration,
    began: Instant,
    kit: Kit,
    clients: Vec<Client>,
    /// Sorted by time, then by the order in which they were added.
    events: BinaryHeap<Reverse<(Duration, usize, Event)>>,
    added: usize,
    typed: Vec<String>,
    replaced: HashSet<String>,
}

impl Editing {
    async fn new(delay: f64, seed: u64) -> Self {
        let words: Vec<String> = (0..60).map(|number| format!("w{number}")).collect();
        let text = words.chunks(12).map(|line| line.join(" ")).collect::<Vec<_>>().join(".\n");
        let kit = open(&[("a.md", &text)]).await;
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(kit.join("a").await);
        }
        let mut editing = Self {
            rng: Rng::with_seed(seed),
            delay: UNIT.mul_f64(delay),
            began: Instant::now(),
            kit,
            clients,
            events: BinaryHeap::new(),
            added: 0,
            typed: Vec::new(),
            replaced: HashSet::new(),
        };
        let mut time = Duration::ZERO;
        for _ in 0..EDITS {
            time += UNIT.mul_f64(-(1.0 - editing.rng.f64()).ln());
            let client = editing.rng.usize(..CLIENTS);
            editing.add(time, Event::Edit { client });
        }
        editing
    }

    fn add(&mut self, time: Duration, event: Event) {
        self.added += 1;
        self.events.push(Reverse((time, self.added, event)));
    }

    /// Number of edits that are missing at the end. All clients must have the same text then.
    async fn run(mut self) -> usize {
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            advance((self.began + time).saturating_duration_since(Instant::now())).await;
            match event {
                Event::Edit { client } => {
                    let text = self.edit(client);
                    self.add(time + self.delay, Event::Submit { client, text });
                }
                Event::Submit { client, text } => {
                    let message = json!({ "action": "update", "content": text });
                    self.clients[client].send(message).await;
                    self.take_messages(time + self.delay);
                }
                Event::Receive { client, message } => _ = self.clients[client].show(&message),
            }
        }
        let document = self.kit.prompts.find("a", None).unwrap();
        for client in &self.clients {
            assert_eq!(client.text, document.content());
        }
        let present: HashSet<&str> = document.content().split([' ', '.', '\n']).collect();
        let is_missing =
            |word: &&String| !present.contains(word.as_str()) && !self.replaced.contains(*word);
        self.typed.iter().filter(is_missing).count()
    }

    /// A person inserts or replaces one word.
    fn edit(&mut self, client: usize) -> String {
        let old = &self.clients[client].text;
        let word = format!("edit{}", self.typed.len());
        let starts: Vec<usize> = old.match_indices([' ', '\n']).map(|(at, _)| at + 1).collect();
        let start = starts[self.rng.usize(..starts.len())];
        let length = old[start..].find([' ', '.', '\n']).unwrap_or(old.len() - start);
        let text = match self.rng.bool() {
            true => format!("{}{word} {}", &old[..start], &old[start..]),
            false => {
                self.replaced.insert(old[start..start + length].to_owned());
                format!("{}{word}{}", &old[..start], &old[start + length..])
            }
        };
        self.typed.push(word);
        self.clients[client].text.clone_from(&text);
        text
    }

    /// Everything that the server has sent reaches its client at this time.
    fn take_messages(&mut self, time: Duration) {
        for client in 0..CLIENTS {
            while let Some(Outgoing::Text(text)) = self.clients[client].member.try_next() {
                self.add(time, Event::Receive { client, message: text.to_string() });
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn edits_of_plain_clients_at_the_same_time_stay_in_the_text() {
    // The goal is 1 % at the delay 0.3; the others show how it changes.
    for (delay, runs, most) in [(0.05, 15, 0.005), (0.3, 60, 0.01), (1.0, 15, 0.04)] {
        let mut missing = 0;
        for seed in 0..runs {
            missing += Editing::new(delay, seed).await.run().await;
        }
        let edits = EDITS * usize::try_from(runs).unwrap();
        let share = missing as f64 / edits as f64;
        println!(
            "plain clients, delay {delay}: {missing} of {edits} edits missing from the final texts, \
             {:.2} %",
            share * 100.0
        );
        assert!(share <= most, "{missing} of {edits} edits are missing at the delay {delay}");
    }
}
