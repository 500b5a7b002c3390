//! A stored snapshot together with the rows of its parts: the base of the next write.
//!
//! A snapshot is stored in parts, so that a write stores only those that are new: the columns of
//! its row ([`Head`]), the messages in a segment, and the custom state and the artifacts in
//! documents. [`Content`] says where the parts are; [`Row::decode`] puts them together. Both
//! databases share these types; each has its own queries for them.

use std::sync::Arc;

use oxikit_core::ports::{Owner, StoreError, StoredSnapshot};
use oxikit_wire::{
    AgentFinishReason, Artifact, Message, SessionSnapshot, SessionState, SnapshotStatus,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::documents::{self, Custom, Fault};

/// A stored snapshot, with which the next one is compared so that only the difference is
/// written.
#[derive(Debug)]
pub(crate) struct Known {
    /// The row that it is stored in.
    pub(crate) place: Place,
    /// The snapshot as callers of the store receive it.
    pub(crate) stored: StoredSnapshot,
    /// The rows that its parts are stored in.
    pub(crate) content: Content,
}

/// Identifies the row of a snapshot. Numbers are never reused, so a new row with the id of a
/// deleted one has another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Number of the session.
    pub(crate) session: i64,
    /// Number of the snapshot; those of a session are in the order of their first
    /// writing.
    pub(crate) number: i64,
}

/// The segment and the documents of a stored snapshot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Content {
    /// Whether the snapshot has a state at all.
    pub(crate) has_state: bool,
    /// `None` if the state has no list of messages.
    pub(crate) messages: Option<Messages>,
    /// `None` if the state has no custom part.
    pub(crate) custom: Option<Custom>,
    /// `None` if the state has no list of artifacts; one document for each.
    pub(crate) artifacts: Option<Vec<Document>>,
    /// Bytes of the row itself.
    pub(crate) head_bytes: i64,
}

/// The first messages of a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Messages {
    /// The segment that has the last message. It is not used if `length` is 0.
    pub(crate) segment: i64,
    /// Number of messages. The segment may have more, of later snapshots.
    pub(crate) length: i64,
    /// Bytes of the JSON of these messages.
    pub(crate) bytes: i64,
}

/// The document of an artifact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Document {
    /// The number of its row. Several snapshots may refer to it.
    pub(crate) number: i64,
    /// Bytes of its JSON.
    pub(crate) bytes: i64,
}

/// The artifacts of a snapshot as one text, such as `12:345,13:20`: the number of
/// each document and its bytes. PostgreSQL has arrays for it.
#[cfg(feature = "sqlite")]
pub(crate) fn list_text(documents: &[Document]) -> String {
    let texts = documents.iter().map(|document| format!("{}:{}", document.number, document.bytes));
    texts.collect::<Vec<_>>().join(",")
}

/// Parses such a text; `None` if it is invalid.
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
    /// The id of the snapshot that the turn continued from. It need not be stored.
    pub(crate) parent: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: Option<String>,
    pub(crate) heartbeat_at: Option<String>,
    /// This and the next one as named on the wire.
    pub(crate) status: Option<String>,
    pub(crate) finish_reason: Option<String>,
    /// As JSON.
    pub(crate) error: Option<String>,
}

impl Head {
    /// The columns of a snapshot that is about to be written.
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

    /// Approximate size of the row, which counts against the limits of snapshots and sessions.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.parent, &self.updated_at, &self.heartbeat_at, &self.error];
        let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
        // The names of the members, the ids, and what the database adds.
        256 + self.created_at.len() + texts
    }
}

/// A row as it was read, with the texts of its segment and documents.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) snapshot: String,
    pub(crate) session: String,
    pub(crate) agent: String,
    /// Grows with every write of the row, so that readers notice a change.
    pub(crate) revision: i64,
    pub(crate) head: Head,
    pub(crate) content: Content,
    /// JSON of each message.
    pub(crate) messages: Vec<String>,
    /// The whole text of the custom state, then its patches.
    pub(crate) custom: Vec<String>,
    /// JSON of each artifact.
    pub(crate) artifacts: Vec<String>,
}

impl Row {
    /// Parses the texts. An invalid one is [`StoreError::Damaged`].
    pub(crate) fn decode(self, place: Place) -> Result<Known, StoreError> {
        let id = self.snapshot.clone();
        self.try_decode(place).map_err(|error| StoreError::Damaged(id, error))
    }

    /// The same with the reason as the error.
    fn try_decode(self, place: Place) -> Result<Known, Fault> {
        let Self { snapshot, session, agent, revision, head, content, .. } = self;
        // The row says how many texts belong to it. Fewer were found if rows are lost, or if
        // another writer has changed them between two queries.
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

/// Parses each text.
fn list<T: DeserializeOwned>(texts: &[String]) -> Result<Vec<Arc<T>>, Fault> {
    texts.iter().map(|text| Ok(Arc::new(serde_json::from_str(text)?))).collect()
}

/// The name of a variant on the wire, such as `interrupted`; `None` if the type is not written as
/// a text.
pub(crate) fn name_of<T: Serialize>(variant: &T) -> Option<String> {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => Some(name),
        _ => None,
    }
}

/// The variant with this name on the wire. An unknown name is an error: the row was written by a
/// newer version, or is damaged.
pub(crate) fn named<T: DeserializeOwned>(name: &str) -> Result<T, Fault> {
    Ok(serde_json::from_value(Value::String(name.to_owned()))?)
}

/// The owner as one text: equal texts are equal owners.
pub(crate) fn owner_text(owner: &Owner) -> String {
    serde_json::to_string(owner).expect("an owner is two texts, which are always JSON")
}

/// A scope as one text, for a column: equal texts are equal scopes.
pub(crate) fn scope_text(scope: &impl Serialize) -> String {
    serde_json::to_string(scope).expect("a scope is three texts, which are always JSON")
}

/// The owner that [`owner_text`] was given.
pub(crate) fn owner_of(text: &str) -> Result<Owner, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged("an owner".into(), Box::new(error)))
}
