//! A stored snapshot and where its parts lie.

use std::sync::Arc;

use oxikit_core::ports::{Owner, StoreError, StoredSnapshot, StreamScope};
use oxikit_wire::{
    AgentFinishReason, Artifact, Message, SessionSnapshot, SessionState, SnapshotStatus,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::documents;

/// A snapshot as it is stored: what the next one is compared with, so that only the
/// difference is written.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) place: Place,
    pub(crate) stored: StoredSnapshot,
    pub(crate) content: Content,
}

/// Which row a snapshot is. Numbers are never used again, so that a row of the same
/// name in a session that was deleted meanwhile is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Number of the session.
    pub(crate) session: i64,
    /// Number of the snapshot; those of a session are in the order of their first
    /// writing.
    pub(crate) number: i64,
}

/// Where the parts of a stored snapshot lie.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Content {
    pub(crate) has_state: bool,
    /// `None` if the state has no list of messages.
    pub(crate) messages: Option<Messages>,
    pub(crate) custom: Option<Custom>,
    pub(crate) artifacts: Option<Vec<Document>>,
    /// Bytes of the row itself.
    pub(crate) head_bytes: i64,
}

/// The first messages of a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Messages {
    pub(crate) segment: i64,
    pub(crate) length: i64,
    pub(crate) bytes: i64,
}

/// The document of a custom state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Custom {
    pub(crate) document: i64,
    /// So many changes have to be made to a whole text.
    pub(crate) depth: i64,
    /// Bytes of the state as one text.
    pub(crate) bytes: i64,
}

/// The document of an artifact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Document {
    pub(crate) number: i64,
    pub(crate) bytes: i64,
}

/// The artifacts of a snapshot as one text, such as `12:345,13:20`: the number of
/// each document and its bytes. PostgreSQL has arrays for it.
#[cfg(feature = "sqlite")]
pub(crate) fn list_text(documents: &[Document]) -> String {
    let texts = documents.iter().map(|document| format!("{}:{}", document.number, document.bytes));
    texts.collect::<Vec<_>>().join(",")
}

/// Reads such a text; `None` if it is none.
#[cfg(feature = "sqlite")]
pub(crate) fn list_of(text: &str) -> Option<Vec<Document>> {
    let document = |text: &str| {
        let (number, bytes) = text.split_once(':')?;
        Some(Document { number: number.parse().ok()?, bytes: bytes.parse().ok()? })
    };
    text.split(',').filter(|text| !text.is_empty()).map(document).collect()
}

/// The columns of a snapshot's row besides its content.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) parent: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: Option<String>,
    pub(crate) heartbeat_at: Option<String>,
    /// These two by their names on the wire.
    pub(crate) status: Option<String>,
    pub(crate) finish_reason: Option<String>,
    /// As JSON.
    pub(crate) error: Option<String>,
}

impl Head {
    pub(crate) fn of(snapshot: &SessionSnapshot) -> Result<Self, serde_json::Error> {
        Ok(Self {
            parent: snapshot.parent_id.clone(),
            created_at: snapshot.created_at.clone(),
            updated_at: snapshot.updated_at.clone(),
            heartbeat_at: snapshot.heartbeat_at.clone(),
            status: snapshot.status.map(|status| status.as_str().to_owned()),
            finish_reason: snapshot.finish_reason.as_ref().and_then(name_of),
            error: snapshot.error.as_ref().map(serde_json::to_string).transpose()?,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.parent, &self.updated_at, &self.heartbeat_at, &self.error];
        let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
        // The names of the members, the ids, and what the database adds.
        256 + self.created_at.len() + texts
    }
}

/// A row as it was read, with the texts that it leads to.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) snapshot: String,
    pub(crate) session: String,
    pub(crate) agent: String,
    pub(crate) revision: i64,
    pub(crate) head: Head,
    pub(crate) content: Content,
    /// JSON of each message.
    pub(crate) messages: Vec<String>,
    /// The whole text of the custom state, then the changes.
    pub(crate) custom: Vec<String>,
    /// JSON of each artifact.
    pub(crate) artifacts: Vec<String>,
}

impl Row {
    /// Reads the texts. What cannot be read is [`StoreError::Damaged`].
    pub(crate) fn decode(self, place: Place) -> Result<Known, StoreError> {
        let id = self.snapshot.clone();
        self.try_decode(place).map_err(|error| StoreError::Damaged(id, error))
    }

    fn try_decode(self, place: Place) -> Result<Known, Fault> {
        let Self { snapshot, session, agent, revision, head, content, .. } = self;
        if content.messages.map_or(0, |messages| messages.length) != self.messages.len() as i64 {
            return Err("messages are missing".into());
        }
        if content.artifacts.as_ref().map_or(0, Vec::len) != self.artifacts.len() {
            return Err("artifacts are missing".into());
        }
        let state = SessionState {
            session_id: Some(session.clone()),
            messages: content.messages.map(|_| list::<Message>(&self.messages)).transpose()?,
            custom: content.custom.map(|_| documents::read(&self.custom)).transpose()?,
            artifacts: content
                .artifacts
                .as_ref()
                .map(|_| list::<Artifact>(&self.artifacts))
                .transpose()?,
        };
        let snapshot = SessionSnapshot {
            snapshot_id: snapshot,
            session_id: Some(session),
            parent_id: head.parent,
            created_at: head.created_at,
            updated_at: head.updated_at,
            heartbeat_at: head.heartbeat_at,
            status: head.status.as_deref().map(named::<SnapshotStatus>).transpose()?,
            finish_reason: head
                .finish_reason
                .as_deref()
                .map(named::<AgentFinishReason>)
                .transpose()?,
            error: head.error.as_deref().map(serde_json::from_str).transpose()?,
            state: content.has_state.then_some(state),
        };
        let revision = u64::try_from(revision)?;
        let stored = StoredSnapshot { revision, agent: Some(agent), snapshot };
        Ok(Known { place, stored, content })
    }
}

/// What is wrong with a stored text; for the log.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

fn list<T: DeserializeOwned>(texts: &[String]) -> Result<Vec<Arc<T>>, Fault> {
    texts.iter().map(|text| Ok(Arc::new(serde_json::from_str(text)?))).collect()
}

/// The name of a variant on the wire.
pub(crate) fn name_of<T: Serialize>(variant: &T) -> Option<String> {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => Some(name),
        _ => None,
    }
}

/// The variant of this name.
pub(crate) fn named<T: DeserializeOwned>(name: &str) -> Result<T, Fault> {
    Ok(serde_json::from_value(Value::String(name.to_owned()))?)
}

/// The owner as one text: equal texts are equal owners.
pub(crate) fn owner_text(owner: &Owner) -> String {
    serde_json::to_string(owner).expect("an owner is two texts, which are always JSON")
}

/// A scope as text, as stores compare it.
pub(crate) fn scope_text(scope: &StreamScope) -> String {
    serde_json::to_string(scope).expect("a scope is three texts, which are always JSON")
}

/// The owner of a text.
pub(crate) fn owner_of(text: &str) -> Result<Owner, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged("an owner".into(), Box::new(error)))
}
