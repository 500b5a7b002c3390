//! The gRPC binding: one service for each version, on the port of the other bindings.
//!
//! A request names no agent by its path. It is for the first agent of the server; in version 1.0
//! a tenant that is the name of an agent selects that one.

mod answer;
mod request;
mod stream;
mod trailers;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode as HttpStatus, Version as HttpVersion, header};
use axum::routing::any;
use oxikit_a2a_grpc as grpc;
use oxikit_core::{ActionContext, Status};
use oxikit_http::{HttpError, Watch, body, guarded, reply};
use oxikit_wire::a2a::{A2aError, ErrorKind, Version};

use super::agent_options::Served;
use super::agents::A2a;
use super::incoming::Incoming;
use super::methods::carry_out;
use super::refusal::Refusal;
use super::rest::check_version;
use super::service::Service;
use crate::app::{App, Slot};
use answer::{Answering, edge_error, refused};
use request::asked;

/// The routes of both services.
pub(crate) fn routes(a2a: &Arc<A2a>) -> Router<Arc<App>> {
    let mut router = Router::new();
    for version in [Version::V0_3, Version::V1_0] {
        let a2a = a2a.clone();
        let handler = move |app: State<Arc<App>>, method: Path<String>, request: Request| {
            let a2a = a2a.clone();
            async move { handle(&app, &a2a, version, &method, request).await }
        };
        let path = format!("/{}/{{method}}", grpc::service(version));
        router = router.route(&path, any(handler));
    }
    router
}

/// Handles a request with the same checks, log and limits as the other bindings.
async fn handle(
    app: &Arc<App>,
    a2a: &A2a,
    version: Version,
    method: &str,
    request: Request,
) -> Response<Body> {
    a2a.start();
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let call = Call { app, a2a, version, head: &head };
    let answer = guarded(call.answer(method, body, &mut watch)).await;
    let response = answer.unwrap_or_else(|failed| edge_error(app, failed, head.uri.path()));
    watch.answered(&response);
    response
}

/// A request before its agent is known.
struct Call<'a> {
    app: &'a Arc<App>,
    a2a: &'a A2a,
    version: Version,
    head: &'a Parts,
}

impl<'a> Call<'a> {
    async fn answer(
        &self,
        method: &str,
        body: Body,
        watch: &mut Watch,
    ) -> Result<Response<Body>, HttpError> {
        let Self { app, head, version, .. } = *self;
        app.edge.sender.check(&head.uri, &head.headers)?;
        check_transport(head)?;
        let slot = Slot::take(app).ok_or_else(reply::busy)?;
        let first = &self.a2a.agents[0];
        let Some(operation) = grpc::operation(method, version) else {
            let error = A2aError::new(ErrorKind::MethodNotFound).with_detail(method);
            return Ok(refused(app, first, &error.into()));
        };
        // The agent decides who may call. Only a tenant can name another one than the first, and
        // it is in the body.
        let is_certain = version == Version::V0_3 || self.a2a.agents.len() == 1;
        let mut caller = None;
        if is_certain {
            caller = Some(self.caller(first).await?);
        }
        let body = body::read_body(&head.headers, body, &app.limits).await?;
        watch.read(body.len());
        let message = grpc::read_only_frame(&body)
            .map_err(|error| Status::public(error.code, error.message))?;
        let (asked, tenant) = match asked(operation, version, message, &head.headers) {
            Ok((asked, tenant)) => (Ok(asked), tenant),
            Err(refusal) => (Err(refusal), None),
        };
        let (agent, tenant) = self.agent(tenant);
        let caller = match caller {
            Some(caller) => caller,
            None => self.caller(agent).await?,
        };
        let service = self.service(agent, caller, tenant, body.len());
        let outcome = match asked.and_then(|asked| Ok((asked, self.check(agent)?))) {
            Ok((asked, ())) => carry_out(app, &service, head, asked).await,
            Err(refusal) => Err(refusal),
        };
        let answering = Answering { app, agent, version, watch, slot };
        let mut response = answering.answer(outcome);
        agent.name_extensions(&head.headers, &mut response);
        Ok(response)
    }

    async fn caller(&self, agent: &Arc<Served>) -> Result<ActionContext, Status> {
        agent.caller(self.app, self.head).await
    }

    /// The agent that a tenant names, or the first one for this tenant.
    fn agent(&self, tenant: Option<String>) -> (&'a Arc<Served>, Option<String>) {
        let agents = &self.a2a.agents;
        let named = agents.iter().find(|agent| Some(&*agent.name) == tenant.as_deref());
        match named {
            Some(agent) => (agent, None),
            None => (&agents[0], tenant),
        }
    }

    fn check(&self, agent: &Served) -> Result<(), Refusal> {
        Ok(check_version(agent, self.head, self.version)?)
    }

    fn service(
        &self,
        agent: &'a Arc<Served>,
        caller: ActionContext,
        tenant: Option<String>,
        body_bytes: usize,
    ) -> Service<'a> {
        let (app, runner, head) = (self.app, &self.a2a.runner, self.head);
        Incoming { app, runner, agent, caller, head }.service(self.version, tenant, body_bytes)
    }
}

/// Refuses requests that are not gRPC. Its status comes after the body, which a response of
/// HTTP/1.1 cannot bring to most clients.
fn check_transport(head: &Parts) -> Result<(), HttpError> {
    if head.version != HttpVersion::HTTP_2 {
        let status = Status::invalid_argument("gRPC needs HTTP/2");
        return Err(HttpError::new(HttpStatus::HTTP_VERSION_NOT_SUPPORTED, status));
    }
    if head.method != Method::POST {
        let status = Status::invalid_argument("methods of gRPC are called by POST");
        return Err(HttpError::new(HttpStatus::METHOD_NOT_ALLOWED, status));
    }
    let media_type = head.headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    let subtype = media_type.and_then(|it| it.strip_prefix(grpc::header::MEDIA_TYPE.as_bytes()));
    match subtype {
        Some(b"" | b"+proto") => Ok(()),
        Some(rest) if rest.starts_with(b";") => Ok(()),
        _ => {
            let status = Status::invalid_argument("send the request as `application/grpc`");
            Err(HttpError::new(HttpStatus::UNSUPPORTED_MEDIA_TYPE, status))
        }
    }
}
