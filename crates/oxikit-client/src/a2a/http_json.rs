//! The HTTP+JSON binding: a path for each operation, below the address of the agent. Paths of
//! version 0.3 begin with `v1`; those of 1.0 begin with the tenant, if there is one.

use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::a2a::{ErrorKind, ErrorReply, Operation, StreamResponse, Version, v0_3};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::{Answered, Call};
use super::endpoint::Endpoint;
use super::error::{status_of, unreadable};
use super::link::{Asking, JSON};
use crate::action::unwritable;
use crate::exchange::Exchange;

/// The characters of an id that are escaped in a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The request for a call.
pub(super) fn request(endpoint: &Endpoint, call: Call<'_>) -> Result<Asking> {
    let version = endpoint.version;
    let (method, url) = (method(version, call), url(endpoint, call)?);
    let asking = Asking::new(method, url, version).accepting(call.operation(), JSON);
    let body = match call {
        Call::Send(params) | Call::Stream(params) => {
            let mut params = params.clone();
            params.tenant = None;
            if version == Version::V0_3 {
                // Proto JSON leaves out `false`: servers take a missing `blocking` for it.
                let configuration = params.configuration.get_or_insert_default();
                configuration.return_immediately.get_or_insert(false);
            }
            written(version, &params)
        }
        Call::Cancel(params) => {
            let metadata = params.metadata.iter().map(|it| ("metadata", it));
            serde_json::to_vec(&metadata.collect::<std::collections::BTreeMap<_, _>>())
        }
        Call::CreatePush(params) => {
            let mut params = params.clone();
            params.tenant = None;
            match version {
                Version::V1_0 => serde_json::to_vec(&params),
                Version::V0_3 => serde_json::to_vec(&v0_3::rest::RegisterPush(&params)),
            }
        }
        _ => return Ok(asking),
    };
    Ok(asking.with_body(JSON, body.map_err(|error| unwritable("request", error))?))
}

fn written<P>(version: Version, params: &P) -> serde_json::Result<Vec<u8>>
where
    P: Serialize,
    for<'a> v0_3::Out<'a, P>: Serialize,
{
    match version {
        Version::V1_0 => serde_json::to_vec(params),
        Version::V0_3 => serde_json::to_vec(&v0_3::Out::rest(params)),
    }
}

fn method(version: Version, call: Call<'_>) -> Method {
    match (call, version) {
        (Call::Send(_) | Call::Stream(_) | Call::Cancel(_) | Call::CreatePush(_), _) => {
            Method::POST
        }
        // The text of both versions says POST and their proto files say GET. The server of
        // Python 0.3 only takes GET. If a server answers 405, the other one is tried.
        (Call::Subscribe(_), Version::V1_0) => Method::POST,
        (Call::DeletePush(_), _) => Method::DELETE,
        _ => Method::GET,
    }
}

fn url(endpoint: &Endpoint, call: Call<'_>) -> Result<Url> {
    let mut url = endpoint.url.clone();
    let mut path = url.path().trim_end_matches('/').to_owned();
    match (endpoint.version, &endpoint.tenant) {
        (Version::V0_3, _) => path.push_str("/v1"),
        (Version::V1_0, Some(tenant)) => path.push_str(&format!("/{}", escaped(tenant)?)),
        (Version::V1_0, None) => {}
    }
    path.push_str(&path_of(endpoint.version, call)?);
    url.set_path(&path);
    url.set_fragment(None);
    add_query(&mut url, call)?;
    Ok(url)
}

fn path_of(version: Version, call: Call<'_>) -> Result<String> {
    let pushes =
        |task: &str| escaped(task).map(|task| format!("/tasks/{task}/pushNotificationConfigs"));
    Ok(match call {
        Call::Send(_) => "/message:send".to_owned(),
        Call::Stream(_) => "/message:stream".to_owned(),
        Call::GetTask(params) => format!("/tasks/{}", escaped(&params.id)?),
        Call::ListTasks(_) => "/tasks".to_owned(),
        Call::Cancel(params) => format!("/tasks/{}:cancel", escaped(&params.id)?),
        Call::Subscribe(params) => format!("/tasks/{}:subscribe", escaped(&params.id)?),
        Call::CreatePush(params) => pushes(params.task_id.as_deref().unwrap_or_default())?,
        Call::ListPush(params) => pushes(&params.task_id)?,
        Call::GetPush(params) | Call::DeletePush(params) => {
            let id = escaped(params.id.as_deref().unwrap_or_default())?;
            format!("{}/{id}", pushes(&params.task_id)?)
        }
        Call::ExtendedCard(_) if version == Version::V0_3 => "/card".to_owned(),
        Call::ExtendedCard(_) => "/extendedAgentCard".to_owned(),
    })
}

