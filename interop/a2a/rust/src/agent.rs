//! The official client as the cases see it.

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, GetTaskRequest, Message, Part, Role,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState, TaskStatus,
};
use a2a_client::{A2AClient, BoxStream, Transport};
use async_trait::async_trait;
use futures_util::StreamExt;
use oxikit_interop_a2a_cases::{Agent, Card, Event, Events, Failure, Hook, Kind, Sending};

pub(crate) struct Official {
    pub(crate) client: A2AClient<Box<dyn Transport>>,
    pub(crate) card: AgentCard,
}

#[async_trait]
impl Agent for Official {
    fn card(&self) -> Card {
        Card {
            name: self.card.name.clone(),
            description: self.card.description.clone(),
            is_streaming: self.card.capabilities.streaming == Some(true),
            skills: self.card.skills.len(),
        }
    }

    async fn send(&self, sending: Sending<'_>) -> Result<Event, Failure> {
        match self.client.send_message(&request(sending)).await.map_err(failure)? {
            SendMessageResponse::Task(task) => Ok(task_event(&task)),
            SendMessageResponse::Message(message) => Ok(message_event(&message)),
        }
    }

    async fn stream(&self, text: &str) -> Result<Events, Failure> {
        let request = request(Sending { text, ..Sending::default() });
        Ok(events(self.client.send_streaming_message(&request).await.map_err(failure)?))
    }

    async fn get(&self, task: &str) -> Result<Event, Failure> {
        let request = GetTaskRequest { id: task.to_owned(), history_length: None, tenant: None };
        Ok(task_event(&self.client.get_task(&request).await.map_err(failure)?))
    }

    async fn cancel(&self, task: &str) -> Result<Event, Failure> {
        let request = CancelTaskRequest { id: task.to_owned(), metadata: None, tenant: None };
        Ok(task_event(&self.client.cancel_task(&request).await.map_err(failure)?))
    }

    async fn subscribe(&self, task: &str) -> Result<Events, Failure> {
        let request = SubscribeToTaskRequest { id: task.to_owned(), tenant: None };
        Ok(events(self.client.subscribe_to_task(&request).await.map_err(failure)?))
    }

    async fn notify(&self, task: &str, hook: &Hook) -> Result<String, Failure> {
        let made = self.client.create_push_config(&config(hook, task)).await;
        Ok(made.map_err(failure)?.url)
    }
}

pub(crate) fn failure(error: A2AError) -> Failure {
    Failure {
        code: Some(error.code.into()),
        // The client keeps the message of a response and not its status.
        is_unauthenticated: error.message == "Unauthenticated",
        text: format!("{} ({})", error.message, error.code),
    }
}

fn request(sending: Sending<'_>) -> SendMessageRequest {
    let mut message = Message::new(Role::User, vec![Part::text(sending.text)]);
    message.task_id = sending.task.map(str::to_owned);
    let configuration = SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: sending.hook.map(|hook| config(hook, "")),
        history_length: None,
        return_immediately: Some(sending.is_immediate),
    };
    SendMessageRequest { message, configuration: Some(configuration), metadata: None, tenant: None }
}

fn config(hook: &Hook, task: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: hook.url.clone(),
        id: None,
        task_id: task.to_owned(),
        token: Some(hook.token.clone()),
        authentication: None,
        tenant: None,
    }
}

fn events(stream: BoxStream<'static, Result<StreamResponse, A2AError>>) -> Events {
    stream.map(|it| it.map(|it| event(&it)).map_err(failure)).boxed()
}

fn event(response: &StreamResponse) -> Event {
    match response {
        StreamResponse::Task(task) => task_event(task),
        StreamResponse::Message(message) => message_event(message),
        StreamResponse::StatusUpdate(update) => status_event(Kind::Status, &update.status),
        StreamResponse::ArtifactUpdate(update) => Event {
            result: text_of(&update.artifact.parts),
            append: update.append.unwrap_or_default(),
            last: update.last_chunk.unwrap_or_default(),
            ..Event::new(Kind::Artifact)
        },
    }
}

fn task_event(task: &Task) -> Event {
    let artifacts = task.artifacts.iter().flatten();
    let texts: Vec<_> = artifacts.map(|it| text_of(&it.parts)).collect();
    let (id, result) = (task.id.clone(), texts.join("|"));
    Event { id, result, ..status_event(Kind::Task, &task.status) }
}

fn message_event(message: &Message) -> Event {
    Event { said: text_of(&message.parts), ..Event::new(Kind::Message) }
}

fn status_event(kind: Kind, status: &TaskStatus) -> Event {
    let state = match status.state {
        TaskState::Unspecified => "unspecified",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    };
    let said = status.message.as_ref().map(|it| text_of(&it.parts)).unwrap_or_default();
    Event { state: state.to_owned(), said, ..Event::new(kind) }
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}
