//! A simulation of several people who edit one text at the same time through clients that send
//! whole texts. It counts edits that are missing from the final text, for three rules of a server.
//!
//! The time unit is the mean time between two edits of all clients together. A message takes
//! `delay` units from a client to the server, and the same back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};

use super::{MAX_CANDIDATES, infer_base, merge};

const CLIENTS: usize = 4;
const EDITS: usize = 30;
const RUNS: u64 = 60;

/// What the server does with a text that it receives.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// It stores the text.
    LastWriterWins,
    /// It merges the text from a base that it infers.
    InferredBase,
    /// It merges the text from the base that the client really had.
    KnownBase,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Edit { client: usize },
    Submit { client: usize, base: String, text: String },
    Update { client: usize, text: String },
}

#[derive(Default)]
struct Client {
    text: String,
    /// What the server has sent to the client or received from it, the oldest first.
    seen: VecDeque<String>,
    /// When the server last sent a text.
    sent_at: Option<f64>,
}

struct Simulation {
    rule: Rule,
    delay: f64,
    random: fastrand::Rng,
    server: String,
    clients: Vec<Client>,
    /// Sorted by time in microseconds, then by the order in which they were added.
    events: BinaryHeap<Reverse<(u64, usize, Event)>>,
    added: usize,
    made: Vec<String>,
    replaced: HashSet<String>,
}

impl Simulation {
    fn new(rule: Rule, delay: f64, seed: u64) -> Self {
        let words: Vec<String> = (0..60).map(|n| format!("w{n}")).collect();
        let text = words.chunks(12).map(|line| line.join(" ")).collect::<Vec<_>>().join(".\n");
        let client = || Client { text: text.clone(), seen: [text.clone()].into(), sent_at: None };
        let mut simulation = Self {
            rule,
            delay,
            random: fastrand::Rng::with_seed(seed),
            clients: (0..CLIENTS).map(|_| client()).collect(),
            server: text,
            events: BinaryHeap::new(),
            added: 0,
            made: Vec::new(),
            replaced: HashSet::new(),
        };
        let mut time = 0.0;
        for _ in 0..EDITS {
            time -= (1.0 - simulation.random.f64()).ln();
            let client = simulation.random.usize(..CLIENTS);
            simulation.add(time, Event::Edit { client });
        }
        simulation
    }

    fn add(&mut self, time: f64, event: Event) {
        self.added += 1;
        self.events.push(Reverse(((time * 1e6) as u64, self.added, event)));
    }

    fn run(mut self) -> Outcome {
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            let now = time as f64 / 1e6;
            match event {
                Event::Edit { client } => self.edit(now, client),
                Event::Submit { client, base, text } => self.submit(now, client, &base, text),
                Event::Update { client, text } => self.clients[client].text = text,
            }
        }
        let words: HashSet<&str> = self.server.split([' ', '.', '\n']).collect();
        let is_missing =
            |word: &&String| !words.contains(word.as_str()) && !self.replaced.contains(*word);
        Outcome {
            missing: self.made.iter().filter(is_missing).count(),
            converges: self.clients.iter().all(|client| client.text == self.server),
        }
    }

    /// A person inserts or replaces one word.
    fn edit(&mut self, now: f64, client: usize) {
        let base = self.clients[client].text.clone();
        let word = format!("edit{}", self.made.len());
        let starts: Vec<usize> = base.match_indices([' ', '\n']).map(|(at, _)| at + 1).collect();
        let start = starts[self.random.usize(..starts.len())];
        let length = base[start..].find([' ', '.', '\n']).unwrap_or(base.len() - start);
        let text = match self.random.bool() {
            true => format!("{}{word} {}", &base[..start], &base[start..]),
            false => {
                self.replaced.insert(base[start..start + length].to_owned());
                format!("{}{word}{}", &base[..start], &base[start + length..])
            }
        };
        self.made.push(word);
        self.clients[client].text.clone_from(&text);
        self.add(now + self.delay, Event::Submit { client, base, text });
    }

    fn submit(&mut self, now: f64, client: usize, base: &str, text: String) {
        let Client { seen, sent_at, .. } = &mut self.clients[client];
        let merged = match self.rule {
            Rule::LastWriterWins => text.clone(),
            Rule::KnownBase => merge(base, &self.server, &text).text,
            Rule::InferredBase => {
                let base = infer_base(seen.iter().map(String::as_str), &text);
                merge(&seen[base], &self.server, &text).text
            }
        };
        remember(seen, text.clone());
        // A text that was on its way when the client made this one has replaced it in the client,
        // also where the result of the merge is what the client has sent.
        let was_on_its_way = sent_at.is_some_and(|at| now < at + 2.0 * self.delay + 1e-3);
        let is_answered = self.rule != Rule::LastWriterWins && (merged != text || was_on_its_way);
        for other in (0..CLIENTS).filter(|other| *other != client || is_answered) {
            remember(&mut self.clients[other].seen, merged.clone());
            self.clients[other].sent_at = Some(now);
            self.add(now + self.delay, Event::Update { client: other, text: merged.clone() });
        }
        self.server = merged;
    }
}

fn remember(seen: &mut VecDeque<String>, text: String) {
    seen.push_back(text);
    if seen.len() > MAX_CANDIDATES {
        seen.pop_front();
    }
}

struct Outcome {
    missing: usize,
    converges: bool,
}

/// Share of missing edits, and the number of runs after which all texts are equal.
fn measure(rule: Rule, delay: f64) -> (f64, u64) {
    let (mut missing, mut converging) = (0, 0);
    for seed in 0..RUNS {
        let outcome = Simulation::new(rule, delay, seed).run();
        missing += outcome.missing;
        converging += u64::from(outcome.converges);
    }
    let share = missing as f64 / (RUNS as usize * EDITS) as f64;
    println!(
        "{rule:?}, delay {delay}: {:.2} % missing, {converging}/{RUNS} converge",
        share * 100.0
    );
    (share, converging)
}

#[test]
fn edits_of_plain_clients_at_the_same_time_are_kept_and_all_clients_converge() {
    for (delay, most) in [(0.05, 0.005), (0.3, 0.01), (1.0, 0.03)] {
        for rule in [Rule::InferredBase, Rule::KnownBase] {
            let (missing, converging) = measure(rule, delay);
            assert!(missing <= most, "{rule:?} at {delay}: {missing}");
            assert_eq!(converging, RUNS, "{rule:?} at {delay}");
        }
        let (lost, _) = measure(Rule::LastWriterWins, delay);
        assert!(lost > most, "the simulation has no edits at the same time");
    }
}
