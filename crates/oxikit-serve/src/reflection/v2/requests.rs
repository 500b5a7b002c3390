//! What a manager asks for and tells.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::{Payload, Status, StatusCode};
use oxikit_wire::rpc::{
    CancelActionParams, CancelActionResult, ChunkParams, ConfigureParams, EndInputParams,
    ListActionsResult, ListValuesParams, ListValuesResult, RegisterResult, RpcError, RpcMessage,
    RunActionParams, rpc_code,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::frames::{self, Frame, RequestId};
use super::inputs;
use super::outbox::{Epoch, Lane};
use super::run::{RunAction, or_panicked};
use super::session::Session;
use super::sparing::Sparing;
use crate::reflection::runs::RunRequest;
use crate::reflection::sessions::SessionRequest;
use crate::reflection::{failure, identity};

/// Runs of one connection at the same time; lists have as many places of their own.
const MAX_IN_FLIGHT: usize = 256;

/// What is no message is answered once in this time.
pub(super) const REFUSE: Duration = Duration::from_millis(100);

/// Takes the messages of one connection.
pub(super) struct Requests {
    session: Arc<Session>,
    connection: u64,
    /// Our own request, whose answer is one of the messages.
    register_id: RequestId,
    runs: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    /// Whether this manager has said who it is, or that it does not say so.
    is_introduced: bool,
    /// Whether this manager has asked for something.
    has_asked: bool,
    ignored: Sparing,
    refused: Sparing,
}

/// A request, with what it was read from.
struct Request<'a> {
    id: RequestId,
    epoch: Epoch,
    method: &'a str,
    params: Option<&'a RawValue>,
    text: &'a Bytes,
}

impl Requests {
    pub(super) fn new(session: Arc<Session>, connection: u64, register_id: RequestId) -> Self {
        let places = || Arc::new(Semaphore::new(MAX_IN_FLIGHT));
        Self {
            session,
            connection,
            register_id,
            runs: places(),
            lists: places(),
            is_introduced: false,
            has_asked: false,
            ignored: Sparing::new(Duration::from_secs(1)),
            refused: Sparing::new(REFUSE),
        }
    }

    /// Takes one message. Never waits for an action; only a manager that asks and
    /// does not read short answers makes it wait.
    pub(super) async fn take(&mut self, text: &Bytes) {
        // A batch must not be read as the members of one message.
        let message = match text.trim_ascii_start().first() {
            Some(b'{') => serde_json::from_slice::<RpcMessage<'_>>(text).ok(),
            _ => None,
        };
        let Some(message) = message else { return self.refuse_frame(text).await };
        let id = message.id.and_then(|id| RequestId::new(id.get()));
        match (message.method.as_deref(), id) {
            // An id of another kind cannot be sent back.
            (Some(_), None) if message.id.is_some() => self.refuse_frame(text).await,
            (None, _) if message.is_nothing() => self.refuse_frame(text).await,
            (Some(method), Some(id)) => {
                if !self.is_introduced {
                    self.introduce(None);
                }
                let is_first = !std::mem::replace(&mut self.has_asked, true);
                let epoch = self.session.meet(&id, self.connection, is_first);
                let params = message.params;
                self.request(Request { id, epoch, method, params, text }).await;
            }
            (Some(method), None) => self.notification(method, message.params, text),
            (None, Some(id)) if id == self.register_id => self.registered(&message),
            (None, _) => self.ignore("answer to nothing"),
        }
    }

    async fn request(&mut self, request: Request<'_>) {
        match request.method {
            "runAction" => self.run_action(request).await,
            "listActions" => self.list_actions(request).await,
            "listValues" => {
                let answer = self.values(&request);
                self.answer(&request, answer).await;
            }
            "cancelAction" => {
                let answer = self.cancel(&request);
                self.answer(&request, answer).await;
            }
            method if SessionRequest::is_method(method) => self.sessions(request).await,
            // Never answered, also by official runtimes.
            "sendInputStreamChunk" | "endInputStream" | "configure" => {
                self.notification(request.method, request.params, request.text);
            }
            method => {
                let message = format!("Method not found: {method}");
                let status = Status::public(StatusCode::Unimplemented, message);
                let error = failure::refusal(rpc_code::METHOD_NOT_FOUND, &status);
                self.answer(&request, Err(error)).await;
            }
        }
    }

