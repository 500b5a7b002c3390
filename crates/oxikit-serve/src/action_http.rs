//! Genkit's action protocol: one POST runs one action.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method, Response, StatusCode as HttpStatus};
use oxikit_core::ports::{Owner, StreamScope, StreamStore};
use oxikit_core::{ActionContext, Call, Event, Registry, Status, StatusCode};
use percent_encoding::percent_decode_str;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access_log::Watch;
use crate::agents_api::AgentScope;
use crate::auth::ContextProvider;
use crate::durable;
use crate::exposed::{Expose, Exposed};
use crate::gate::Gate;
use crate::limits::Limits;
use crate::listen::Ending;
use crate::metrics::Metrics;
use crate::operations::Operations;
use crate::origin::Origin;
use crate::panic_guard::{caught, guarded};
use crate::reply::{self, Failed};
use crate::request::{self, Envelope};
use crate::stream::{Source, StreamBody};
use crate::wrong_keys::WrongKeys;

/// What every request needs.
pub(crate) struct App {
    pub(crate) registry: Registry,
    pub(crate) exposed: Exposed,
    /// Stands before every path, without slashes around it.
    pub(crate) prefix: String,
    pub(crate) provider: Option<Arc<dyn ContextProvider>>,
    pub(crate) wrong_keys: WrongKeys,
    pub(crate) gate: Gate,
    pub(crate) limits: Limits,
    pub(crate) ending: Ending,
    pub(crate) in_flight: AtomicUsize,
    /// Where durable streams are kept.
    pub(crate) streams: Option<Arc<dyn StreamStore>>,
    /// The runs behind durable streams.
    pub(crate) recordings: TaskTracker,
    /// What is counted.
    pub(crate) metrics: Option<Metrics>,
    /// The server's own pages.
    pub(crate) operations: Option<Operations>,
    /// What the API of agents shows.
    pub(crate) agents: AgentScope,
}

/// `POST /{action}`: the output as one JSON body, or the whole run as blocks.
pub(crate) async fn handle(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let is_preflight = Gate::is_preflight(&head.method, &head.headers);
    let mut response = match app.gate.check(&head.uri, &head.headers) {
        Err(status) => Failed::from(status).report(&app.registry, head.uri.path()),
        Ok(()) if is_preflight => reply::json_response(HttpStatus::NO_CONTENT, Body::empty()),
        Ok(()) => app.answer(&head, body, &mut watch).await,
    };
    app.gate.add_cors(&head.headers, response.headers_mut(), is_preflight);
    watch.answered(&response);
    response
}

impl App {
    async fn answer(
        self: &Arc<Self>,
        head: &axum::http::request::Parts,
        body: Body,
        watch: &mut Watch,
    ) -> Response<Body> {
        let Some(expose) = self.find(head.uri.path()) else {
            watch.measure(self.metrics.as_ref().map(|metrics| &metrics.nowhere));
            return reply::error(&Status::not_found("there is no action at this path"));
        };
        watch.measure(expose.meters.as_ref());
        let answer = guarded(self.run(expose, head, body, watch)).await;
        answer.unwrap_or_else(|failed| failed.report(&self.registry, expose.action.key()))
    }

    async fn run(
        self: &Arc<Self>,
        expose: &Expose,
        head: &axum::http::request::Parts,
        body: Body,
        watch: &mut Watch,
    ) -> Result<Response<Body>, Failed> {
        if head.method != Method::POST {
            let status = Status::invalid_argument("actions are called by POST");
            let mut response = reply::error_with(HttpStatus::METHOD_NOT_ALLOWED, &status);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Ok(response);
        }
        let slot = Slot::take(self).ok_or_else(busy)?;
        let context = self.context(head, expose).await?;
        request::check_media_type(&head.headers)?;
        let body = request::read_body(&head.headers, body, &self.limits).await?;
        let length = body.len();
        watch.read(length);
        let envelope = Envelope::parse(body, &expose.action)?;
        if !request::wants_stream(&head.headers, &head.uri) {
            // Many answers are about as long as what was asked.
            let call = self.call(envelope, context);
            return unary(expose, call, length + 64, &self.ending.cut).await;
        }
        let streaming = Streaming { app: self, expose, slot, watch };
        let Some(store) = self.streams.as_ref().filter(|_| expose.is_durable) else {
            return Ok(streaming.start(self.call(envelope, context)));
        };
        let scope = StreamScope::new(Owner::of(&context), expose.source());
        match durable::requested(&head.headers)? {
            Some((id, position)) => streaming.resume(store, scope, &id, position).await,
            None => streaming.record(store, scope, self.call(envelope, context)).await,
        }
    }

    /// The action at this path; one slash at the end does not matter.
    pub(crate) fn find(&self, path: &str) -> Option<&Expose> {
        let path = path.strip_prefix('/')?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let path = match self.prefix.as_str() {
            "" => path,
            prefix => path.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        if path.contains('%') {
            return self.exposed.get(&percent_decode_str(path).decode_utf8().ok()?);
        }
        self.exposed.get(path)
    }

    async fn context(
        &self,
        head: &axum::http::request::Parts,
        expose: &Expose,
    ) -> Result<ActionContext, Status> {
        let context = self.caller(head, Some(expose), expose.guarded_key()).await?;
        if let Some(policy) = &expose.policy {
            policy(&context)?;
        }
        Ok(context)
    }

    fn call(&self, envelope: Envelope, context: ActionContext) -> Call {
        let call = match envelope.data {
            Some(data) => Call::new(data),
            None => Call::empty(),
        };
        let call = call.in_registry(&self.registry).with_context(context);
        match envelope.init {
            Some(init) => call.with_init(init),
            None => call,
        }
    }
}

/// A request that is answered by a stream.
struct Streaming<'a> {
    app: &'a App,
    expose: &'a Expose,
    slot: Slot,
    watch: &'a mut Watch,
}

