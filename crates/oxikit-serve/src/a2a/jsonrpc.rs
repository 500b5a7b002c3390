//! The JSON-RPC binding: one POST to the agent's URL, for both versions.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response};
use oxikit_core::check_exact;
use oxikit_http::{Watch, body};
use oxikit_wire::a2a::{
    A2aError, CancelTaskRequest, ErrorKind, GetTaskRequest, JsonRpcRequest, ListPushConfigsRequest,
    ListTasksRequest, Operation, PushConfig, PushConfigRequest, SendMessageRequest,
    SubscribeRequest, Version, v0_3,
};
use serde::de::DeserializeOwned;

use super::agent_options::Served;
use super::form::{Binding, Form};
use super::incoming::{Incoming, asked_version, check_named, last_event, version_named};
use super::methods::{Answering, Asked};
use super::refusal::Refusal;
use crate::app::Slot;

/// The form of errors of requests that cannot be read: the version of the header, or else 0.3.
pub(super) fn error_form(agent: &Arc<Served>, head: &Parts) -> Form {
    let version = asked_version(head).ok().flatten().unwrap_or(Version::V0_3);
    Form { version, binding: Binding::JsonRpc { id: "null".to_owned() }, agent: agent.clone() }
}

impl Incoming<'_> {
    /// Answers a request of the JSON-RPC binding.
    pub(super) async fn answer_rpc(
        self,
        body: &[u8],
        watch: &mut Watch,
        slot: Slot,
    ) -> Response<Body> {
        let Self { app, agent, head, .. } = self;
        let mut form = error_form(agent, head);
        if body::check_media_type(&head.headers).is_err() {
            let detail = "send the request as `application/json`";
            let error = A2aError::new(ErrorKind::ContentTypeNotSupported).with_detail(detail);
            return form.refused(&error.into());
        }
        let request = match JsonRpcRequest::read(body) {
            Ok(request) => request,
            Err(refused) => {
                form.binding = Binding::JsonRpc { id: refused.id };
                return form.refused(&refused.error.into());
            }
        };
        form.binding = Binding::JsonRpc { id: request.id.to_owned() };
        let (operation, version) = match Operation::dispatch(&request.method, version_named(head)) {
            Ok(found) => found,
            Err(refused) => {
                form.version = refused.version;
                return form.refused(&refused.error.into());
            }
        };
        form.version = version;
        if let Err(error) = check_named(agent, head, version) {
            return form.refused(&error.into());
        }
        let (asked, tenant) = match asked(operation, version, &request, &head.headers) {
            Ok((asked, tenant)) => (Ok(asked), tenant),
            Err(refusal) => (Err(refusal), None),
        };
        let service = self.service(version, tenant, body.len());
        let answering = Answering { app, service, form, head, watch, slot };
        match asked {
            Ok(asked) => answering.answer(asked).await,
            Err(refusal) => answering.refuse(operation.is_streaming(), &refusal),
        }
    }
}

/// Reads parameters in the form of the version.
fn params<T>(request: &JsonRpcRequest<'_>, version: Version) -> Result<T, A2aError>
where
    T: DeserializeOwned,
    v0_3::In<T>: DeserializeOwned,
{
    match version {
        Version::V1_0 => request.params(),
        Version::V0_3 => request.params::<v0_3::In<T>>().map(|v0_3::In(params)| params),
    }
}

/// Reads a message. Data of the client is kept exactly as it is, or refused.
fn message(request: &JsonRpcRequest<'_>, version: Version) -> Result<SendMessageRequest, Refusal> {
    let sent: SendMessageRequest = params(request, version)?;
    if let Some(params) = request.params.filter(|_| sent.has_json()) {
        check_exact(params.get().as_bytes())?;
    }
    Ok(sent)
}

/// The operation with its parameters, and the tenant that they name.
fn asked(
    operation: Operation,
    version: Version,
    request: &JsonRpcRequest<'_>,
    headers: &HeaderMap,
) -> Result<(Asked, Option<String>), Refusal> {
    Ok(match operation {
        Operation::SendMessage => {
            let mut sent = message(request, version)?;
            let tenant = sent.tenant.take();
            (Asked::Send(Box::new(sent)), tenant)
        }
        Operation::SendStreamingMessage => {
            let mut sent = message(request, version)?;
            let tenant = sent.tenant.take();
            (Asked::Stream(Box::new(sent)), tenant)
        }
        Operation::GetTask => {
            let GetTaskRequest { tenant, id, history_length } = params(request, version)?;
            (Asked::Get { id, history: history_length }, tenant)
        }
        Operation::ListTasks => {
            let mut list: ListTasksRequest = request.params()?;
            let tenant = list.tenant.take();
            (Asked::List(Box::new(list)), tenant)
        }
        Operation::CancelTask => {
            let CancelTaskRequest { tenant, id, .. } = params(request, version)?;
            (Asked::Cancel { id }, tenant)
        }
        Operation::SubscribeToTask => {
            let SubscribeRequest { tenant, id } = params(request, version)?;
            let position = last_event(headers, &id)?;
            (Asked::Subscribe { id, position }, tenant)
        }
        Operation::CreatePushConfig => {
            let mut config: PushConfig = params(request, version)?;
            let tenant = config.tenant.take();
            (Asked::CreatePush(Box::new(config)), tenant)
        }
        Operation::GetPushConfig => {
            let mut push: PushConfigRequest = params(request, version)?;
            let tenant = push.tenant.take();
            (Asked::GetPush(push), tenant)
        }
        Operation::ListPushConfigs => {
            let list: ListPushConfigsRequest = params(request, version)?;
            (Asked::ListPush { task: list.task_id }, list.tenant)
        }
        Operation::DeletePushConfig => {
            let mut push: PushConfigRequest = params(request, version)?;
            let tenant = push.tenant.take();
            (Asked::DeletePush(push), tenant)
        }
        Operation::GetExtendedCard => (Asked::ExtendedCard, None),
    })
}
