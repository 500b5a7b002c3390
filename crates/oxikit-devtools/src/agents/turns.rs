//! Executes turns of agents, as one response or as a stream of events.
//!
//! The events are those of the REST API for agents of a served application, so a client works with
//! both. They are not recorded: a turn that was interrupted cannot be resumed here, see `resume`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use bytes::Bytes;
use futures_util::{Stream, stream};
use oxikit_core::{Payload, Status};
use oxikit_http::reply::stream_response;
use oxikit_serve::agents_api::{Events, ExecuteBody, StreamHead};
use oxikit_wire::{
    AgentInit, AgentOutput, ExecuteResponse, ExecuteResult, SessionState, Telemetry,
};
use serde_json::json;
use uuid::Uuid;

use super::{Agent, AgentQuery, read_output, status_of};
use crate::runs::named;
use crate::shared::Shared;
use oxikit_http::HttpResult;
use oxikit_http::api::Query;
use oxikit_http::api::json as answer;
use oxikit_http::api::{JsonText, Path};
use oxikit_manager::RunHandle;

/// `POST /api/agents/{agent}/execute[?runtime=]`: executes a turn. It is streamed if the body says
/// `stream` or the client accepts `text/event-stream`. A client that disconnects cancels the turn.
///
/// # Errors
///
/// 404 for an unknown agent, 400 for an invalid body, 503 if no runtime is connected. An error after
/// the first event of a stream is sent as the event `error`.
pub(crate) async fn execute(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(asked): Query<AgentQuery>,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> HttpResult {
    let agent = Agent::find(shared, &name, asked).await?;
    let ExecuteBody { input, init, stream, labels } = ExecuteBody::parse(&body)?;
    let mut init = ExecuteBody::agent_init(init, agent.has_store())?;
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_stream = stream || accepts.is_some_and(|it| it.contains("text/event-stream"));
    let session_id = wants_stream.then(|| name_session(&agent, &mut init));
    let mut params = json!({"key": format!("/agent/{name}"), "input": input, "init": init});
    if let Some(labels) = labels {
        params["telemetryLabels"] = labels.into();
    }
    let spec = agent.spec(params);
    match session_id {
        Some(session_id) => {
            let mut run = agent.shared.runtimes.run(spec.streaming()).await?;
            let trace_id = run.trace_id().await;
            let telemetry = Telemetry {
                trace_id: trace_id.as_deref().unwrap_or_default().to_owned(),
                ..Telemetry::default()
            };
            let stream_id = Uuid::new_v4().simple().to_string();
            let head = StreamHead { agent: name, session_id, telemetry };
            let events = Events::new(head, &stream_id, 0);
            let pieces = Turn { run, events, agent, taken: Vec::new() }.pieces();
            Ok(named(stream_response(Body::from_stream(pieces)), trace_id.as_deref()))
        }
        None => {
            let run = agent.shared.runtimes.run(spec).await?;
            let outcome = run.finish().await?;
            let telemetry = telemetry(&agent, outcome.trace_id.as_deref()).await;
            let result = result_of(&agent, outcome.result.as_deref()).await?;
            let response = answer(&ExecuteResponse { result, telemetry })?;
            Ok(named(response, outcome.trace_id.as_deref()))
        }
    }
}

/// A turn whose events are sent as they arrive.
struct Turn {
    run: RunHandle,
    events: Events,
    agent: Agent,
    taken: Vec<Bytes>,
}

impl Turn {
    /// The body of the response. Each piece has the events of all chunks that have arrived.
    fn pieces(self) -> impl Stream<Item = Result<Vec<u8>, Infallible>> + Send {
        stream::unfold(Some(self), |turn| async move {
            let mut turn = turn?;
            let mut piece = Vec::new();
            // No chunk means that the run has ended.
            if turn.run.next_chunks(&mut turn.taken).await == 0 {
                turn.end(&mut piece).await;
                return Some((Ok(piece), None));
            }
            let chunks = std::mem::take(&mut turn.taken);
            match chunks
                .into_iter()
                .try_for_each(|chunk| turn.events.chunk(&mut piece, &Payload::from_json(chunk)?))
            {
                Ok(()) => Some((Ok(piece), Some(turn))),
                Err(status) => {
                    turn.fail(&mut piece, &status);
                    Some((Ok(piece), None))
                }
            }
        })
    }

    /// Writes the last event, `done` with the result or `error`.
    async fn end(mut self, piece: &mut Vec<u8>) {
        let Self { run, events, agent, .. } = &mut self;
        let trace_id = run.trace_id().await;
        events.set_telemetry(telemetry(agent, trace_id.as_deref()).await);
        let Self { run, mut events, agent, .. } = self;
        let result = match run.finish().await.map_err(status_of) {
            Ok(outcome) => result_of(&agent, outcome.result.as_deref()).await,
            Err(status) => Err(status),
        };
        let written = match result {
            Ok(result) => events.done(piece, &result),
            Err(status) => events.error(piece, &status.outgoing()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "the end of a turn could not be written");
        }
    }

    /// Ends the stream because the agent has sent an invalid chunk.
    fn fail(&mut self, piece: &mut Vec<u8>, status: &Status) {
        let message = format!("the agent has sent an invalid chunk: {}", status.message());
        // This error is plain text: writing it cannot fail.
        _ = self.events.error(piece, &Status::invalid_argument(message).outgoing());
    }
}

/// Makes sure that the session has an id, because every event contains it.
fn name_session(agent: &Agent, init: &mut AgentInit) -> String {
    let fresh = || Uuid::new_v4().to_string();
    if !agent.has_store() {
        let empty = || SessionState {
            messages: Some(Vec::new()),
            artifacts: Some(Vec::new()),
            ..SessionState::default()
        };
        let state = init.state.get_or_insert_with(empty);
        return state.session_id.get_or_insert_with(fresh).clone();
    }
    if init.snapshot_id.is_some() {
        return init.session_id.clone().unwrap_or_default();
    }
    init.session_id.get_or_insert_with(fresh).clone()
}

/// The ids of the trace and its root span. Runtimes send their spans before the response, so the
/// trace is stored by now.
async fn telemetry(agent: &Agent, trace_id: Option<&str>) -> Telemetry {
    let Some(trace_id) = trace_id else { return Telemetry::default() };
    let known = agent.shared.traces.summary(trace_id).await.ok().flatten();
    let span_id = known.map(|trace| trace.root_id).unwrap_or_default();
    Telemetry { trace_id: trace_id.to_owned(), span_id }
}

/// The result of a turn, with the whole state of the session.
async fn result_of(agent: &Agent, output: Option<&[u8]>) -> Result<ExecuteResult, Status> {
    let mut output: AgentOutput = read_output(output.unwrap_or(b"{}"))?;
    let state = match (output.state.take(), &output.snapshot_id) {
        (Some(state), _) => Some(state),
        (None, None) => Some(SessionState::default()),
        // The turn has succeeded even if its state cannot be read.
        (None, Some(snapshot)) => {
            let found = agent.snapshot(json!({"snapshotId": snapshot})).await;
            found.ok().map(|snapshot| snapshot.state.unwrap_or_default())
        }
    };
    Ok(ExecuteResult::new(output, state))
}
