//! Messages of package `lf.a2a.v1`: version 1.0.

mod push;
mod request;
mod task;

pub(crate) use crate::card::v1_0::AgentCard;
pub(crate) use push::{
    ListPushConfigsRequest, ListPushConfigsResponse, PushConfig, PushConfigRequest,
};
pub(crate) use request::{
    CancelTaskRequest, ExtendedCardRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
    SendMessageRequest, SubscribeRequest,
};
pub(crate) use task::{StreamResponse, Task};
