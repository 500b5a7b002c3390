//! The calls of a client and their answers, in the model that all bindings and versions share.
//! The modules of the bindings turn a [`Call`] into a request and a response into an [`Answered`].

use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{
    AgentCard, CancelTaskRequest, ExtendedCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, Operation, PushConfig,
    PushConfigRequest, SendMessageRequest, StreamResponse, SubscribeRequest, Task,
};

/// An operation with its parameters.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call<'a> {
    Send(&'a SendMessageRequest),
    Stream(&'a SendMessageRequest),
    GetTask(&'a GetTaskRequest),
    ListTasks(&'a ListTasksRequest),
    Cancel(&'a CancelTaskRequest),
    Subscribe(&'a SubscribeRequest),
    CreatePush(&'a PushConfig),
    GetPush(&'a PushConfigRequest),
    ListPush(&'a ListPushConfigsRequest),
    DeletePush(&'a PushConfigRequest),
    ExtendedCard(&'a ExtendedCardRequest),
}

impl Call<'_> {
    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Send(_) => Operation::SendMessage,
            Self::Stream(_) => Operation::SendStreamingMessage,
            Self::GetTask(_) => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::Cancel(_) => Operation::CancelTask,
            Self::Subscribe(_) => Operation::SubscribeToTask,
            Self::CreatePush(_) => Operation::CreatePushConfig,
            Self::GetPush(_) => Operation::GetPushConfig,
            Self::ListPush(_) => Operation::ListPushConfigs,
            Self::DeletePush(_) => Operation::DeletePushConfig,
            Self::ExtendedCard(_) => Operation::GetExtendedCard,
        }
    }
}

/// The answer to a call that is not a stream. The operation decides which one it is.
#[derive(Debug)]
pub(super) enum Answered {
    Reply(StreamResponse),
    Task(Task),
    Tasks(ListTasksResponse),
    Push(PushConfig),
    Pushes(ListPushConfigsResponse),
    Card(Box<AgentCard>),
    Nothing,
}

/// Takes the value out of the answer to an operation that has it.
macro_rules! taken_from {
    ($($variant:ident: $type:ty;)*) => {$(
        impl TryFrom<Answered> for $type {
            type Error = Status;

            fn try_from(answered: Answered) -> Result<Self> {
                match answered {
                    Answered::$variant(value) => Ok(value),
                    _ => Err(Status::internal("the answer is that of another operation")),
                }
            }
        }
    )*};
}

taken_from! {
    Reply: StreamResponse;
    Task: Task;
    Tasks: ListTasksResponse;
    Push: PushConfig;
    Pushes: ListPushConfigsResponse;
    Card: Box<AgentCard>;
}
