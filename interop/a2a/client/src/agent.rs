//! oxikit's client as the cases see it.

use async_trait::async_trait;
use futures_util::StreamExt;
use oxikit_client::a2a::{
    A2aClient, A2aReply, Artifact, Message, OutgoingMessage, Part, PushConfig, StreamResponse,
    Task, TaskStatus, error_kind,
};
use oxikit_client::a2a::{A2aStream, Version};
use oxikit_core::{Status, StatusCode};
use oxikit_interop_a2a_cases::{Agent, Card, Event, Events, Failure, Hook, Kind, Sending};

pub(crate) struct Ours(pub(crate) A2aClient);

#[async_trait]
impl Agent for Ours {
    fn card(&self) -> Card {
        let card = self.0.card();
        Card {
            name: card.name,
            description: card.description,
            is_streaming: card.capabilities.streaming == Some(true),
            skills: card.skills.len(),
        }
    }

    async fn send(&self, sending: Sending<'_>) -> Result<Event, Failure> {
        let mut message = OutgoingMessage::new(sending.text);
        if let Some(task) = sending.task {
            message = message.for_task(task);
        }
        if let Some(hook) = sending.hook {
            message = message.push_config(config(hook, None));
        }
        if sending.is_immediate {
            message = message.return_immediately();
        }
        match self.0.send(message).await.map_err(failure)? {
            A2aReply::Task(task) => Ok(task_event(&task)),
            A2aReply::Message(message) => Ok(message_event(&message)),
        }
    }

    async fn stream(&self, text: &str) -> Result<Events, Failure> {
        Ok(events(self.0.send_stream(text).await.map_err(failure)?))
    }

    async fn get(&self, task: &str) -> Result<Event, Failure> {
        Ok(task_event(&self.0.get_task(task, None).await.map_err(failure)?))
    }

    async fn cancel(&self, task: &str) -> Result<Event, Failure> {
        Ok(task_event(&self.0.cancel(task).await.map_err(failure)?))
    }

    async fn subscribe(&self, task: &str) -> Result<Events, Failure> {
        Ok(events(self.0.subscribe(task).await.map_err(failure)?))
    }

    async fn notify(&self, task: &str, hook: &Hook) -> Result<String, Failure> {
        let made = self.0.set_push_config(config(hook, Some(task))).await.map_err(failure)?;
        Ok(made.url)
    }
}

pub(crate) fn failure(status: Status) -> Failure {
    Failure {
        code: error_kind(&status).map(|kind| kind.code(Version::V1_0)),
        is_unauthenticated: status.code() == StatusCode::Unauthenticated,
        text: status.to_string(),
    }
}

fn config(hook: &Hook, task: Option<&str>) -> PushConfig {
    PushConfig {
        url: hook.url.clone(),
        token: Some(hook.token.clone()),
        task_id: task.map(str::to_owned),
        tenant: None,
        id: None,
        authentication: None,
    }
}

fn events(stream: A2aStream) -> Events {
    stream.map(|it| it.map(|it| event(&it)).map_err(failure)).boxed()
}

fn event(response: &StreamResponse) -> Event {
    match response {
        StreamResponse::Task(task) => task_event(task),
        StreamResponse::Message(message) => message_event(message),
        StreamResponse::StatusUpdate(update) => status_event(Kind::Status, &update.status),
        StreamResponse::ArtifactUpdate(update) => Event {
            result: text_of(&update.artifact.parts),
            append: update.append,
            last: update.last_chunk,
            ..Event::new(Kind::Artifact)
        },
    }
}

fn task_event(task: &Task) -> Event {
    let texts: Vec<_> =
        task.artifacts.iter().map(|Artifact { parts, .. }| text_of(parts)).collect();
    let (id, result) = (task.id.clone(), texts.join("|"));
    Event { id, result, ..status_event(Kind::Task, &task.status) }
}

fn message_event(message: &Message) -> Event {
    Event { said: message.text(), ..Event::new(Kind::Message) }
}

fn status_event(kind: Kind, status: &TaskStatus) -> Event {
    let said = status.message.as_ref().map(Message::text).unwrap_or_default();
    Event { state: status.state.to_string(), said, ..Event::new(kind) }
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}
