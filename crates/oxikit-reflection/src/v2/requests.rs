//! Dispatch of the requests and notifications of a manager, for one connection.
//!
//! The task that reads the socket calls [`Requests::handle`], which must not wait for actions:
//! each run is spawned, and its number is limited by a semaphore. Short answers are queued in a
//! lane of their own, so that they are not behind the chunks of runs.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::{Payload, Status, StatusCode};
use oxikit_wire::rpc::{
    CancelActionParams, CancelActionResult, ChunkParams, ConfigureParams, EndInputParams,
    ListActionsResult, ListValuesParams, ListValuesResult, RegisterResult, RpcError, RpcMessage,
    RunActionParams, method, rpc_code,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::frames::{self, Frame, RequestId};
use super::inputs;
use super::outbox::{Epoch, Lane};
use super::rate_limit::RateLimit;
use super::run::{RunAction, or_panicked};
use super::session::Session;
use crate::runs::RunRequest;
use crate::sessions::{AgentsApi, SessionRequest};
use crate::{failure, identity};

/// Maximum number of concurrent runs per connection, and separately of lists and session
/// requests. Further ones fail with `RESOURCE_EXHAUSTED`.
const MAX_IN_FLIGHT: usize = 256;

/// Minimum time between two error responses to frames that are not JSON-RPC messages.
pub(super) const ERROR_RESPONSE_INTERVAL: Duration = Duration::from_millis(100);

/// Handles the messages of one connection.
pub(super) struct Requests {
    session: Arc<Session>,
    connection: u64,
    /// The id of our `register` request, whose response is one of the messages.
    register_id: RequestId,
    runs: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    /// Whether the manager of this connection was passed to `Session::manager_registered`.
    is_identified: bool,
    /// Whether the manager has sent a request on this connection.
    has_asked: bool,
    ignored: RateLimit,
    refused: RateLimit,
}

/// A request, with the message that it was parsed from.
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
            is_identified: false,
            has_asked: false,
            ignored: RateLimit::new(Duration::from_secs(1)),
            refused: RateLimit::new(ERROR_RESPONSE_INTERVAL),
        }
    }

    /// Handles one message. Never waits for an action. It waits only while the lane for short
    /// responses is full, that is, while the manager sends requests and does not read.
    pub(super) async fn handle(&mut self, text: &Bytes) {
        // serde would accept an array, which is a JSON-RPC batch, as the fields of one message.
        let message = match text.trim_ascii_start().first() {
            Some(b'{') => serde_json::from_slice::<RpcMessage<'_>>(text).ok(),
            _ => None,
        };
        let Some(message) = message else { return self.refuse_frame(text).await };
        let id = message.id.and_then(|id| RequestId::new(id.get()));
        match (message.method.as_deref(), id) {
            // An id that is neither a string nor a number cannot be repeated in a response.
            (Some(_), None) if message.id.is_some() => self.refuse_frame(text).await,
            (None, _) if message.is_empty() => self.refuse_frame(text).await,
            (Some(method), Some(id)) => {
                // A request may arrive before the response to `register`. Until the response
                // arrives, the manager is treated as one without `managerId`.
                if !self.is_identified {
                    self.identify(None);
                }
                let is_first = !std::mem::replace(&mut self.has_asked, true);
                let epoch = self.session.request_received(&id, self.connection, is_first);
                let params = message.params;
                self.request(Request { id, epoch, method, params, text }).await;
            }
            (Some(method), None) => self.notification(method, message.params, text),
            (None, Some(id)) if id == self.register_id => self.registered(&message),
            (None, _) => self.ignore("a response without a request"),
        }
    }

    /// Dispatches a request by its method.
    async fn request(&mut self, request: Request<'_>) {
        if SessionRequest::is_method(request.method)
            && let Some(agents_api) = self.session.runs.agents_api().cloned()
        {
            return self.sessions(request, agents_api).await;
        }
        match request.method {
            method::RUN_ACTION => self.run_action(request).await,
            method::LIST_ACTIONS => self.list_actions(request).await,
            method::LIST_VALUES => {
                let answer = self.values(&request);
                self.answer(&request, answer).await;
            }
            method::CANCEL_ACTION => {
                let answer = self.cancel(&request);
                self.answer(&request, answer).await;
            }
            // These are notifications. Official runtimes do not answer them even if they have an id.
            method::SEND_INPUT_STREAM_CHUNK | method::END_INPUT_STREAM | method::CONFIGURE => {
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

    /// Starts a run as a task, unless too many are running.
    async fn run_action(&self, request: Request<'_>) {
        let params = match read::<RunActionParams<'_>>(&request) {
            Ok(params) => params,
            Err(error) => return self.answer(&request, Err(error)).await,
        };
        let Ok(place) = self.runs.clone().try_acquire_owned() else {
            return self.answer(&request, Err(too_many())).await;
        };
        // Inputs may arrive before the action is resolved, so the queue exists first.
        let (queue, inputs) = params.stream_input.then(inputs::queue).unzip();
        let mut run = RunRequest::new(request.text, params);
        if inputs.is_some() {
            run = run.with_input_stream();
        }
        let known = self.session.register_run(request.id.clone(), self.connection, queue);
        let (session, id, epoch) = (self.session.clone(), request.id, request.epoch);
        self.session.spawn(async move {
            RunAction { session, id, epoch }.serve(run, inputs).await;
            drop((known, place));
        });
    }

    /// Lists in the background, because resolvers of the application may be slow.
    async fn list_actions(&self, request: Request<'_>) {
        let registry = self.session.runs.registry().clone();
        let list =
            async move { Ok(ListActionsResult { actions: identity::actions(&registry).await }) };
        self.answer_later(request, list).await;
    }

    /// Answers a request about the sessions of agents.
    async fn sessions(&self, request: Request<'_>, agents_api: Arc<dyn AgentsApi>) {
        let params = request.params.map_or("null", RawValue::get);
        let session_request = match SessionRequest::read(request.method, params) {
            Ok(session_request) => session_request,
            Err(error) => return self.answer(&request, Err(unreadable(&request, &error))).await,
        };
        let runs = self.session.runs.clone();
        let work = async move {
            let answer = agents_api.answer(runs.registry(), session_request).await;
            // This is not the failure of a run, so the message has no prefix with the code.
            answer.map_err(|status| failure::refusal(rpc_code::FAILED, &status))
        };
        self.answer_later(request, work).await;
    }

    /// Runs `work` as a task and responds with its result.
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
            _ = session.outbox.send(epoch, Lane::Short, &mut vec![answer]).await;
            drop(place);
        });
    }

    /// The response to `listValues`.
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

    /// Cancels a run. The response does not wait for its end.
    fn cancel(&self, request: &Request<'_>) -> Result<Frame, Box<RpcError>> {
        let CancelActionParams { trace_id } = read(request)?;
        let cancelled = self.session.runs.cancel(&trace_id);
        cancelled.map_err(|status| failure::refusal(rpc_code::INVALID_PARAMS, &status))?;
        let result = CancelActionResult { message: "Action cancelled".to_owned() };
        frames::answer(&request.id, &result).map_err(failed)
    }

    /// Handles a notification. Unknown ones are counted and logged.
    fn notification(&mut self, method: &str, params: Option<&RawValue>, text: &Bytes) {
        let params = params.map_or("null", RawValue::get);
        let is_taken = match method {
            method::SEND_INPUT_STREAM_CHUNK => {
                serde_json::from_str(params).is_ok_and(|params| self.take_input(&params, text))
            }
            method::END_INPUT_STREAM => {
                serde_json::from_str(params).is_ok_and(|end: EndInputParams<'_>| {
                    let id = RequestId::new(end.request_id.get());
                    id.is_some_and(|id| self.session.end_inputs(&id))
                })
            }
            method::CONFIGURE => {
                self.configure(params);
                true
            }
            _ => false,
        };
        if !is_taken {
            self.ignore("a notification for no run, or of an unknown method");
        }
    }

    /// Queues an input for its run. Returns whether there is one.
    fn take_input(&self, params: &ChunkParams<'_>, text: &Bytes) -> bool {
        let Some(id) = RequestId::new(params.request_id.get()) else { return false };
        let input = Payload::from_raw(text, params.chunk);
        self.session.push_input(&id, input, params.chunk.get().len())
    }

    /// Handles the response to `register`. The result may be empty. An error does not end the
    /// connection: some managers do not know all of our parameters, and work all the same.
    fn registered(&mut self, answer: &RpcMessage<'_>) {
        if let Some(error) = answer.error {
            tracing::warn!(error = error.get(), "the manager rejected the registration");
            // It drops all frames, unless it sends a request all the same.
            return self.session.outbox.registration_rejected();
        }
        let result = answer.result.and_then(|result| serde_json::from_str(result.get()).ok());
        let RegisterResult { telemetry_server_url, manager_id } = result.unwrap_or_default();
        self.identify(manager_id.as_deref());
        if let Some(url) = telemetry_server_url {
            self.session.set_telemetry_server(&url);
        }
    }

    /// Passes the `managerId`, or its absence, to the session.
    fn identify(&mut self, manager: Option<&str>) {
        self.is_identified = true;
        self.session.manager_registered(manager);
    }

    /// Handles `configure`: sets the URL for spans.
    fn configure(&self, params: &str) {
        if let Ok(params) = serde_json::from_str::<ConfigureParams>(params)
            && let Some(url) = params.telemetry_server_url
        {
            self.session.set_telemetry_server(&url);
        }
    }

    /// Queues a response to a request that is not a run.
    async fn answer(&self, request: &Request<'_>, answer: Result<Frame, Box<RpcError>>) {
        let frame = answer.unwrap_or_else(|error| frames::error(&request.id, &error));
        // Dropped if another manager has connected meanwhile.
        _ = self.session.outbox.send(request.epoch, Lane::Short, &mut vec![frame]).await;
    }

    /// Answers a frame that is not a JSON-RPC message, at a limited rate. Responses are never
    /// answered: two peers could answer each other's errors forever.
    async fn refuse_frame(&mut self, text: &Bytes) {
        if self.refused.record().is_none() {
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
        _ = outbox.send(outbox.epoch(), Lane::Short, &mut vec![frames::refusal(&error)]).await;
    }

    /// Counts a message that has no effect, and logs the number now and then.
    fn ignore(&mut self, what: &'static str) {
        if let Some(messages) = self.ignored.record() {
            tracing::debug!(what, messages, "ignored messages of the manager");
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
