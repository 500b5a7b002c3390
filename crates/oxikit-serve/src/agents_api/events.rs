//! Writes a turn as server-sent events.
//!
//! Every event has a number, counted from 1, and the id `<stream>/<number>`. One recorded entry
//! can become several events, or none, so an event's number is not a position in the store. It
//! is computed by writing the turn again from its start: the entries alone determine the events
//! and their numbers. To resume after event *n*, [`Events`] processes all entries and writes
//! only the events after *n*. The custom state, which the entries change by patches, is then
//! right, too.

use oxikit_core::{OutgoingStatus, Payload, Status, json_patch};
use oxikit_http::sse::{begin_event, join_lines, write_id};
use oxikit_wire::{ExecuteResult, JsonPatch, Telemetry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The facts that are known before a turn begins; the first entry of a recorded turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamHead {
    /// Name of the agent. A recorded turn is only shown as one of this agent.
    pub agent: String,
    /// Id of the session, which every event repeats.
    pub session_id: String,
    /// Ids of the trace and the span of the turn, sent with the last event.
    pub telemetry: Telemetry,
}

/// Writes the events of a turn.
///
/// ```
/// use oxikit_core::Payload;
/// use oxikit_serve::agents_api::{Events, StreamHead};
/// use serde_json::json;
///
/// let head = StreamHead { session_id: "s".into(), ..StreamHead::default() };
/// let mut events = Events::new(head, "stream", 0);
/// let mut out = Vec::new();
/// events.chunk(&mut out, &Payload::of(json!({ "artifact": { "parts": [] } })))?;
/// let text = String::from_utf8(out).unwrap();
/// assert!(text.starts_with("event: artifact\n"), "{text}");
/// assert!(text.contains("id: stream/1\n"), "{text}");
/// # Ok::<(), oxikit_core::Status>(())
/// ```
#[derive(Debug)]
pub struct Events {
    session_id: String,
    telemetry: Telemetry,
    /// The custom state as the client knows it.
    custom: Value,
    writer: Writer,
}

/// Numbers events, and writes those that the reader has not received.
#[derive(Debug)]
struct Writer {
    stream: String,
    /// The last event's number.
    number: u64,
    /// Number of the last event that the reader has received.
    known: u64,
}

/// The members of a chunk; only patches are parsed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(default, borrow)]
    model_chunk: Option<&'a RawValue>,
    #[serde(default)]
    custom_patch: Option<JsonPatch>,
    #[serde(default, borrow)]
    artifact: Option<&'a RawValue>,
    #[serde(default, borrow)]
    turn_end: Option<&'a RawValue>,
}

impl Events {
    /// Writes the events of a turn after the first `known` ones.
    pub fn new(head: StreamHead, stream: &str, known: u64) -> Self {
        let writer = Writer { stream: stream.to_owned(), number: 0, known };
        let StreamHead { session_id, telemetry, .. } = head;
        Self { session_id, telemetry, custom: Value::Null, writer }
    }

    /// Sets the id of the trace, if it was not known before.
    pub fn set_telemetry(&mut self, telemetry: Telemetry) {
        self.telemetry = telemetry;
    }

    /// Whether the reader has received the next event already.
    pub(super) fn is_next_known(&self) -> bool {
        self.writer.number < self.writer.known
    }

    /// Writes the events of a chunk, usually one, at the end of `out`. A chunk without known
    /// members, such as a heartbeat of a recording, has none.
    ///
    /// # Errors
    ///
    /// If the chunk is not a chunk of an agent, or its patch does not fit the custom state. The
    /// turn cannot be shown any further then.
    pub fn chunk(&mut self, out: &mut Vec<u8>, chunk: &Payload) -> Result<(), Status> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            session_id: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            chunk: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            state_update: Option<&'a Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            patch: Option<&'a JsonPatch>,
            #[serde(skip_serializing_if = "Option::is_none")]
            artifact: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            turn_end: Option<&'a RawValue>,
        }
        let json = chunk.to_json()?;
        let Chunk { model_chunk, custom_patch, artifact, turn_end } =
            serde_json::from_slice(&json)?;
        let Self { session_id, custom, writer, .. } = self;
        let empty = Data {
            session_id,
            chunk: None,
            state_update: None,
            patch: None,
            artifact: None,
            turn_end: None,
        };
        if model_chunk.is_some() {
            writer.event(out, "chunk", &Data { chunk: model_chunk, ..empty })?;
        }
        if let Some(patch) = &custom_patch {
            json_patch::apply(custom, patch)?;
            let data = Data { state_update: Some(custom), patch: Some(patch), ..empty };
            writer.event(out, "stateUpdate", &data)?;
        }
        if artifact.is_some() {
            writer.event(out, "artifact", &Data { artifact, ..empty })?;
        }
        if turn_end.is_some() {
            writer.event(out, "turnEnd", &Data { turn_end, ..empty })?;
        }
        Ok(())
    }

    /// Writes the turn's result, and the id of its trace. Nothing may be written after it.
    ///
    /// # Errors
    ///
    /// If the result cannot be written as JSON.
    pub fn done(&mut self, out: &mut Vec<u8>, result: &ExecuteResult) -> Result<(), Status> {
        self.writer.event(out, "done", result)?;
        self.telemetry(out)
    }

    /// Counts the event of a result that the reader has received, without writing it.
    pub(super) fn known_done(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        self.writer.number += 1;
        self.telemetry(out)
    }

    /// Writes the error of a failed turn, and the id of the trace. Nothing may be written after
    /// it.
    ///
    /// # Errors
    ///
    /// If the details of the status cannot be written as JSON.
    pub fn error(&mut self, out: &mut Vec<u8>, status: &OutgoingStatus) -> Result<(), Status> {
        #[derive(Serialize)]
        struct Data<'a> {
            error: &'a OutgoingStatus,
        }
        self.writer.event(out, "error", &Data { error: status })?;
        self.telemetry(out)
    }

    fn telemetry(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        self.writer.event(out, "telemetry", &self.telemetry)
    }
}

impl Writer {
    /// Counts an event, and writes it unless the reader has received it. A failed write leaves
    /// `out` as it was.
    fn event(
        &mut self,
        out: &mut Vec<u8>,
        name: &str,
        data: &impl Serialize,
    ) -> Result<(), Status> {
        self.number += 1;
        if self.number <= self.known {
            return Ok(());
        }
        let start = out.len();
        begin_event(out, name);
        let begin = out.len();
        if let Err(error) = serde_json::to_writer(&mut *out, data) {
            out.truncate(start);
            return Err(error.into());
        }
        join_lines(out, begin);
        out.push(b'\n');
        write_id(out, format_args!("{}/{}", self.stream, self.number));
        out.push(b'\n');
        Ok(())
    }
}
