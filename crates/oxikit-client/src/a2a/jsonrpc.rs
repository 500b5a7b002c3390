//! The JSON-RPC binding.

use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{
    ErrorKind, ErrorReply, JsonRpcResponse, Operation, StreamResponse, Version, v0_3, write_request,
};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::call::{Answered, Call};
use super::endpoint::Endpoint;
use super::error::{status_of, unreadable};
use super::link::{Asking, JSON};
use crate::action::unwritable;
use crate::exchange::Exchange;

/// The id of every request: each is alone on its connection until it is answered.
const ID: &str = "1";

/// The request for a call.
pub(super) fn request(endpoint: &Endpoint, call: Call<'_>) -> Result<Asking> {
    let version = endpoint.version;
    let Some(method) = call.operation().method(version) else {
        return Err(status_of(ErrorReply {
            code: Some(ErrorKind::UnsupportedOperation.code(version)),
            message: format!("JSON-RPC of version {version} of A2A has no method for this"),
            details: None,
        }));
    };
    let mut body = Vec::new();
    write(&mut body, method, version, call).map_err(|error| unwritable("request", error))?;
    let asking = Asking::new(Method::POST, endpoint.url.clone(), version);
    Ok(asking.accepting(call.operation(), JSON).with_body(JSON, body))
}

fn write(
    body: &mut Vec<u8>,
    method: &str,
    version: Version,
    call: Call<'_>,
) -> serde_json::Result<()> {
    let mut to = Target { body, method, version };
    match call {
        Call::Send(params) | Call::Stream(params) => to.write(params),
        Call::GetTask(params) => to.write(params),
        Call::Cancel(params) => to.write(params),
        Call::Subscribe(params) => to.write(params),
        Call::CreatePush(params) => to.write(params),
        Call::GetPush(params) | Call::DeletePush(params) => to.write(params),
        Call::ListPush(params) => to.write(params),
        // Only version 1.0 has parameters for these.
        Call::ListTasks(params) => write_request(to.body, ID, method, params),
        Call::ExtendedCard(params) => write_request(to.body, ID, method, params),
    }
}

struct Target<'a> {
    body: &'a mut Vec<u8>,
    method: &'a str,
    version: Version,
}

impl Target<'_> {
    fn write<P>(&mut self, params: &P) -> serde_json::Result<()>
    where
        P: Serialize,
        for<'b> v0_3::Out<'b, P>: Serialize,
    {
        match self.version {
            Version::V1_0 => write_request(self.body, ID, self.method, params),
            Version::V0_3 => write_request(self.body, ID, self.method, &v0_3::Out::new(params)),
        }
    }
}

/// The answer in a response.
pub(super) fn answer(
    operation: Operation,
    version: Version,
    exchange: &Exchange,
    body: &[u8],
) -> Result<Answered> {
    let result = result_of(exchange, body)?;
    if operation == Operation::DeletePushConfig {
        // Servers answer with `null`, with `{}` or without a result.
        return Ok(Answered::Nothing);
    }
    let missing = || Status::internal("the agent sent a response without a result");
    let result = result.ok_or_else(missing)?;
    let json = result.get();
    Ok(match operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            Answered::Reply(read(version, json)?)
        }
        Operation::GetTask | Operation::CancelTask => Answered::Task(read(version, json)?),
        Operation::ListTasks => Answered::Tasks(serde_json::from_str(json).map_err(unreadable)?),
        Operation::CreatePushConfig | Operation::GetPushConfig => {
            Answered::Push(read(version, json)?)
        }
        Operation::ListPushConfigs => Answered::Pushes(read(version, json)?),
        Operation::DeletePushConfig => Answered::Nothing,
        Operation::GetExtendedCard => {
            Answered::Card(serde_json::from_str(json).map_err(unreadable)?)
        }
    })
}

/// An event of a stream, and whether it is announced as the last one.
pub(super) fn event(
    version: Version,
    exchange: &Exchange,
    text: &[u8],
) -> Result<(StreamResponse, bool)> {
    let result = result_of(exchange, text)?;
    let result = result.ok_or_else(|| exchange.garbage("an event without a result"))?;
    if version == Version::V0_3
        && let Ok(event) = serde_json::from_str::<v0_3::Event>(result.get())
    {
        return Ok((event.response, event.is_final));
    }
    read(version, result.get()).map(|event| (event, false))
}

/// The result of a response.
fn result_of<'a>(exchange: &Exchange, body: &'a [u8]) -> Result<Option<&'a RawValue>> {
    // serde would also accept a list for a struct.
    let is_object = body.trim_ascii_start().starts_with(b"{");
    match serde_json::from_slice::<JsonRpcResponse<'_>>(body) {
        Ok(JsonRpcResponse { error: Some(error), .. }) if is_object => Err(status_of(error)),
        Ok(response) if is_object => Ok(response.result),
        _ => Err(exchange.garbage("something that is not a JSON-RPC response")),
    }
}

/// Reads a value in the JSON of this version, or else in that of the other one: some servers mix
/// them up.
fn read<T>(version: Version, json: &str) -> Result<T>
where
    T: DeserializeOwned,
    v0_3::In<T>: DeserializeOwned,
{
    let new = || serde_json::from_str::<T>(json);
    let old = || serde_json::from_str(json).map(|v0_3::In(value)| value);
    let value = match version {
        Version::V1_0 => new().or_else(|error| old().map_err(|_| error)),
        Version::V0_3 => old().or_else(|error| new().map_err(|_| error)),
    };
    value.map_err(unreadable)
}
