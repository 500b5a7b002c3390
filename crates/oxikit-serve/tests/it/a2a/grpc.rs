//! The gRPC binding, called by a client of HTTP/2 without any library for gRPC.

mod cards;
mod client;
mod methods;
mod push;
mod refusals;
mod streams;
mod transport;

use oxikit_wire::a2a::{
    GetTaskRequest, Message, Operation, Part, Role, SendConfiguration, SendMessageRequest,
    StreamResponse, SubscribeRequest, Task, Version,
};

use client::Grpc;

const BOTH: [Version; 2] = [Version::V0_3, Version::V1_0];

/// A message of the user that waits for the answer.
fn send(text: &str) -> SendMessageRequest {
    let message = Message::new("m", Role::User, vec![Part::text(text)]);
    SendMessageRequest { tenant: None, message, configuration: None, metadata: None }
}

/// The same message for a task.
fn send_to(task: &Task, text: &str) -> SendMessageRequest {
    let mut request = send(text);
    request.message.task_id = Some(task.id.clone());
    request
}

/// A message of the user that does not wait.
fn begin(text: &str) -> SendMessageRequest {
    let configuration =
        SendConfiguration { return_immediately: Some(true), ..SendConfiguration::default() };
    SendMessageRequest { configuration: Some(configuration), ..send(text) }
}

fn get(id: &str) -> GetTaskRequest {
    GetTaskRequest { id: id.to_owned(), ..GetTaskRequest::default() }
}

fn subscribe(id: &str) -> SubscribeRequest {
    SubscribeRequest { tenant: None, id: id.to_owned() }
}

impl Grpc {
    /// Sends a message that is answered by a task.
    async fn task(&self, request: SendMessageRequest) -> Task {
        match self.call(Operation::SendMessage, &request).await.unwrap() {
            StreamResponse::Task(task) => task,
            other => panic!("expected a task: {other:?}"),
        }
    }
}
