//! Carries out the operations of the protocol.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use axum::http::request::Parts;
use oxikit_http::{Watch, reply};
use oxikit_wire::a2a::{
    AgentCard, ErrorKind, ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, Message,
    PushConfig, PushConfigRequest, SendMessageRequest, StreamResponse, Task, Version,
};
use tokio_util::sync::CancellationToken;

use super::card;
use super::event_stream::{EventStream, single_event};
use super::follower::Follower;
use super::form::{Binding, Form, Object, Same};
use super::refusal::Refusal;
use super::service::{Sent, Service, Subscribed};
use crate::app::{App, Slot};

/// An operation with its parameters.
pub(super) enum Asked {
    Send(Box<SendMessageRequest>),
    Stream(Box<SendMessageRequest>),
    Get {
        id: String,
        history: Option<i64>,
    },
    List(Box<ListTasksRequest>),
    Cancel {
        id: String,
    },
    /// With the position of the last event that the client has.
    Subscribe {
        id: String,
        position: Option<u64>,
    },
    CreatePush(Box<PushConfig>),
    GetPush(PushConfigRequest),
    ListPush {
        task: String,
    },
    DeletePush(PushConfigRequest),
    ExtendedCard,
}

/// A request that is being answered.
pub(super) struct Answering<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) service: Service<'a>,
    pub(super) form: Form,
    pub(super) head: &'a Parts,
    pub(super) watch: &'a mut Watch,
    pub(super) slot: Slot,
}

impl Answering<'_> {
    pub(super) async fn answer(self, asked: Asked) -> Response<Body> {
        let is_streaming = matches!(asked, Asked::Stream(_) | Asked::Subscribe { .. });
        match carry_out(self.app, &self.service, self.head, asked).await {
            Ok(answered) => self.write(answered, is_streaming),
            Err(refusal) => refuse(&self.form, is_streaming, &refusal),
        }
    }

    /// The answer to a request whose parameters cannot be read.
    pub(super) fn refuse(&self, is_streaming: bool, refusal: &Refusal) -> Response<Body> {
        refuse(&self.form, is_streaming, refusal)
    }

    fn write(self, answered: Answered, is_streaming: bool) -> Response<Body> {
        let form = &self.form;
        let written = match answered {
            Answered::Sent(sent) => form.answer(&Object(sent)),
            Answered::Task(task) => form.answer(&Object(task)),
            Answered::Tasks(tasks) => form.answer(&Object(tasks)),
            Answered::Push(config) => form.answer(&Object(config)),
            Answered::Pushes(configs) => form.answer(&Object(configs)),
            Answered::Removed => match form.binding {
                Binding::JsonRpc { .. } => form.answer(&Same(())),
                Binding::Rest { .. } => return no_content(),
            },
            Answered::Card(mut card) => {
                let document = |card: &AgentCard| form.document(&Object(card.clone()));
                let signed = card::sign(self.service.agent, &mut card, document);
                signed.map_err(Refusal::from).and_then(|()| form.answer(&Object(*card)))
            }
            Answered::Reply(message) => {
                let mut body = Vec::new();
                form.write_event(&mut body, &StreamResponse::Message(*message), true);
                return reply::stream_response(single_event(&body));
            }
            Answered::Events(subscribed) => {
                return self
                    .events(|form, cut, slot| EventStream::of_task(*subscribed, form, cut, slot));
            }
            Answered::Rest { id, follower } => {
                return self.events(|form, cut, slot| {
                    EventStream::of_rest(&id, *follower, form, cut, slot)
                });
            }
        };
        written.unwrap_or_else(|refusal| refuse(form, is_streaming, &refusal))
    }

    fn events(
        mut self,
        stream: impl FnOnce(Form, &CancellationToken, Slot) -> EventStream,
    ) -> Response<Body> {
        self.slot.watch = self.watch.take();
        let stream = stream(self.form, &self.app.shutdown.cut, self.slot);
        reply::stream_response(stream.into_body())
    }
}

/// The outcome of an operation, without the form of a binding.
pub(super) enum Answered {
    /// The task or the message that answers a message.
    Sent(StreamResponse),
    Task(Task),
    Tasks(ListTasksResponse),
    Push(PushConfig),
    Pushes(ListPushConfigsResponse),
    /// A webhook was removed.
    Removed,
    Card(Box<AgentCard>),
    /// A stream with this message only.
    Reply(Box<Message>),
    /// A stream of a task and its events.
    Events(Box<Subscribed>),
    /// A stream of the events after one that the client has.
    Rest {
        id: String,
        follower: Box<Follower>,
    },
}

/// Carries out an operation.
pub(super) async fn carry_out(
    app: &App,
    service: &Service<'_>,
    head: &Parts,
    asked: Asked,
) -> Result<Answered, Refusal> {
    service.agent.check_extensions(&service.extensions, service.version)?;
    Ok(match asked {
        Asked::Send(request) => {
            let configuration = request.configuration.clone().unwrap_or_default();
            Answered::Sent(match service.send(request).await? {
                Sent::Reply(message) => StreamResponse::Message(*message),
                Sent::Task(subscribed) => {
                    StreamResponse::Task(service.settled(*subscribed, &configuration).await?)
                }
            })
        }
        Asked::Stream(request) => {
            let history = request.configuration.as_ref().and_then(|it| it.history_length);
            match service.send(request).await? {
                Sent::Reply(message) => Answered::Reply(message),
                Sent::Task(mut subscribed) => {
                    super::service::trim(&mut subscribed.task, history);
                    Answered::Events(subscribed)
                }
            }
        }
        // The others are boxed, because the future of every message would have room for them.
        Asked::Get { id, history } => Answered::Task(Box::pin(service.get(&id, history)).await?),
        Asked::List(request) => Answered::Tasks(Box::pin(service.list(*request)).await?),
        Asked::Cancel { id } => Answered::Task(Box::pin(service.cancel(&id)).await?),
        Asked::Subscribe { id, position: Some(position) } => {
            let follower = Box::new(Box::pin(service.resume(&id, position)).await?);
            Answered::Rest { id, follower }
        }
        Asked::Subscribe { id, position: None } => {
            Answered::Events(Box::new(Box::pin(service.subscribe(&id)).await?))
        }
        Asked::CreatePush(config) => Answered::Push(Box::pin(service.create_push(*config)).await?),
        Asked::GetPush(request) => Answered::Push(Box::pin(service.get_push(&request)).await?),
        Asked::ListPush { task } => {
            let configs = Box::pin(service.list_push(&task)).await?;
            Answered::Pushes(ListPushConfigsResponse { configs, ..Default::default() })
        }
        Asked::DeletePush(request) => {
            Box::pin(service.delete_push(&request)).await?;
            Answered::Removed
        }
        Asked::ExtendedCard if !service.agent.has_extended_card() => {
            return Err(Refusal::of(ErrorKind::UnsupportedOperation));
        }
        Asked::ExtendedCard => {
            let card = card::extended(app, service.agent, head, &service.caller);
            Answered::Card(Box::new(card))
        }
    })
}

/// Clients of 0.3 read the code of an error of a stream only from an event.
fn refuse(form: &Form, is_streaming: bool, refusal: &Refusal) -> Response<Body> {
    let is_rpc = matches!(form.binding, Binding::JsonRpc { .. });
    if is_streaming && is_rpc && form.version == Version::V0_3 {
        return reply::stream_response(single_event(&form.refuse(refusal).body));
    }
    form.refused(refusal)
}

fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = axum::http::StatusCode::NO_CONTENT;
    response
}
