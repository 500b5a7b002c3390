//! Reads the parameters of the methods.

use axum::http::HeaderMap;
use oxikit_a2a_grpc::{CreatePushRequest, Decode};
use oxikit_wire::a2a::{
    CancelTaskRequest, ExtendedCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListTasksRequest, Operation, PushConfigRequest, SendMessageRequest, SubscribeRequest, Version,
};

use super::super::incoming::last_event;
use super::super::methods::Asked;
use super::super::refusal::Refusal;

/// The operation with its parameters, and the tenant that they name.
pub(super) fn asked(
    operation: Operation,
    version: Version,
    message: &[u8],
    headers: &HeaderMap,
) -> Result<(Asked, Option<String>), Refusal> {
    Ok(match operation {
        Operation::SendMessage => {
            let mut sent = SendMessageRequest::decode(version, message)?;
            let tenant = sent.tenant.take();
            (Asked::Send(Box::new(sent)), tenant)
        }
        Operation::SendStreamingMessage => {
            let mut sent = SendMessageRequest::decode(version, message)?;
            let tenant = sent.tenant.take();
            (Asked::Stream(Box::new(sent)), tenant)
        }
        Operation::GetTask => {
            let GetTaskRequest { tenant, id, history_length } = Decode::decode(version, message)?;
            (Asked::Get { id, history: history_length }, tenant)
        }
        Operation::ListTasks => {
            let mut list = ListTasksRequest::decode(version, message)?;
            let tenant = list.tenant.take();
            (Asked::List(Box::new(list)), tenant)
        }
        Operation::CancelTask => {
            let CancelTaskRequest { tenant, id, .. } = Decode::decode(version, message)?;
            (Asked::Cancel { id }, tenant)
        }
        Operation::SubscribeToTask => {
            let SubscribeRequest { tenant, id } = Decode::decode(version, message)?;
            let position = last_event(headers, &id)?;
            (Asked::Subscribe { id, position }, tenant)
        }
        Operation::CreatePushConfig => {
            let CreatePushRequest(mut config) = Decode::decode(version, message)?;
            let tenant = config.tenant.take();
            (Asked::CreatePush(Box::new(config)), tenant)
        }
        Operation::GetPushConfig => {
            let mut push = PushConfigRequest::decode(version, message)?;
            let tenant = push.tenant.take();
            (Asked::GetPush(push), tenant)
        }
        Operation::ListPushConfigs => {
            let list = ListPushConfigsRequest::decode(version, message)?;
            (Asked::ListPush { task: list.task_id }, list.tenant)
        }
        Operation::DeletePushConfig => {
            let mut push = PushConfigRequest::decode(version, message)?;
            let tenant = push.tenant.take();
            (Asked::DeletePush(push), tenant)
        }
        Operation::GetExtendedCard => {
            let ExtendedCardRequest { tenant } = Decode::decode(version, message)?;
            (Asked::ExtendedCard, tenant)
        }
    })
}