/// An id as a segment of a path. Some would be another path.
fn escaped(id: &str) -> Result<String> {
    match id {
        "" | "." | ".." => {
            let message = format!("`{id}` cannot be the id of a task, webhook or tenant");
            Err(Status::new(StatusCode::InvalidArgument, message))
        }
        id => Ok(utf8_percent_encode(id, ESCAPED).to_string()),
    }
}

/// Adds the parameters that are not in the path.
fn add_query(url: &mut Url, call: Call<'_>) -> Result<()> {
    let params = match call {
        Call::GetTask(params) => serde_json::to_value(params),
        Call::ListTasks(params) => serde_json::to_value(params),
        Call::ListPush(params) => serde_json::to_value(params),
        _ => return Ok(()),
    };
    let params = params.map_err(|error| unwritable("request", error))?;
    let in_path = ["id", "taskId", "tenant"];
    for (name, value) in params.as_object().into_iter().flatten() {
        if in_path.contains(&name.as_str()) {
            continue;
        }
        let text = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        url.query_pairs_mut().append_pair(name, &text);
    }
    Ok(())
}

/// The answer in the body of a response.
pub(super) fn answer(
    operation: Operation,
    version: Version,
    exchange: &Exchange,
    body: &[u8],
) -> Result<Answered> {
    if operation == Operation::DeletePushConfig {
        return Ok(Answered::Nothing);
    }
    // serde would also accept a list for a struct.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(exchange.garbage("something that is not a JSON object"));
    }
    Ok(match operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            Answered::Reply(read(version, body)?)
        }
        Operation::GetTask | Operation::CancelTask => Answered::Task(read(version, body)?),
        Operation::ListTasks => Answered::Tasks(read(version, body)?),
        Operation::CreatePushConfig | Operation::GetPushConfig => {
            Answered::Push(read(version, body)?)
        }
        Operation::ListPushConfigs => Answered::Pushes(read(version, body)?),
        Operation::DeletePushConfig => Answered::Nothing,
        Operation::GetExtendedCard => {
            Answered::Card(serde_json::from_slice(body).map_err(unreadable)?)
        }
    })
}

/// An event of a stream, and whether it is announced as the last one.
pub(super) fn event(
    version: Version,
    exchange: &Exchange,
    text: &[u8],
) -> Result<(StreamResponse, bool)> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(exchange.garbage("an event that is not a JSON object"));
    }
    if version == Version::V0_3
        && let Ok(event) = serde_json::from_slice::<v0_3::rest::Event>(text)
    {
        return Ok((event.response, event.is_final));
    }
    read(version, text).map(|event| (event, false)).map_err(|unreadable| {
        // Not all servers announce errors as such.
        match serde_json::from_slice::<ErrorReply>(text) {
            Ok(reply) if reply.code.is_some() => status_of(reply),
            _ => unreadable,
        }
    })
}

/// The error of a response that is not successful. Not all servers write the code of the error,
/// so the HTTP status decides where only one error can be meant.
pub(super) fn error(
    version: Version,
    operation: Operation,
    http: u16,
    body: &[u8],
) -> Option<Status> {
    let mut reply: ErrorReply = serde_json::from_slice(body).unwrap_or_default();
    if reply.kind().is_none() {
        let kind = match http {
            // An agent of 0.3 that answers at all has the method, so it is the task that it lacks.
            404 if version == Version::V0_3 && !reply.message.is_empty() => ErrorKind::TaskNotFound,
            _ => kind_of(operation, http)?,
        };
        reply.code = Some(kind.code(Version::V1_0));
    }
    Some(status_of(reply))
}

fn kind_of(operation: Operation, http: u16) -> Option<ErrorKind> {
    let has_task = !matches!(
        operation,
        Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::ListTasks
            | Operation::GetExtendedCard
    );
    match http {
        404 if has_task => Some(ErrorKind::TaskNotFound),
        404 | 405 => Some(ErrorKind::MethodNotFound),
        409 if operation == Operation::CancelTask => Some(ErrorKind::TaskNotCancelable),
        415 => Some(ErrorKind::ContentTypeNotSupported),
        422 => Some(ErrorKind::InvalidParams),
        501 => Some(ErrorKind::UnsupportedOperation),
        _ => None,
    }
}

/// Reads a value in the JSON of this version, or else in that of the other one: some servers mix
/// them up.
fn read<T>(version: Version, json: &[u8]) -> Result<T>
where
    T: DeserializeOwned,
    v0_3::rest::In<T>: DeserializeOwned,
{
    let new = || serde_json::from_slice::<T>(json);
    let old = || serde_json::from_slice(json).map(|v0_3::rest::In(value)| value);
    let value = match version {
        Version::V1_0 => new().or_else(|error| old().map_err(|_| error)),
        Version::V0_3 => old().or_else(|error| new().map_err(|_| error)),
    };
    value.map_err(unreadable)
}