impl Streaming<'_> {
    /// Streams a run that ends with its reader. A call that cannot begin is an error
    /// block too, as official servers answer it.
    fn start(self, call: Call) -> Response<Body> {
        let (registry, action) = (&self.app.registry, &self.expose.action);
        let run = match action.start(call.for_wire()) {
            Ok(run) => run,
            Err(status) => return self.refuse(&status),
        };
        let (origin, ids) =
            (Origin::of_run(registry, action, &run), (run.trace_id(), run.span_id()));
        self.watch.streams(ids.0);
        let mut response = self.respond(Source::Run(Box::new(run)), origin);
        reply::name_run(&mut response, ids);
        response
    }

    /// Streams a run that goes on without its reader.
    async fn record(
        self,
        store: &Arc<dyn StreamStore>,
        scope: StreamScope,
        call: Call,
    ) -> Result<Response<Body>, Failed> {
        let App { registry, ending, recordings, .. } = self.app;
        let run = match self.expose.action.start(call.for_wire()) {
            Ok(run) => run,
            Err(status) => return Ok(self.refuse(&status)),
        };
        let origin = Origin::of_run(registry, &self.expose.action, &run);
        let ids = (run.trace_id(), run.span_id());
        let spawn = |work| drop(recordings.spawn(work));
        let recorded = durable::Recorded { run, origin: origin.clone(), cut: ending.cut.clone() };
        let begun = durable::begin(store, scope, recorded, spawn).await;
        let (id, source) = begun.map_err(|status| Failed::from(status).of_run(ids))?;
        self.watch.streams(ids.0);
        let mut response = self.respond(source, origin);
        response.headers_mut().insert(reply::STREAM_ID, durable::id_header(&id));
        reply::name_run(&mut response, ids);
        Ok(response)
    }

    /// Reads a stream again; an unknown one is 204, as official clients expect, and
    /// so is one that was read to its end.
    async fn resume(
        self,
        store: &Arc<dyn StreamStore>,
        scope: StreamScope,
        id: &str,
        position: u64,
    ) -> Result<Response<Body>, Failed> {
        let Some(source) = durable::resume(store, scope, id, position).await? else {
            return Ok(reply::json_response(HttpStatus::NO_CONTENT, Body::empty()));
        };
        let origin = self.origin();
        let mut response = self.respond(source, origin);
        let headers = response.headers_mut();
        headers.insert(reply::STREAM_ID, durable::id_header(id));
        // Tells a client that asked for a position that it was understood.
        headers.insert(durable::POSITION, HeaderValue::from(position));
        Ok(response)
    }

    fn refuse(self, status: &Status) -> Response<Body> {
        let origin = self.origin();
        let refused = Source::Refused(origin.report(status));
        self.respond(refused, origin)
    }

    fn origin(&self) -> Origin {
        Origin::new(&self.app.registry, &self.expose.action)
    }

    fn respond(mut self, source: Source, origin: Origin) -> Response<Body> {
        // The request is over when its stream is.
        self.slot.watch = self.watch.take();
        let body = StreamBody::new(source, origin, &self.app.ending.cut, Some(self.slot));
        reply::stream_response(Body::new(body))
    }
}

async fn unary(
    expose: &Expose,
    call: Call,
    guess: usize,
    cut: &CancellationToken,
) -> Result<Response<Body>, Failed> {
    let mut run = expose.action.start(call.without_chunks())?;
    let ids = (run.trace_id(), run.span_id());
    let result = loop {
        // Work that never waits is spared the token.
        let event = tokio::select! {
            biased;
            event = run.next() => event,
            () = cut.cancelled() => break Err(durable::shutting_down()),
        };
        match event {
            Some(Event::Chunk(_)) => {}
            Some(Event::Done(output)) => break caught(|| reply::result(&output, guess)),
            Some(Event::Failed(status)) => break Err(status),
            None => break Err(Status::cancelled()),
        }
    };
    let mut response = result.map_err(|status| Failed::from(status).of_run(ids))?;
    reply::name_run(&mut response, ids);
    Ok(response)
}

/// As many requests are being worked on as the limits allow.
pub(crate) fn busy() -> Status {
    let status = Status::public(StatusCode::Unavailable, "the server is busy, try later");
    status.with_retry_after(std::time::Duration::from_secs(1))
}

/// One of the requests that are worked on at a time.
pub(crate) struct Slot {
    app: Arc<App>,
    /// Of a stream: it is over when its last block is written.
    pub(crate) watch: Watch,
}

impl Slot {
    pub(crate) fn take(app: &Arc<App>) -> Option<Self> {
        let taken = app.in_flight.fetch_add(1, Ordering::Relaxed);
        let slot = Self { app: app.clone(), watch: Watch::default() };
        (taken < app.limits.requests).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.app.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
