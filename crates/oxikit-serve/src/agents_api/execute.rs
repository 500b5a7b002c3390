//! Turns: as one answer, or as events.
//!
//! Every event has an id. A reader that comes back with the last one it got, as
//! `Last-Event-ID`, is never taken for somebody who asks for another turn: it gets
//! what follows if the turn is recorded, and is told so if it is not.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Response, StatusCode as HttpStatus};
use oxikit_core::ports::StreamStore;
use oxikit_core::{Call, Event, Payload, Run, Status};
use oxikit_wire::{
    AgentFinishReason, AgentInit, AgentOutput, AgentStreamChunk, ExecuteResponse, ExecuteResult,
    SessionState, Telemetry,
};

use super::agent::Agent;
use super::event_stream::{EventStream, Recorded};
use super::events::{Events, StreamHead};
use super::execute_body::ExecuteBody;
use super::read_json;
use super::sessions::{Session, last_completed};
use crate::access_log::Watch;
use crate::action_http::{App, Slot};
use crate::durable;
use crate::origin::Origin;
use crate::reply::{self, Failed};
use crate::request;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// `POST …/execute`: one turn.
pub(super) async fn execute(
    app: &Arc<App>,
    head: &Parts,
    body: Body,
    agent: Agent,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, Failed> {
    let body = read_json(app, head, body, watch).await?;
    if let Some((id, known)) = last_event(&head.headers)? {
        let id = id.ok_or_else(|| Status::invalid_argument("`Last-Event-ID` names no stream"))?;
        return resume(app, agent, &id, known, watch, slot).await;
    }
    let ExecuteBody { input, init, stream, labels } = ExecuteBody::parse(&body)?;
    let mut init = ExecuteBody::agent_init(init, agent.has_store())?;
    let wants_stream = stream || request::wants_stream(&head.headers, &head.uri);
    let session_id = match wants_stream {
        true => Some(name_session(&agent, &mut init).await?),
        false => None,
    };
    let mut call = agent.call(Call::new(input)).with_init(Payload::of(init));
    if let Some(labels) = labels {
        call = call.with_labels(labels);
    }
    match session_id {
        Some(session_id) => begin(app, agent, call, session_id, watch, slot).await,
        None => unary(app, &agent, call).await,
    }
}

/// `GET …/streams/{stream}`: a recorded turn, from its start or behind
/// `Last-Event-ID`.
pub(super) async fn read_again(
    app: &Arc<App>,
    head: &Parts,
    agent: Agent,
    id: &str,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, Failed> {
    let known = match last_event(&head.headers)? {
        Some((Some(other), _)) if other != id => {
            return Err(Status::invalid_argument("`Last-Event-ID` is of another stream").into());
        }
        Some((_, known)) => known,
        None => 0,
    };
    resume(app, agent, id, known, watch, slot).await
}

async fn unary(app: &App, agent: &Agent, call: Call) -> Result<Response<Body>, Failed> {
    let mut run = agent.action.start(call.without_chunks())?;
    let (ids, telemetry) = ((run.trace_id(), run.span_id()), telemetry_of(&run));
    let output = loop {
        let event = tokio::select! {
            biased;
            event = run.next() => event,
            () = app.ending.cut.cancelled() => break Err(durable::shutting_down()),
        };
        match event {
            Some(Event::Chunk(_)) => {}
            Some(Event::Done(output)) => break Ok(output),
            Some(Event::Failed(status)) => break Err(status),
            None => break Err(Status::cancelled()),
        }
    };
    let answer = async {
        super::json(&ExecuteResponse { result: result_of(agent, output?).await?, telemetry })
    };
    let mut response = answer.await.map_err(|failed: Failed| failed.of_run(ids))?;
    reply::name_run(&mut response, ids);
    Ok(response)
}

/// Begins a turn whose events are sent as they come.
async fn begin(
    app: &Arc<App>,
    agent: Agent,
    call: Call,
    session_id: String,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, Failed> {
    let run = agent.action.start(call.for_wire())?;
    let ids = (run.trace_id(), run.span_id());
    let agent_name = agent.name().to_owned();
    let head = StreamHead { agent: agent_name, session_id, telemetry: telemetry_of(&run) };
    let id = durable::new_id();
    let store = app.streams.as_ref().filter(|_| agent.is_durable);
    let cut = &app.ending.cut;
    let origin = Origin::of_run(&agent.registry, &agent.action, &run);
    let mut stream = match store {
        Some(store) => {
            let recorded = durable::Recorded { run, origin: origin.clone(), cut: cut.clone() };
            let recorded = record(app, store, &agent, &id, &head, recorded).await;
            let recorded = recorded.map_err(|status| Failed::from(status).of_run(ids))?;
            EventStream::follow(recorded, agent, origin, cut, slot)
        }
        None => EventStream::run(run, Events::new(head, &id, 0), agent, origin, cut, slot),
    };
    watch.streams(ids.0);
    stream.watch(watch.take());
    let mut response = reply::stream_response(stream.into_body());
    if store.is_some() {
        response.headers_mut().insert(reply::STREAM_ID, durable::id_header(&id));
    }
    reply::name_run(&mut response, ids);
    Ok(response)
}

/// Lets the turn go on without its reader; also the first one reads the recording.
async fn record(
    app: &App,
    store: &Arc<dyn StreamStore>,
    agent: &Agent,
    id: &str,
    head: &StreamHead,
    run: durable::Recorded,
) -> Result<Recorded, Status> {
    let recorded = Recorded::new(store, id, head);
    let recording =
        durable::Recording::open(store, &Recorded::scope(agent), recorded.stored_id()).await?;
    let recording = recording.after(Payload::of(head.clone())).await?;
    let recording = recording.with_sign_of_life(Payload::of(AgentStreamChunk::default()));
    app.recordings.spawn(recording.record(run));
    Ok(recorded)
}

/// Goes on with the events of a recorded turn. When there are no more, 204 tells a
/// reader that it need not come back.
async fn resume(
    app: &Arc<App>,
    agent: Agent,
    id: &str,
    known: u64,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, Failed> {
    let missing =
        || Status::not_found(format!("there is no stream `{id}`; its turn was not repeated"));
    let store = app.streams.clone().ok_or_else(missing)?;
    let recorded = Recorded::find(&store, &agent, id).await?.ok_or_else(missing)?;
    let cut = &app.ending.cut;
    match EventStream::resume(recorded, agent, known, cut, slot).await? {
        Some(mut stream) => {
            stream.watch(watch.take());
            let mut response = reply::stream_response(stream.into_body());
            response.headers_mut().insert(reply::STREAM_ID, durable::id_header(id));
            Ok(response)
        }
        None => {
            let mut response = reply::json_response(HttpStatus::NO_CONTENT, Body::empty());
            response.headers_mut().remove(CONTENT_TYPE);
            Ok(response)
        }
    }
}

/// The last event that a reader has got: its stream, if it is named, and number.
fn last_event(headers: &HeaderMap) -> Result<Option<(Option<String>, u64)>, Status> {
    let Some(value) = durable::only(headers, &LAST_EVENT_ID)? else { return Ok(None) };
    let parse = || {
        let value = value.to_str().ok()?;
        let (id, number) = match value.rsplit_once('/') {
            Some((id, number)) => (Some(id.to_owned()), number),
            None => (None, value),
        };
        Some((id, durable::parse_position(number)?))
    };
    let event = parse().ok_or_else(|| {
        Status::invalid_argument("`Last-Event-ID` is not an id that was sent: <stream>/<number>")
    })?;
    Ok(Some(event))
}

/// Makes sure that the session has a name: every event says it.
async fn name_session(agent: &Agent, init: &mut AgentInit) -> Result<String, Status> {
    if !agent.has_store() {
        let fresh = || SessionState {
            messages: Some(Vec::new()),
            artifacts: Some(Vec::new()),
            ..SessionState::default()
        };
        let state = init.state.get_or_insert_with(fresh);
        return Ok(state.session_id.get_or_insert_with(durable::new_id).clone());
    }
    if let (None, Some(snapshot)) = (&init.session_id, &init.snapshot_id) {
        let stored = agent.store()?.get(&agent.owner, snapshot).await?;
        // If the agent has none, the turn fails and has no session.
        let is_own = |agent_name: &str| agent_name == agent.name();
        let stored = stored.filter(|stored| stored.agent.as_deref().is_none_or(is_own));
        return Ok(stored.and_then(|stored| stored.snapshot.session_id).unwrap_or_default());
    }
    Ok(init.session_id.get_or_insert_with(durable::new_id).clone())
}

fn telemetry_of(run: &Run) -> Telemetry {
    Telemetry { trace_id: run.trace_id().to_string(), span_id: run.span_id().to_string() }
}

/// What came of a turn, with the whole state behind it.
pub(super) async fn result_of(agent: &Agent, output: Payload) -> Result<ExecuteResult, Status> {
    let mut output: AgentOutput = output.parse()?;
    let state = match (output.state.take(), &output.snapshot_id) {
        (Some(state), _) => Some(state),
        (None, None) => Some(SessionState::default()),
        // The turn is over, whatever comes of reading its state: it must not look
        // as if it had failed.
        (None, Some(snapshot)) => state_at(agent, snapshot, output.finish_reason)
            .await
            .inspect_err(|status| tracing::warn!(snapshot, %status, "cannot read the state"))
            .ok(),
    };
    Ok(ExecuteResult::new(output, state))
}

/// The state at a snapshot; while detached work goes on, the state before it.
async fn state_at(
    agent: &Agent,
    snapshot: &str,
    finish_reason: Option<AgentFinishReason>,
) -> Result<SessionState, Status> {
    let found = agent.snapshot(snapshot).await?;
    let state = match (finish_reason, &found.session_id) {
        (Some(AgentFinishReason::Detached), Some(session)) => {
            let Session { nodes, .. } = Session::find(agent, session).await?;
            match last_completed(&nodes, snapshot) {
                Some(completed) if completed != snapshot => agent.snapshot(completed).await?.state,
                Some(_) => found.state,
                None => None,
            }
        }
        _ => found.state,
    };
    Ok(state.unwrap_or_default())
}