    async fn run_action(&self, request: Request<'_>) {
        let params = match read::<RunActionParams<'_>>(&request) {
            Ok(params) => params,
            Err(error) => return self.answer(&request, Err(error)).await,
        };
        let Ok(place) = self.runs.clone().try_acquire_owned() else {
            return self.answer(&request, Err(too_many())).await;
        };
        // Inputs may follow at once, before the action is found.
        let (queue, inputs) = params.stream_input.then(inputs::queue).unzip();
        let mut run = RunRequest::new(request.text, params);
        if inputs.is_some() {
            run = run.with_input_stream();
        }
        let known = self.session.begin(request.id.clone(), self.connection, queue);
        let (session, id, epoch) = (self.session.clone(), request.id, request.epoch);
        self.session.spawn(async move {
            RunAction { session, id, epoch }.serve(run, inputs).await;
            drop((known, place));
        });
    }

    /// Resolvers of the application may take their time for a list.
    async fn list_actions(&self, request: Request<'_>) {
        let registry = self.session.runs.registry().clone();
        let list =
            async move { Ok(ListActionsResult { actions: identity::actions(&registry).await }) };
        self.answer_later(request, list).await;
    }

    async fn sessions(&self, request: Request<'_>) {
        let params = request.params.map_or("null", RawValue::get);
        let asked = match SessionRequest::read(request.method, params) {
            Ok(asked) => asked,
            Err(error) => return self.answer(&request, Err(unreadable(&request, &error))).await,
        };
        let registry = self.session.runs.registry().clone();
        let work = async move {
            let answer = asked.answer(&registry).await;
            // No run failed: the text stands for itself.
            answer.map_err(|status| failure::refusal(rpc_code::FAILED, &status))
        };
        self.answer_later(request, work).await;
    }

    /// Answers a request when the code of the application is done with it.
    async fn answer_later<T: Serialize>(
        &self,
        request: Request<'_>,
        work: impl Future<Output = Result<T, Box<RpcError>>> + Send + 'static,
    ) {
        let Ok(place) = self.lists.clone().try_acquire_owned() else {
            return self.answer(&request, Err(too_many())).await;
        };
        let (session, id, epoch) = (self.session.clone(), request.id, request.epoch);
        self.session.spawn(async move {
            let answer = or_panicked(work)
                .await
                .and_then(|done| frames::answer(&id, &done?).map_err(failed))
                .unwrap_or_else(|error| frames::error(&id, &error));
            _ = session.outbox.send(epoch, Lane::Quick, &mut vec![answer]).await;
            drop(place);
        });
    }

    fn values(&self, request: &Request<'_>) -> Result<Frame, Box<RpcError>> {
        let ListValuesParams { kind } = read(request)?;
        let values = identity::values(self.session.runs.registry(), &kind).ok_or_else(|| {
            let message = format!(
                "'type' {kind} is not supported. \
                 Only 'defaultModel' and 'middleware' are supported"
            );
            failure::refusal(rpc_code::INVALID_PARAMS, &Status::invalid_argument(message))
        })?;
        frames::answer(&request.id, &ListValuesResult { values }).map_err(failed)
    }

    fn cancel(&self, request: &Request<'_>) -> Result<Frame, Box<RpcError>> {
        let CancelActionParams { trace_id } = read(request)?;
        let cancelled = self.session.runs.cancel(&trace_id);
        cancelled.map_err(|status| failure::refusal(rpc_code::INVALID_PARAMS, &status))?;
        let result = CancelActionResult { message: "Action cancelled".to_owned() };
        frames::answer(&request.id, &result).map_err(failed)
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>, text: &Bytes) {
        let params = params.map_or("null", RawValue::get);
        let is_taken = match method {
            "sendInputStreamChunk" => {
                serde_json::from_str(params).is_ok_and(|params| self.take_input(&params, text))
            }
            "endInputStream" => {
                serde_json::from_str(params).is_ok_and(|end: EndInputParams<'_>| {
                    let id = RequestId::new(end.request_id.get());
                    id.is_some_and(|id| self.session.end_inputs(&id))
                })
            }
            "configure" => {
                self.configure(params);
                true
            }
            _ => false,
        };
        if !is_taken {
            self.ignore("notification that means nothing here");
        }
    }

    fn take_input(&self, params: &ChunkParams<'_>, text: &Bytes) -> bool {
        let Some(id) = RequestId::new(params.request_id.get()) else { return false };
        let input = Payload::from_raw(text, params.chunk);
        self.session.push_input(&id, input, params.chunk.get().len())
    }

    /// The answer may be nothing, or an error of a manager that does not know all
    /// of our parameters: it works all the same.
    fn registered(&mut self, answer: &RpcMessage<'_>) {
        if let Some(error) = answer.error {
            tracing::warn!(error = error.get(), "the manager has refused our registration");
            // It reads nothing of us, unless it asks all the same.
            return self.session.outbox.hold();
        }
        let result = answer.result.and_then(|result| serde_json::from_str(result.get()).ok());
        let RegisterResult { telemetry_server_url, manager_id } = result.unwrap_or_default();
        self.introduce(manager_id.as_deref());
        if let Some(url) = telemetry_server_url {
            self.session.set_telemetry_server(&url);
        }
    }

    fn introduce(&mut self, manager: Option<&str>) {
        self.is_introduced = true;
        self.session.introduce(manager);
    }

    fn configure(&self, params: &str) {
        if let Ok(params) = serde_json::from_str::<ConfigureParams>(params)
            && let Some(url) = params.telemetry_server_url
        {
            self.session.set_telemetry_server(&url);
        }
    }

    async fn answer(&self, request: &Request<'_>, answer: Result<Frame, Box<RpcError>>) {
        let frame = answer.unwrap_or_else(|error| frames::error(&request.id, &error));
        // Unread if another manager has come meanwhile.
        _ = self.session.outbox.send(request.epoch, Lane::Quick, &mut vec![frame]).await;
    }

    /// Answers a frame that is no message, now and then: who sends many is not sent as
    /// many. An answer is never answered, or two peers could go on for ever.
    async fn refuse_frame(&mut self, text: &Bytes) {
        if self.refused.count().is_none() {
            return;
        }
        let (code, message) = match serde_json::from_slice::<&RawValue>(text) {
            Ok(_) => {
                (rpc_code::INVALID_REQUEST, "Invalid Request: send one JSON-RPC message a frame")
            }
            Err(_) => (rpc_code::PARSE_ERROR, "Parse error: a frame must be JSON"),
        };
        let error = failure::refusal(code, &Status::invalid_argument(message));
        let outbox = &self.session.outbox;
        _ = outbox.send(outbox.epoch(), Lane::Quick, &mut vec![frames::refusal(&error)]).await;
    }

    fn ignore(&mut self, what: &'static str) {
        if let Some(messages) = self.ignored.count() {
            tracing::debug!(what, messages, "ignored what the manager has sent");
        }
    }
}

fn read<'a, T: Deserialize<'a>>(request: &Request<'a>) -> Result<T, Box<RpcError>> {
    let params = request.params.map_or("null", RawValue::get);
    serde_json::from_str(params).map_err(|error| unreadable(request, &error))
}

fn unreadable(request: &Request<'_>, error: &serde_json::Error) -> Box<RpcError> {
    let message = format!("the params of `{}` cannot be read: {error}", request.method);
    failed(Status::invalid_argument(message))
}

fn too_many() -> Box<RpcError> {
    failed(Status::resource_exhausted(format!(
        "{MAX_IN_FLIGHT} requests of this connection are at work: wait for one of them to end"
    )))
}

fn failed(status: Status) -> Box<RpcError> {
    failure::rpc_error(&status, None)
}
