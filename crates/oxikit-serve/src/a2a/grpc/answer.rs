//! Responses: messages with the status behind them, or the status alone.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode as HttpStatus, header};
use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use oxikit_a2a_grpc::{self as grpc, Empty, Encode, Event};
use oxikit_core::Status;
use oxikit_http::{HttpError, Watch};
use oxikit_wire::a2a::{AgentCard, StreamResponse, Version};

use super::super::agent_options::Served;
use super::super::card;
use super::super::form::{Object, document};
use super::super::methods::Answered;
use super::super::refusal::Refusal;
use super::stream::EventStream;
use super::trailers::{error_trailers, ok_trailers, trailers};
use crate::app::{App, Slot};

const ACCEPT_ENCODING: HeaderName = HeaderName::from_static(grpc::header::ACCEPT_ENCODING);

/// A request that is being answered.
pub(super) struct Answering<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) agent: &'a Arc<Served>,
    pub(super) version: Version,
    pub(super) watch: &'a mut Watch,
    pub(super) slot: Slot,
}

impl Answering<'_> {
    pub(super) fn answer(self, outcome: Result<Answered, Refusal>) -> Response<Body> {
        let answered = match outcome {
            Ok(answered) => answered,
            Err(refusal) => return refused(self.app, self.agent, &refusal),
        };
        match answered {
            Answered::Sent(sent) => self.message(&sent),
            Answered::Task(task) => self.message(&task),
            Answered::Tasks(tasks) => self.message(&tasks),
            Answered::Push(config) => self.message(&config),
            Answered::Pushes(configs) => self.message(&configs),
            Answered::Removed => self.message(&Empty),
            Answered::Card(mut card) => match self.sign(&mut card) {
                Ok(()) => self.message(&*card),
                Err(status) => refused(self.app, self.agent, &status.into()),
            },
            Answered::Reply(message) => {
                let response = StreamResponse::Message(*message);
                self.message(&Event { response: &response, is_last: true })
            }
            Answered::Events(subscribed) => {
                self.events(|stream| EventStream::of_task(stream, *subscribed))
            }
            Answered::Rest { follower, .. } => {
                self.events(|stream| EventStream { follower: Some(*follower), ..stream })
            }
        }
    }

    /// Signs the JSON form of the card, which clients make of the message to check it.
    fn sign(&self, card: &mut AgentCard) -> Result<(), Status> {
        let document = |card: &AgentCard| document(&Object(card.clone()), self.version, true);
        card::sign(self.agent, card, document)
    }

    /// One message.
    fn message(&self, message: &dyn Encode) -> Response<Body> {
        let mut frame = Vec::new();
        grpc::write_frame(&mut frame, message, self.version);
        let frames = [Frame::data(Bytes::from(frame)), Frame::trailers(ok_trailers())];
        let frames = stream::iter(frames.map(Ok::<_, Infallible>));
        response(Body::new(http_body_util::StreamBody::new(frames)))
    }

    fn events(mut self, make: impl FnOnce(EventStream) -> EventStream) -> Response<Body> {
        self.slot.watch = self.watch.take();
        let stream = make(EventStream {
            app: self.app.clone(),
            agent: self.agent.clone(),
            version: self.version,
            first: None,
            follower: None,
            end: None,
            slot: self.slot,
        });
        response(stream.into_body())
    }
}

fn response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let media_type = HeaderValue::from_static(grpc::header::MEDIA_TYPE);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    response
}

/// The response to a request that the protocol refuses: the trailers alone, as headers.
pub(super) fn refused(app: &App, agent: &Served, refusal: &Refusal) -> Response<Body> {
    let (error, code) = refusal.report(&app.registry, &agent.key);
    let mut response = response(Body::empty());
    response.headers_mut().extend(error_trailers(&error));
    response.extensions_mut().insert(code);
    response
}

/// An error of the edge, such as missing credentials or a body that is too large. Its headers, such
/// as `WWW-Authenticate`, are metadata. Requests that are not gRPC keep their HTTP status.
pub(super) fn edge_error(app: &App, failed: HttpError, action: &str) -> Response<Body> {
    let status = failed.status().outgoing();
    let code = failed.status().code();
    let edge = failed.report(&app.registry, action);
    let is_grpc = !matches!(
        edge.status(),
        HttpStatus::HTTP_VERSION_NOT_SUPPORTED
            | HttpStatus::METHOD_NOT_ALLOWED
            | HttpStatus::UNSUPPORTED_MEDIA_TYPE
    );
    if !is_grpc {
        return edge;
    }
    let mut response = response(Body::empty());
    let headers = response.headers_mut();
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = edge.headers().get(&name) {
            headers.insert(name, value.clone());
        }
    }
    headers.extend(trailers(code, Some(&status.message)));
    response.extensions_mut().insert(code);
    response
}
