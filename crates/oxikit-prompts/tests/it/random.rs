//! Random histories: plain clients, clients that name their revision, REST, other programs that change
//! the file, and crashes, all mixed.
//!
//! `OXIKIT_SEED` runs one seed, `OXIKIT_SEEDS` another number of them. Clients read at random times,
//! so that a text that is edited is often several edits behind: `plain.rs` measures how many edits
//! stay in the text when messages only take their time. Here a crash drops the library;
//! `cargo xtask crash prompts` kills the real program.

use std::collections::BTreeSet;

use fastrand::Rng;
use futures_util::{StreamExt, stream};
use oxikit_prompts::{Base, Submission};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{Client, Kit, open_on, sqlite, temporary};

const STEPS: usize = 60;
/// Number of histories that run at the same time.
const PARALLEL: usize = 16;

/// What was done in one history.
#[derive(Default)]
struct Outcome {
    edits: usize,
    /// Words that were submitted and are not in the final text.
    missing: usize,
}

/// One history and what is known about it.
struct History {
    rng: Rng,
    kit: Option<Kit>,
    _database: TempDir,
    clients: Vec<Editor>,
    /// All texts that were sent, which have to be in the history.
    sent: Vec<String>,
    words: BTreeSet<String>,
}

/// A client with its server's revision, if it understands revisions.
struct Editor {
    client: Client,
    rev: Option<u64>,
    /// The edit of a client with revisions that waits for its `update_status`. Until then the
    /// client has the text of the server.
    waiting: Option<String>,
}

impl History {
    async fn new(seed: u64) -> Self {
        let database = temporary();
        let files = [("a.md", "one two three\n\nfour five six\n")];
        let kit = open_on(sqlite(database.path()), &files).await;
        let mut history = Self {
            rng: Rng::with_seed(seed),
            kit: Some(kit),
            _database: database,
            clients: Vec::new(),
            sent: Vec::new(),
            words: BTreeSet::new(),
        };
        history.join_all().await;
        history
    }

    fn kit(&self) -> &Kit {
        self.kit.as_ref().unwrap()
    }

    async fn join_all(&mut self) {
        self.clients.clear();
        for number in 0..3 {
            let client = self.kit().join("a").await;
            let rev = (number == 2).then(|| client.member.document().rev);
            self.clients.push(Editor { client, rev, waiting: None });
        }
    }

    async fn step(&mut self) {
        match self.rng.u32(0..100) {
            0..45 => self.edit().await,
            45..80 => self.receive(),
            80..88 => self.rest().await,
            88..96 => self.save_file().await,
            96..98 => self.kit().prompts.reload().await.map(drop).unwrap(),
            _ => self.crash().await,
        }
    }

    /// A client types a word and sends its text.
    async fn edit(&mut self) {
        let place = self.rng.usize(0..self.clients.len());
        if self.clients[place].waiting.is_some() {
            // It sends one submission at a time.
            return;
        }
        let text = self.typed(&self.clients[place].client.text.clone());
        let editor = &mut self.clients[place];
        let mut message = json!({ "action": "update", "content": text });
        if let Some(rev) = editor.rev {
            message["base_rev"] = json!(rev);
            editor.waiting = Some(text.clone());
        } else {
            editor.client.text.clone_from(&text);
        }
        editor.client.send(message).await;
        self.sent.push(text);
    }

    /// A client receives one of the messages that wait for it.
    fn receive(&mut self) {
        let place = self.rng.usize(0..self.clients.len());
        let editor = &mut self.clients[place];
        if let Some(oxikit_prompts::Outgoing::Text(text)) = editor.client.member.try_next() {
            editor.take(&serde_json::from_str(&text).unwrap());
        }
    }

    /// A caller without a connection changes a revision that it has read.
    async fn rest(&mut self) {
        let document = self.kit().prompts.find("a", None).unwrap();
        let text = self.typed(document.content());
        let submission = Submission::content(text.clone()).with_base(Base::Rev(document.rev));
        self.kit().prompts.submit("a", None, submission).await.unwrap();
        self.sent.push(text);
    }

    /// Another program saves the file.
    async fn save_file(&mut self) {
        let text = self.typed(&self.kit().read("a.md"));
        self.kit().write("a.md", &text);
        self.kit().prompts.reload().await.unwrap();
    }

    /// The process is killed: nothing is closed. Clients come back with what the server has.
    async fn crash(&mut self) {
        self.clients.clear();
        let kit = self.kit.take().unwrap().crash().await;
        self.kit = Some(kit);
        self.join_all().await;
    }

    /// A text with a new word somewhere between two others.
    fn typed(&mut self, text: &str) -> String {
        let word = format!("w{}", self.words.len());
        self.words.insert(word.clone());
        let spaces: Vec<_> = text.match_indices(' ').map(|(place, _)| place).collect();
        let place = *spaces.get(self.rng.usize(0..spaces.len().max(1))).unwrap_or(&0);
        format!("{} {word}{}", &text[..place], &text[place..])
    }

    /// Everybody reads everything. Then all have the same text.
    async fn settle(mut self) -> Outcome {
        self.kit().prompts.reload().await.unwrap();
        let document = self.kit().prompts.saved("a", None).await.unwrap();
        assert_eq!(self.kit().read("a.md"), document.text());
        for (number, editor) in self.clients.iter_mut().enumerate() {
            while let Some(oxikit_prompts::Outgoing::Text(text)) = editor.client.member.try_next() {
                editor.take(&serde_json::from_str(&text).unwrap());
            }
            assert_eq!(editor.client.text, document.content(), "client {number} differs");
        }
        let texts: BTreeSet<_> = self.kit().texts("prompts/a.md").await.into_iter().collect();
        for sent in &self.sent {
            assert!(texts.contains(sent), "not in the history: {sent}");
        }
        let present: BTreeSet<_> = document.content().split_whitespace().collect();
        let missing = self.words.iter().filter(|word| !present.contains(word.as_str())).count();
        Outcome { edits: self.words.len(), missing }
    }
}

impl Editor {
    fn take(&mut self, message: &Value) {
        match message["action"].as_str().unwrap() {
            "update_status" if self.rev.is_some() => {
                let sent = self.waiting.take().unwrap();
                // A merged text follows. Until then the client has the text before its edit.
                if message["merged"] == json!(false) {
                    self.rev = message["rev"].as_u64();
                    self.client.text = sent;
                }
            }
            "update" | "initial" => {
                self.client.text = message["content"].as_str().unwrap().to_owned();
                self.rev = self.rev.and_then(|_| message["rev"].as_u64());
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn nothing_is_lost_in_random_histories() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("OXIKIT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OXIKIT_SEEDS").unwrap_or(200),
    };
    // They mostly wait until a file has not changed for a while, so many run at the same time.
    let runs = stream::iter(seeds).map(|seed| async move { (seed, tokio::spawn(run(seed)).await) });
    let mut runs = runs.buffer_unordered(PARALLEL);
    let mut total = Outcome::default();
    while let Some((seed, outcome)) = runs.next().await {
        let Ok(outcome) = outcome else { panic!("OXIKIT_SEED={seed} fails") };
        total.edits += outcome.edits;
        total.missing += outcome.missing;
    }
    println!("{} of {} edits are missing from the final texts", total.missing, total.edits);
    assert!(total.missing * 200 <= total.edits, "{} of {}", total.missing, total.edits);
}

async fn run(seed: u64) -> Outcome {
    let mut history = History::new(seed).await;
    for _ in 0..STEPS {
        history.step().await;
    }
    history.settle().await
}
