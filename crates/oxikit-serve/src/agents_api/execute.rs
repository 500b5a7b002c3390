//! Executes turns, answered with one JSON body or with a stream of events.
//!
//! Every event has an id. A `POST` with `Last-Event-ID` is a reader that reconnects, and never
//! starts another turn: it gets the following events if the turn is recorded, and an error if
//! it is not.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Response, StatusCode as HttpStatus};
use oxikit_core::ports::StreamStore;
use oxikit_core::{Call, Event, Payload, Run, Status};
use oxikit_wire::headers;
use oxikit_wire::{AgentInit, AgentStreamChunk, ExecuteResponse, SessionState, Telemetry};

use super::agent::Agent;
use super::event_stream::{EventStream, Recorded};
use super::events::{Events, StreamHead};
use super::execute_body::ExecuteBody;
use super::read_json;
use super::turn_result::result_of;
use crate::app::{App, Slot};
use crate::durable;
use crate::origin::Origin;
use crate::request;
use oxikit_http::Watch;
use oxikit_http::{HttpError, reply};

/// The header by which an `EventSource` names the last event that it has received.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);

/// `POST …/execute`: one turn.
pub(super) async fn execute(
    app: &Arc<App>,
    head: &Parts,
    body: Body,
    agent: Agent,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, HttpError> {
    let body = read_json(app, head, body, watch).await?;
    if let Some((id, known)) = last_event(&head.headers)? {
        let id = id.ok_or_else(|| Status::invalid_argument("`Last-Event-ID` names no stream"))?;
        return resume(app, agent, &id, known, watch, slot).await;
    }
    let ExecuteBody { input, init, stream, labels } = ExecuteBody::parse(&body)?;
    let mut init = ExecuteBody::agent_init(init, agent.has_store())?;
    let wants_stream = stream || request::wants_stream(&head.headers, &head.uri);
    // Every event names the session, so a streamed turn needs its id before it begins.
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

/// `GET …/streams/{stream}`: a recorded turn, from its start or after `Last-Event-ID`.
pub(super) async fn read_again(
    app: &Arc<App>,
    head: &Parts,
    agent: Agent,
    id: &str,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, HttpError> {
    let known = match last_event(&head.headers)? {
        Some((Some(other), _)) if other != id => {
            return Err(Status::invalid_argument("`Last-Event-ID` is of another stream").into());
        }
        Some((_, known)) => known,
        None => 0,
    };
    resume(app, agent, id, known, watch, slot).await
}

/// Runs a turn and answers its result as one JSON body, with the state after it.
async fn unary(app: &App, agent: &Agent, call: Call) -> Result<Response<Body>, HttpError> {
    let mut run = agent.action.start(call.without_chunks())?;
    let (ids, telemetry) = ((run.trace_id(), run.span_id()), telemetry_of(&run));
    let output = loop {
        let event = tokio::select! {
            biased;
            event = run.next() => event,
            () = app.shutdown.cut.cancelled() => break Err(reply::shutting_down()),
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
    let mut response = answer.await.map_err(|failed: HttpError| failed.of_run(ids))?;
    reply::name_run(&mut response, ids);
    Ok(response)
}

/// Begins a turn whose events are sent as they happen.
async fn begin(
    app: &Arc<App>,
    agent: Agent,
    call: Call,
    session_id: String,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, HttpError> {
    let run = agent.action.start(call.for_wire())?;
    let ids = (run.trace_id(), run.span_id());
    let agent_name = agent.name().to_owned();
    let head = StreamHead { agent: agent_name, session_id, telemetry: telemetry_of(&run) };
    let id = oxikit_core::random_id();
    let store = app.streams.as_ref().filter(|_| agent.is_durable);
    let cut = &app.shutdown.cut;
    let origin = Origin::of_run(&agent.registry, &agent.action, &run);
    let mut stream = match store {
        Some(store) => {
            let recorded = durable::Recorded { run, origin: origin.clone(), cut: cut.clone() };
            let recorded = record(app, store, &agent, &id, &head, recorded).await;
            let recorded = recorded.map_err(|status| HttpError::from(status).of_run(ids))?;
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

/// Begins a recorded turn, which continues without its reader.
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
    // An empty chunk becomes no event; it only shows readers that the process is alive.
    let recording = recording.with_heartbeat(Payload::of(AgentStreamChunk::default()));
    app.shutdown.background.spawn(recording.record(run));
    Ok(recorded)
}

/// Resumes the events of a recorded turn. If there are no more the response is 204, after
/// which an `EventSource` does not reconnect.
async fn resume(
    app: &Arc<App>,
    agent: Agent,
    id: &str,
    known: u64,
    watch: &mut Watch,
    slot: Slot,
) -> Result<Response<Body>, HttpError> {
    let missing =
        || Status::not_found(format!("there is no stream `{id}`; its turn was not repeated"));
    let store = app.streams.clone().ok_or_else(missing)?;
    let recorded = Recorded::find(&store, &agent, id).await?.ok_or_else(missing)?;
    let cut = &app.shutdown.cut;
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

/// The last event that a reader has received: its stream, if it is named, and its number.
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
        return Ok(state.session_id.get_or_insert_with(oxikit_core::random_id).clone());
    }
    if let (None, Some(snapshot)) = (&init.session_id, &init.snapshot_id) {
        let stored = agent.store()?.get(&agent.owner, snapshot).await?;
        // If the agent has none, the turn fails and has no session.
        let is_own = |agent_name: &str| agent_name == agent.name();
        let stored = stored.filter(|stored| stored.agent.as_deref().is_none_or(is_own));
        return Ok(stored.and_then(|stored| stored.snapshot.session_id).unwrap_or_default());
    }
    Ok(init.session_id.get_or_insert_with(oxikit_core::random_id).clone())
}

fn telemetry_of(run: &Run) -> Telemetry {
    Telemetry { trace_id: run.trace_id().to_string(), span_id: run.span_id().to_string() }
}
