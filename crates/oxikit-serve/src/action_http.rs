//! Genkit's action protocol: one POST runs one action.
//!
//! The order of the checks matters. The sender and the path are checked first, then the limit
//! of concurrent requests, then the caller and the policy; only then is the body read. So an
//! unknown caller costs neither memory for a body nor time for parsing.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method, Response, StatusCode as HttpStatus};
use oxikit_core::ports::{Owner, StreamScope, StreamStore};
use oxikit_core::{ActionContext, Call, Event, Status};
use oxikit_http::{HttpError, Watch, body, caught, guarded, reply};
use tokio_util::sync::CancellationToken;

use crate::app::{App, Slot};
use crate::durable;
use crate::exposed::Expose;
use crate::origin::Origin;
use crate::request::{self, Envelope};
use crate::stream::{Source, StreamBody};

/// `POST /{action}`: the output as one JSON body, or the whole run as blocks.
pub(crate) async fn handle(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let mut response = match app.edge.admit(&head, &app.registry) {
        Ok(()) => app.answer(&head, body, &mut watch).await,
        Err(refused) => *refused,
    };
    app.edge.finish(&head.headers, &mut response);
    watch.answered(&response);
    response
}

impl App {
    /// Answers a request whose sender is allowed. Failures are logged here, once, and answered
    /// without what only the log may contain.
    async fn answer(
        self: &Arc<Self>,
        head: &axum::http::request::Parts,
        body: Body,
        watch: &mut Watch,
    ) -> Response<Body> {
        let Some(expose) = self.find(head.uri.path()) else {
            watch.measure(self.metrics.as_ref().map(|metrics| &metrics.unmatched));
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
    ) -> Result<Response<Body>, HttpError> {
        if head.method != Method::POST {
            let status = Status::invalid_argument("actions are called by POST");
            let mut response = reply::error_with(HttpStatus::METHOD_NOT_ALLOWED, &status);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Ok(response);
        }
        let slot = Slot::take(self).ok_or_else(reply::busy)?;
        let context = self.context(head, expose).await?;
        body::check_media_type(&head.headers)?;
        let body = body::read_body(&head.headers, body, &self.limits).await?;
        let length = body.len();
        watch.read(length);
        let envelope = Envelope::parse(body, &expose.action)?;
        if !request::wants_stream(&head.headers, &head.uri) {
            // The capacity of the response's buffer: many outputs are about as long as the
            // input.
            let call = self.call(envelope, context);
            return unary(expose, call, length + 64, &self.shutdown.cut).await;
        }
        let streaming = Streaming { app: self, expose, slot, watch };
        // A stream id in the request is ignored by an action whose streams are not stored.
        let Some(store) = self.streams.as_ref().filter(|_| expose.is_durable) else {
            return Ok(streaming.start(self.call(envelope, context)));
        };
        let scope = StreamScope::new(Owner::of(&context), expose.source());
        match durable::requested(&head.headers)? {
            Some((id, position)) => streaming.resume(store, scope, &id, position).await,
            None => streaming.record(store, scope, self.call(envelope, context)).await,
        }
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

    /// Streams a run that continues without its reader.
    async fn record(
        self,
        store: &Arc<dyn StreamStore>,
        scope: StreamScope,
        call: Call,
    ) -> Result<Response<Body>, HttpError> {
        let App { registry, shutdown, .. } = self.app;
        let run = match self.expose.action.start(call.for_wire()) {
            Ok(run) => run,
            Err(status) => return Ok(self.refuse(&status)),
        };
        let origin = Origin::of_run(registry, &self.expose.action, &run);
        let ids = (run.trace_id(), run.span_id());
        let spawn = |work| drop(shutdown.background.spawn(work));
        let recorded = durable::Recorded { run, origin: origin.clone(), cut: shutdown.cut.clone() };
        let begun = durable::begin(store, scope, recorded, spawn).await;
        let (id, source) = begun.map_err(|status| HttpError::from(status).of_run(ids))?;
        self.watch.streams(ids.0);
        let mut response = self.respond(source, origin);
        response.headers_mut().insert(reply::STREAM_ID, durable::id_header(&id));
        reply::name_run(&mut response, ids);
        Ok(response)
    }

    /// Resumes a stream. An unknown one is answered with 204, as official clients expect, and
    /// so is one that was read to its end.
    async fn resume(
        self,
        store: &Arc<dyn StreamStore>,
        scope: StreamScope,
        id: &str,
        position: u64,
    ) -> Result<Response<Body>, HttpError> {
        let Some(source) = durable::resume(store, scope, id, position).await? else {
            return Ok(reply::json_response(HttpStatus::NO_CONTENT, Body::empty()));
        };
        let origin = self.origin();
        let mut response = self.respond(source, origin);
        let headers = response.headers_mut();
        headers.insert(reply::STREAM_ID, durable::id_header(id));
        // Confirms to the client that the position was understood.
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
        let body = StreamBody::new(source, origin, &self.app.shutdown.cut, Some(self.slot));
        reply::stream_response(Body::new(body))
    }
}

/// Runs the action and answers its output as one JSON body. `guess` is the expected length of
/// that body in bytes.
async fn unary(
    expose: &Expose,
    call: Call,
    guess: usize,
    cut: &CancellationToken,
) -> Result<Response<Body>, HttpError> {
    let mut run = expose.action.start(call.without_chunks())?;
    let ids = (run.trace_id(), run.span_id());
    let result = loop {
        // An action that never waits does not pay for polling the token.
        let event = tokio::select! {
            biased;
            event = run.next() => event,
            () = cut.cancelled() => break Err(reply::shutting_down()),
        };
        match event {
            Some(Event::Chunk(_)) => {}
            Some(Event::Done(output)) => break caught(|| reply::result(&output, guess)),
            Some(Event::Failed(status)) => break Err(status),
            None => break Err(Status::cancelled()),
        }
    };
    let mut response = result.map_err(|status| HttpError::from(status).of_run(ids))?;
    reply::name_run(&mut response, ids);
    Ok(response)
}
