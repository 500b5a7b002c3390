//! Messages of package `a2a.v1`: version 0.3.

mod part;
mod push;
mod request;
mod resource;
mod task;

pub(crate) use crate::card::v0_3::AgentCard;
pub(crate) use push::{
    CreatePushRequest, ListPushConfigsRequest, ListPushConfigsResponse, TaskPushConfig,
};
pub(crate) use request::{GetAgentCardRequest, GetTaskRequest, NameRequest, SendMessageRequest};
pub(crate) use task::{StreamResponse, Task, event};
