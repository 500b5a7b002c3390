//! Reading of results and events: one of four objects.

use serde::Deserialize;

use super::part::KindPart;
use super::read::{ArtifactMembers, Kind, MessageMembers, StatusMembers, TaskMembers, list};
use crate::JsonObject;
use crate::a2a::proto::empty_is_none;
use crate::a2a::{ArtifactUpdate, Part, Role, StatusUpdate, StreamResponse};
use crate::absent::null_is_default;

/// An event of the JSON-RPC binding with its `final` member, which version 1.0 does not have.
///
/// ```
/// use oxikit_wire::a2a::{StreamResponse, v0_3::Event};
///
/// let json = r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"completed"},"final":true}"#;
/// let event: Event = serde_json::from_str(json).unwrap();
/// assert!(event.is_final && matches!(event.response, StreamResponse::StatusUpdate(_)));
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "EventMembers<KindPart>")]
pub struct Event {
    /// The event.
    pub response: StreamResponse,
    /// Whether the server ends the stream after it.
    pub is_final: bool,
}

impl TryFrom<EventMembers<KindPart>> for Event {
    type Error = &'static str;

    fn try_from(members: EventMembers<KindPart>) -> Result<Self, Self::Error> {
        Ok(Self { is_final: members.is_final, response: members.try_into()? })
    }
}

/// The members of all four objects, so that an event is read without a copy in between.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) struct EventMembers<P> {
    kind: Option<Kind>,
    #[serde(default, deserialize_with = "empty_is_none")]
    id: Option<String>,
    #[serde(default, deserialize_with = "empty_is_none")]
    task_id: Option<String>,
    #[serde(default, deserialize_with = "empty_is_none")]
    context_id: Option<String>,
    status: Option<StatusMembers<P>>,
    #[serde(default = "Vec::new", deserialize_with = "list")]
    artifacts: Vec<ArtifactMembers<P>>,
    #[serde(default = "Vec::new", deserialize_with = "list")]
    history: Vec<MessageMembers<P>>,
    message_id: Option<String>,
    role: Option<Role>,
    #[serde(default = "Vec::new", deserialize_with = "list")]
    parts: Vec<P>,
    #[serde(default, deserialize_with = "null_is_default")]
    reference_task_ids: Vec<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    extensions: Vec<String>,
    artifact: Option<ArtifactMembers<P>>,
    #[serde(default, deserialize_with = "null_is_default")]
    append: bool,
    #[serde(default, deserialize_with = "null_is_default")]
    last_chunk: bool,
    #[serde(default, rename = "final", deserialize_with = "null_is_default")]
    is_final: bool,
    metadata: Option<JsonObject>,
}

impl<P> EventMembers<P> {
    /// The kind, or what the members tell if it is missing.
    fn kind(&self) -> Option<Kind> {
        self.kind.or(if self.artifact.is_some() {
            Some(Kind::ArtifactUpdate)
        } else if self.message_id.is_some() {
            Some(Kind::Message)
        } else if self.status.is_some() {
            Some(if self.id.is_some() { Kind::Task } else { Kind::StatusUpdate })
        } else {
            None
        })
    }
}

impl<P: Into<Part>> TryFrom<EventMembers<P>> for StreamResponse {
    type Error = &'static str;

    fn try_from(members: EventMembers<P>) -> Result<Self, Self::Error> {
        let kind = members.kind().ok_or("a result needs its `kind`")?;
        Ok(match kind {
            Kind::Task => Self::Task(
                TaskMembers {
                    id: members.id.ok_or("a task needs its `id`")?,
                    context_id: members.context_id.unwrap_or_default(),
                    status: members.status.ok_or("a task needs its `status`")?,
                    artifacts: members.artifacts,
                    history: members.history,
                    metadata: members.metadata,
                }
                .try_into()?,
            ),
            Kind::Message => Self::Message(
                MessageMembers {
                    kind: Some(kind),
                    message_id: members.message_id.ok_or("a message needs its `messageId`")?,
                    role: members.role.ok_or("a message needs its `role`")?,
                    parts: members.parts,
                    task_id: members.task_id,
                    context_id: members.context_id,
                    reference_task_ids: members.reference_task_ids,
                    extensions: members.extensions,
                    metadata: members.metadata,
                }
                .try_into()?,
            ),
            Kind::StatusUpdate => Self::StatusUpdate(StatusUpdate {
                task_id: members.task_id.ok_or("a status update needs its `taskId`")?,
                context_id: members.context_id.unwrap_or_default(),
                status: members.status.ok_or("a status update needs its `status`")?.try_into()?,
                metadata: members.metadata,
            }),
            Kind::ArtifactUpdate => Self::ArtifactUpdate(ArtifactUpdate {
                task_id: members.task_id.ok_or("an artifact update needs its `taskId`")?,
                context_id: members.context_id.unwrap_or_default(),
                artifact: members.artifact.ok_or("an artifact update needs its `artifact`")?.into(),
                append: members.append,
                last_chunk: members.last_chunk,
                metadata: members.metadata,
            }),
        })
    }
}
