//! Errors of agents as a [`Status`].

use oxikit_core::{Status, StatusCode};
use oxikit_wire::a2a::{ErrorKind, ErrorReply};
use serde_json::{Value, json};

/// The kind of error that an agent answered with; `None` for failures of the transport and for
/// codes that A2A does not have.
///
/// The details of such a status are `{"code", "reason", "data"}`.
///
/// ```no_run
/// use oxikit_client::a2a::{A2aClient, ErrorKind, error_kind};
///
/// # async fn example(agent: A2aClient) -> oxikit_client::Result<()> {
/// match agent.cancel("task-7").await {
///     Err(status) if error_kind(&status) == Some(ErrorKind::TaskNotCancelable) => {}
///     other => drop(other?),
/// }
/// # Ok(()) }
/// ```
pub fn error_kind(status: &Status) -> Option<ErrorKind> {
    ErrorKind::from_code(status.details()?.get("code")?.as_i64()?)
}

/// The status of an error that an agent answered with.
pub(super) fn status_of(reply: ErrorReply) -> Status {
    let kind = reply.kind();
    let message = match (reply.message.is_empty(), kind) {
        (false, _) => reply.message,
        (true, Some(kind)) => kind.text().to_owned(),
        (true, None) => "the agent reported an error".to_owned(),
    };
    let code = kind.map_or(StatusCode::Unknown, ErrorKind::grpc_status);
    let number = kind.map(|kind| kind.code(oxikit_wire::a2a::Version::V1_0)).or(reply.code);
    let members = [
        ("code", number.map(Value::from)),
        ("reason", kind.map(|kind| json!(kind.reason()))),
        ("data", reply.details),
    ];
    let details = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Status::new(code, message).with_details(details.collect::<serde_json::Map<_, _>>())
}

/// The error of A2A in a body, if there is one.
pub(super) fn reported(body: &[u8]) -> Option<Status> {
    let reply: ErrorReply = serde_json::from_slice(body).ok()?;
    reply.kind().is_some().then(|| status_of(reply))
}

/// The error for a result that neither version has.
pub(super) fn unreadable(error: serde_json::Error) -> Status {
    Status::internal(format!("the agent sent a result of another shape: {error}")).caused_by(error)
}
