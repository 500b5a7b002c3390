//! The messages of calls and answers over gRPC.

use oxikit_a2a_grpc::{CreatePushRequest, Decode, Encode, write_frame};
use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{A2aError, ErrorKind, ErrorReply, SendMessageRequest, Task, Version};

use super::call::{Answered, Call};
use super::error::status_of;

/// The body of the request for a call.
pub(super) fn request(version: Version, call: Call<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut write = |message: &dyn Encode| write_frame(&mut body, message, version);
    match call {
        Call::Send(params) | Call::Stream(params) => write(&explicit(version, params)),
        Call::GetTask(params) => write(params),
        Call::ListTasks(params) => write(params),
        Call::Cancel(params) => write(params),
        Call::Subscribe(params) => write(params),
        Call::CreatePush(params) => write(&CreatePushRequest(params.clone())),
        Call::GetPush(params) | Call::DeletePush(params) => write(params),
        Call::ListPush(params) => write(params),
        Call::ExtendedCard(params) => write(params),
    }
    body
}

/// The parameters with all that a server would take for something else if it were missing: in 0.3
/// a message without `blocking` is not waited for.
fn explicit(version: Version, params: &SendMessageRequest) -> SendMessageRequest {
    let mut params = params.clone();
    if version == Version::V0_3 {
        let configuration = params.configuration.get_or_insert_default();
        configuration.return_immediately.get_or_insert(false);
    }
    params
}

/// The answer to a call in its message.
pub(super) fn answer(version: Version, call: Call<'_>, message: &[u8]) -> Result<Answered> {
    Ok(match call {
        Call::Send(_) | Call::Stream(_) | Call::Subscribe(_) => {
            Answered::Reply(read(version, message)?)
        }
        Call::GetTask(params) => {
            let mut task: Task = read(version, message)?;
            // Protobuf of 0.3 cannot tell zero messages from a missing number, which means all.
            if params.history_length == Some(0) {
                task.history.clear();
            }
            Answered::Task(task)
        }
        Call::Cancel(_) => Answered::Task(read(version, message)?),
        Call::ListTasks(_) => Answered::Tasks(read(version, message)?),
        Call::CreatePush(_) | Call::GetPush(_) => Answered::Push(read(version, message)?),
        Call::ListPush(_) => Answered::Pushes(read(version, message)?),
        Call::DeletePush(_) => Answered::Nothing,
        Call::ExtendedCard(_) => Answered::Card(Box::new(read(version, message)?)),
    })
}

/// Reads a message of an agent.
pub(super) fn read<T: Decode>(version: Version, message: &[u8]) -> Result<T> {
    T::decode(version, message).map_err(unreadable)
}

fn unreadable(error: A2aError) -> Status {
    Status::internal(format!("the agent sent a message of another shape: {error}"))
}

/// The error for an operation that this version does not have.
pub(super) fn unsupported(version: Version) -> Status {
    status_of(ErrorReply {
        code: Some(ErrorKind::UnsupportedOperation.code(version)),
        message: format!("gRPC of version {version} of A2A has no method for this"),
        details: None,
    })
}
