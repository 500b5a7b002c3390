//! What a turn sends while it goes on, as server-sent events.
//!
//! Every event has a number, counted from 1, and is sent with the id
//! `<stream>/<number>`. The numbers follow from the turn alone, so whoever reads it
//! again gets the same events with the same numbers.

use oxikit_core::{OutgoingStatus, Payload, Status, json_patch};
use oxikit_wire::{ExecuteResult, JsonPatch, Telemetry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What is known of a turn before it begins; the first entry of a recorded one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamHead {
    /// The agent.
    pub agent: String,
    /// The session.
    pub session_id: String,
    /// Where its trace is.
    pub telemetry: Telemetry,
}

/// Writes the events of a turn.
#[derive(Debug)]
pub struct Events {
    session_id: String,
    telemetry: Telemetry,
    /// The custom state as the client knows it.
    custom: Value,
    writer: Writer,
}

/// Numbers events, and writes those that the reader has not got.
#[derive(Debug)]
struct Writer {
    stream: String,
    /// The last event's number.
    number: u64,
    /// The reader has got the events up to this one.
    known: u64,
}

/// The members of a chunk; only patches are looked into.
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
    /// From the first one on that the reader does not know.
    pub fn new(head: StreamHead, stream: &str, known: u64) -> Self {
        let writer = Writer { stream: stream.to_owned(), number: 0, known };
        let StreamHead { session_id, telemetry, .. } = head;
        Self { session_id, telemetry, custom: Value::Null, writer }
    }

    /// Tells where the trace is, if that was not known before.
    pub fn set_telemetry(&mut self, telemetry: Telemetry) {
        self.telemetry = telemetry;
    }

    /// Whether the reader has got the next event already.
    pub(super) fn is_next_known(&self) -> bool {
        self.writer.number < self.writer.known
    }

    /// The events of a chunk: mostly one.
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

    /// The turn's result, and where its trace is.
    pub fn done(&mut self, out: &mut Vec<u8>, result: &ExecuteResult) -> Result<(), Status> {
        self.writer.event(out, "done", result)?;
        self.telemetry(out)
    }

    /// The event of a result that the reader knows already is only counted.
    pub(super) fn known_done(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        self.writer.number += 1;
        self.telemetry(out)
    }

    /// Why there is no result, and where the trace is.
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
        out.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
        let begin = out.len();
        if let Err(error) = serde_json::to_writer(&mut *out, data) {
            out.truncate(start);
            return Err(error.into());
        }
        join_lines(out, begin);
        out.extend_from_slice(format!("\nid: {}/{}\n\n", self.stream, self.number).as_bytes());
        Ok(())
    }
}

/// JSON of a user may have line breaks between its tokens; inside of strings there
/// are none.
fn join_lines(out: &mut Vec<u8>, begin: usize) {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if out[begin..].iter().any(is_break) {
        let mut tail = out.split_off(begin);
        tail.retain(|byte| !is_break(byte));
        out.append(&mut tail);
    }
}
