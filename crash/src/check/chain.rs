//! The snapshots of one session, each compared with its parent.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use oxikit::Message;
use oxikit_core::ports::SnapshotNode;
use oxikit_wire::{Role, SessionSnapshot, SnapshotStatus};
use serde::Deserialize;

use super::findings::Findings;
use crate::counter::{Count, answer};
use crate::seen::Seen;

/// The snapshots of a session that were checked so far.
#[derive(Debug)]
pub(super) struct Chain {
    session: String,
    links: HashMap<String, Link>,
    tokens: HashSet<String>,
    latest: Option<String>,
}

#[derive(Debug)]
struct Link {
    parent: Option<String>,
    count: u64,
    token: String,
    /// Hash of all of its messages.
    digest: u64,
}

impl Chain {
    pub(super) fn new(session: &str) -> Self {
        let session = session.to_owned();
        Self { session, links: HashMap::new(), tokens: HashSet::new(), latest: None }
    }

    /// Adds a snapshot whose parent was added before. It must be its parent plus exactly one
    /// complete turn.
    pub(super) fn add(&mut self, node: &SnapshotNode, content: &Content, findings: &mut Findings) {
        findings.snapshots += 1;
        match self.link(node, content) {
            Ok(link) => {
                if !self.tokens.insert(link.token.clone()) {
                    findings.mixed(format!("{self}: token {} occurs twice", link.token));
                }
                self.links.insert(node.snapshot.clone(), link);
            }
            Err(why) => findings.mixed(format!("{self}, snapshot {}: {why}", node.snapshot)),
        }
    }

    fn link(&self, node: &SnapshotNode, content: &Content) -> Result<Link, String> {
        if node.status != Some(SnapshotStatus::Completed) {
            return Err(format!("its status is {:?}", node.status));
        }
        let messages = content.messages.get(..node.messages).unwrap_or_default();
        let Some((before, turn)) = messages.split_last_chunk::<2>() else {
            return Err(format!("it has {} messages", node.messages));
        };
        let (count, token) = (node.messages as u64 / 2, turn[0].text());
        if !is_turn(turn, count, &token) {
            return Err(format!("its last messages are not those of {token}, turn {count}"));
        }
        let (parent, digest) = (node.parent.clone(), content.digests[node.messages]);
        match parent.as_ref().map(|parent| self.links.get(parent)) {
            None if before.is_empty() => {}
            None => return Err(format!("it is turn {count} and has no parent")),
            Some(None) => return Err("its parent is missing".to_owned()),
            Some(Some(from)) if from.digest == content.digests[before.len()] => {}
            Some(Some(from)) => {
                return Err(format!("it does not continue its parent, turn {}", from.count));
            }
        }
        Ok(Link { parent, count, token, digest })
    }

    pub(super) fn end_with(&mut self, latest: &str, findings: &mut Findings) {
        if !self.links.contains_key(latest) {
            findings.unreadable(format!("{self} ends with {latest}"));
        }
        self.latest = Some(latest.to_owned());
    }

    /// Compares an acknowledged turn with the store: it must be there, unchanged.
    pub(super) fn compare(&self, seen: &Seen, findings: &mut Findings) {
        let Seen { token, snapshot, .. } = seen;
        let what = format!("{self}, token {token}, snapshot {snapshot}");
        let Some(link) = self.links.get(snapshot) else {
            findings.lost(what);
            return;
        };
        let is_same = link.token == *token && seen.text == answer(link.count, token);
        let is_child = seen.from.is_none() || seen.from == link.parent;
        if !is_same || !is_child {
            findings.mixed(format!("{what}: the client saw {seen:?}, the store has {link:?}"));
        }
    }

    /// Checks a session whose turns all continued from the newest snapshot: each turn must be
    /// in the last snapshot, because such a session has no branches.
    pub(super) fn check_linear(&self, findings: &mut Findings) {
        let last = self.latest.as_ref().and_then(|latest| self.links.get(latest));
        let (all, count) = (self.links.len(), last.map_or(0, |last| last.count));
        if count != all as u64 {
            findings.mixed(format!("{self}: {all} turns, {count} of them in the last snapshot"));
        }
    }
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "session {}", self.session)
    }
}

/// The messages of a snapshot.
#[derive(Debug)]
pub(super) struct Content {
    messages: Vec<Arc<Message>>,
    /// `digests[n]` is the hash of the first `n` messages.
    digests: Vec<u64>,
}

impl Content {
    /// Reads a snapshot. It must agree with its node in the tree, and its custom state with its
    /// messages.
    pub(super) fn of(snapshot: SessionSnapshot, node: &SnapshotNode) -> Result<Self, String> {
        let state = snapshot.state.unwrap_or_default();
        let messages = state.messages.unwrap_or_default();
        let is_node = snapshot.parent_id == node.parent
            && snapshot.status == node.status
            && messages.len() == node.messages;
        if !is_node {
            return Err(format!("it is listed as {node:?}"));
        }
        let custom = state.custom.as_deref().ok_or("it has no state")?;
        let Count { count, token } =
            Count::deserialize(custom).map_err(|error| error.to_string())?;
        let asked = messages.iter().rev().find(|message| message.role == Role::User);
        if count * 2 != messages.len() as u64 || asked.is_none_or(|asked| asked.text() != token) {
            let messages = messages.len();
            return Err(format!("its state is of turn {count}, {token}, with {messages} messages"));
        }
        let mut digests = vec![0];
        digests.extend(messages.iter().scan(0, |digest, message| {
            let mut hasher = DefaultHasher::new();
            (*digest, message.role.as_str(), message.text()).hash(&mut hasher);
            *digest = hasher.finish();
            Some(*digest)
        }));
        Ok(Self { messages, digests })
    }
}

fn is_turn([asked, answered]: &[Arc<Message>; 2], count: u64, token: &str) -> bool {
    asked.role == Role::User
        && asked.text() == token
        && answered.role == Role::Model
        && answered.text() == answer(count, token)
}
