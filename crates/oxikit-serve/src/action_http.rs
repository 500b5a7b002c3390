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
use crate::auth::{ContextProvider, RequestInfo};
use crate::durable;
use crate::exposed::{Expose, Exposed};
use crate::gate::Gate;
use crate::limits::Limits;
use crate::listen::Ending;
use crate::metrics::Metrics;
use crate::operations::Operations;
use crate::panic_guard::guarded;
use crate::reply;
use crate::request::{self, Envelope};
use crate::stream::{Source, StreamBody};

/// What every request needs.
pub(crate) struct App {
    pub(crate) registry: Registry,
    pub(crate) exposed: Exposed,
    /// Stands before every path, without slashes around it.
    pub(crate) prefix: String,
    pub(crate) provider: Option<Arc<dyn ContextProvider>>,
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
        Err(status) => reply::error(&status),
        Ok(()) if is_preflight => reply::json_response(HttpStatus::NO_CONTENT, Body::empty()),
        Ok(()) => guarded(app.answer(&head, body, &mut watch)).await,
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
        if head.method != Method::POST {
            let status = Status::invalid_argument("actions are called by POST");
            let mut response = reply::error_with(HttpStatus::METHOD_NOT_ALLOWED, &status);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        let Some(mut slot) = Slot::take(self) else {
            let status = Status::public(StatusCode::Unavailable, "the server is busy, try later");
            return reply::error(&status.with_retry_after(std::time::Duration::from_secs(1)));
        };
        let context = match self.context(head, expose).await {
            Ok(context) => context,
            Err(status) => return reply::error(&status),
        };
        if let Err((http, status)) = request::check_media_type(&head.headers) {
            return reply::error_with(http, &status);
        }
        let body = match request::read_body(&head.headers, body, &self.limits).await {
            Ok(body) => body,
            Err((http, status)) => return reply::error_with(http, &status),
        };
        let length = body.len();
        watch.read(length);
        let envelope = match Envelope::parse(body, &expose.action) {
            Ok(envelope) => envelope,
            Err(status) => return reply::error(&status),
        };
        if !request::wants_stream(&head.headers, &head.uri) {
            // Many answers are about as long as what was asked.
            let call = self.call(envelope, context);
            return unary(expose, call, length + 64, &self.ending.cut).await;
        }
        slot.watch = watch.take();
        match &self.streams {
            Some(store) if expose.is_durable => {
                let scope = StreamScope::new(Owner::of(&context), expose.source());
                match durable::requested(&head.headers) {
                    Ok(Some((id, position))) => {
                        self.resume(store, scope, &id, position, slot).await
                    }
                    Ok(None) => {
                        self.record(store, scope, expose, self.call(envelope, context), slot).await
                    }
                    Err(status) => slot.answered(reply::error(&status)),
                }
            }
            _ => self.stream(expose, self.call(envelope, context), slot),
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
        let context = match &self.provider {
            Some(provider) => {
                let request = RequestInfo::new(head, expose.guarded_key());
                provider.context(request).await?
            }
            None => ActionContext::default(),
        };
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

    fn stream(&self, expose: &Expose, call: Call, mut slot: Slot) -> Response<Body> {
        let run = expose.action.start(call.for_wire());
        let ids = run.as_ref().ok().map(|run| (run.trace_id(), run.span_id()));
        if let Some((trace_id, _)) = ids {
            slot.watch.streams(trace_id);
        }
        let source = run.map_or_else(Source::Refused, |run| Source::Run(Box::new(run)));
        let mut response = self.stream_response(source, slot);
        if let Some(ids) = ids {
            reply::name_run(&mut response, ids);
        }
        response
    }

    /// Streams a run that goes on without its reader.
    async fn record(
        &self,
        store: &Arc<dyn StreamStore>,
        scope: StreamScope,
        expose: &Expose,
        call: Call,
        mut slot: Slot,
    ) -> Response<Body> {
        let run = match expose.action.start(call.for_wire()) {
            Ok(run) => run,
            Err(status) => return self.stream_response(Source::Refused(status), slot),
        };
        let ids = (run.trace_id(), run.span_id());
        slot.watch.streams(ids.0);
        let spawn = |work| drop(self.recordings.spawn(work));
        match durable::begin(store, scope, run, self.ending.cut.clone(), spawn).await {
            Ok((id, source)) => {
                let mut response = self.stream_response(source, slot);
                response.headers_mut().insert(reply::STREAM_ID, durable::id_header(&id));
                reply::name_run(&mut response, ids);
                response
            }
            Err(status) => slot.answered(reply::error(&status)),
        }
    }

    /// Reads a stream again; an unknown one is 204, as official clients expect, and
    /// so is one that was read to its end.
    async fn resume(
        &self,
        store: &Arc<dyn StreamStore>,
        scope: StreamScope,
        id: &str,
        position: u64,
        slot: Slot,
    ) -> Response<Body> {
        match durable::resume(store, scope, id, position).await {
            Ok(Some(source)) => {
                let mut response = self.stream_response(source, slot);
                let headers = response.headers_mut();
                headers.insert(reply::STREAM_ID, durable::id_header(id));
                // Tells a client that asked for a position that it was understood.
                headers.insert(durable::POSITION, HeaderValue::from(position));
                response
            }
            Ok(None) => slot.answered(reply::json_response(HttpStatus::NO_CONTENT, Body::empty())),
            Err(status) => slot.answered(reply::error(&status)),
        }
    }

    fn stream_response(&self, source: Source, slot: Slot) -> Response<Body> {
        reply::stream_response(Body::new(StreamBody::new(source, &self.ending.cut, Some(slot))))
    }
}

async fn unary(
    expose: &Expose,
    call: Call,
    guess: usize,
    cut: &CancellationToken,
) -> Response<Body> {
    let mut run = match expose.action.start(call.without_chunks()) {
        Ok(run) => run,
        Err(status) => return reply::error(&status),
    };
    let result = loop {
        // Work that never waits is spared the token.
        let event = tokio::select! {
            biased;
            event = run.next() => event,
            () = cut.cancelled() => break Err(durable::shutting_down()),
        };
        match event {
            Some(Event::Chunk(_)) => {}
            Some(Event::Done(output)) => break reply::result(&output, guess),
            Some(Event::Failed(status)) => break Err(status),
            None => break Err(Status::cancelled()),
        }
    };
    let mut response = result.unwrap_or_else(|status| reply::error(&status));
    reply::name_run(&mut response, (run.trace_id(), run.span_id()));
    response
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

    /// No stream after all.
    pub(crate) fn answered(mut self, response: Response<Body>) -> Response<Body> {
        self.watch.answered(&response);
        response
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.app.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
