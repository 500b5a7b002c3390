//! How a connection becomes a runtime.

use oxikit_wire::rpc::{RegisterParams, RegisterResult, RpcError, RpcMessage, rpc_code};
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::Connection;
use crate::manager::failure::refusal;
use crate::manager::incoming::{echoed, object};
use crate::manager::runtimes::{Claim, Process};
use crate::manager::target::written;

/// No registration is longer: everybody is shown what it says.
const MAX_REGISTRATION: usize = 16 << 10;
/// The languages whose runtimes read their settings from the answer to `register`.
const READ_THE_ANSWER: [&str; 2] = ["nodejs/", "rust/"];
/// What one connection may do wrong before the log says no more of it.
const MAX_REFUSALS_LOGGED: u64 = 3;

impl Connection {
    pub(super) async fn register(&mut self, message: Utf8Bytes) {
        let Ok(parsed) = object::<RpcMessage<'_>>(&message) else { return };
        let params = parsed.params.map_or("null", RawValue::get);
        let answer = match object::<RegisterParams>(params) {
            _ if params.len() > MAX_REGISTRATION => {
                Err(format!("a registration has at most {MAX_REGISTRATION} bytes"))
            }
            Ok(params) => self.enter(&params).await,
            Err(error) => {
                Err(format!("register needs an `id` as text and a `pid` as a number: {error}"))
            }
        };
        if let Err(reason) = &answer {
            self.refused += 1;
            if self.refused <= MAX_REFUSALS_LOGGED {
                tracing::warn!(%reason, "a runtime could not register");
            }
        }
        let is_good = answer.is_ok();
        let answer = answer.map_err(|reason| refusal(rpc_code::INVALID_PARAMS, reason));
        self.reply(parsed.id, answer);
        if is_good {
            self.configure(object::<RegisterParams>(params).ok());
        }
    }

    /// The protocol's document answers `register` with nothing and pushes the settings
    /// by `configure`; official managers put them into the answer. Runtimes that are
    /// known to read them there need no push.
    fn configure(&mut self, runtime: Option<RegisterParams>) {
        let version = runtime.and_then(|params| params.genkit_version).unwrap_or_default();
        if READ_THE_ANSWER.iter().any(|language| version.starts_with(language)) {
            return;
        }
        let configuration = self.runtimes.configuration();
        if configuration.telemetry_server_url.is_some() {
            self.push_configuration(&written(&configuration));
        }
    }

    pub(super) fn push_configuration(&mut self, params: &str) {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"configure","params":{params}}}"#);
        self.socket.send(Message::text(text));
    }

    /// Gives the connection its id, unless its owner is alive. An error says why
    /// not.
    async fn enter(&mut self, params: &RegisterParams) -> Result<RegisterResult, String> {
        if params.id.is_empty() || params.id.len() > 256 {
            return Err("the `id` of a runtime must have 1 to 256 bytes".to_owned());
        }
        if let Some(peer) = self.peer.as_ref().filter(|peer| peer.id != params.id) {
            return Err(format!(
                "this connection is the runtime `{}`: open another one for `{}`",
                peer.id, params.id
            ));
        }
        loop {
            match self.runtimes.claim(params, &self.line) {
                Claim::Granted(peer) => {
                    self.process = Some(Process::of(params.pid));
                    self.peer = Some(peer);
                    return Ok(self.runtimes.welcome());
                }
                Claim::Taken(owner) => {
                    if owner.answers(self.runtimes.options().probe).await {
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

    pub(super) fn reply(
        &mut self,
        id: Option<&RawValue>,
        answer: Result<RegisterResult, RpcError>,
    ) {
        let Some(id) = id.map(echoed) else { return };
        let (member, body) = match answer {
            Ok(result) => ("result", serde_json::to_string(&result)),
            Err(error) => ("error", serde_json::to_string(&error)),
        };
        let body = body.unwrap_or_default();
        let text = format!(r#"{{"jsonrpc":"2.0","{member}":{body},"id":{id}}}"#);
        self.socket.send(Message::text(text));
    }
}
