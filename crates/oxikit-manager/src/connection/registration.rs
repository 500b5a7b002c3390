//! The `register` request, which binds a connection to a runtime id.

use std::convert::Infallible;

use oxikit_http::websocket::{Message, Utf8Bytes};
use oxikit_wire::rpc::{
    RegisterParams, RegisterResult, RpcError, RpcMessage, frame, method, rpc_code,
};
use serde_json::value::RawValue;

use super::Connection;
use crate::failure::refusal;
use crate::incoming::{object, response_id};
use crate::outgoing::params_text;
use crate::runtimes::{Claim, Process};

/// Maximum size of a registration in bytes. Larger ones are rejected, because every client of
/// the tools is sent its content.
const MAX_REGISTRATION: usize = 16 << 10;
/// Version prefixes of runtimes that read their settings from the response to `register`.
const READ_THE_ANSWER: [&str; 2] = ["nodejs/", "rust/"];
/// Maximum number of rejected registrations that are logged per connection.
const MAX_REFUSALS_LOGGED: u64 = 3;

impl Connection {
    /// Handles a `register` request. It may be repeated with the same id.
    pub(super) async fn register(&mut self, message: Utf8Bytes) {
        let Ok(parsed) = object::<RpcMessage<'_>>(&message) else { return };
        let params = parsed.params.map_or("null", RawValue::get);
        let answer = match object::<RegisterParams>(params) {
            // Checked first, so that the error of an invalid large registration is short.
            _ if params.len() > MAX_REGISTRATION => {
                Err(format!("a registration has at most {MAX_REGISTRATION} bytes"))
            }
            Ok(params) => self.claim_id(&params).await,
            Err(error) => {
                Err(format!("register needs an `id` as text and a `pid` as a number: {error}"))
            }
        };
        if let Err(reason) = &answer {
            self.refused += 1;
            if self.refused <= MAX_REFUSALS_LOGGED {
                tracing::warn!(%reason, "rejected the registration of a runtime");
            }
        }
        let is_good = answer.is_ok();
        let answer = answer.map_err(|reason| refusal(rpc_code::INVALID_PARAMS, reason));
        self.reply(parsed.id, answer);
        if is_good {
            self.configure(object::<RegisterParams>(params).ok());
        }
    }

    /// Sends the settings by `configure`, as the protocol's document describes. Official
    /// managers put them into the response to `register` instead; runtimes that are known to
    /// read them there need no `configure`.
    fn configure(&mut self, runtime: Option<RegisterParams>) {
        let version = runtime.and_then(|params| params.genkit_version).unwrap_or_default();
        if READ_THE_ANSWER.iter().any(|language| version.starts_with(language)) {
            return;
        }
        let configuration = self.runtimes.configuration();
        if configuration.telemetry_server_url.is_some() {
            self.push_configuration(&params_text(&configuration));
        }
    }

    /// Sends `configure` with these parameters, which are JSON text.
    pub(super) fn push_configuration(&mut self, params: &str) {
        let mut text = String::new();
        let Ok(()) = frame::notification(&mut text, method::CONFIGURE, append(params));
        self.socket.send(Message::text(text));
    }

    /// Claims the runtime id for this connection. If another connection has the id, its runtime
    /// is pinged: one that answers keeps the id, one that does not is evicted. The error says
    /// why the id was not granted.
    async fn claim_id(&mut self, params: &RegisterParams) -> Result<RegisterResult, String> {
        if params.id.is_empty() || params.id.len() > 256 {
            return Err("the `id` of a runtime must have 1 to 256 bytes".to_owned());
        }
        if let Some(peer) = self.peer.as_ref().filter(|peer| peer.id != params.id) {
            return Err(format!(
                "this connection is the runtime `{}`: open another one for `{}`",
                peer.id, params.id
            ));
        }
        // After an eviction the claim is tried again, because a third connection may have taken
        // the id in the meantime.
        loop {
            match self.runtimes.claim(params, &self.handle) {
                Claim::Granted(peer) => {
                    self.process = Some(Process::of(params.pid));
                    self.peer = Some(peer);
                    return Ok(self.runtimes.register_result());
                }
                Claim::Taken(owner) => {
                    if owner.responds_within(self.runtimes.options().probe_timeout).await {
                        return Err(format!(
                            "the id `{}` is in use by another connection: end that runtime, or \
                             set another `GENKIT_RUNTIME_ID`",
                            params.id
                        ));
                    }
                    self.runtimes.evict(&params.id, &owner);
                }
            }
        }
    }

    /// Responds to a request of the runtime; a notification gets no response.
    pub(super) fn reply(
        &mut self,
        id: Option<&RawValue>,
        answer: Result<RegisterResult, RpcError>,
    ) {
        let Some(id) = id.map(response_id) else { return };
        let mut text = String::new();
        match answer {
            Ok(result) => {
                let Ok(()) = frame::response(&mut text, id, append(&params_text(&result)));
            }
            Err(error) => frame::error_response(&mut text, id, &error),
        }
        self.socket.send(Message::text(text));
    }
}

/// Appends JSON text to a message.
fn append(json: &str) -> impl FnOnce(&mut String) -> Result<(), Infallible> {
    |text| {
        text.push_str(json);
        Ok(())
    }
}
