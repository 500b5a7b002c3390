//! One form of agents and their events for all clients, so that the cases are written once.

use std::fmt;

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::Hook;

/// A client that can be connected to the agents of a server.
#[async_trait]
pub trait Connect: Send + Sync {
    /// Reads the card of this agent and connects with it, with the key of `locked` if it is asked
    /// for.
    async fn connect(&self, agent: &str, has_key: bool) -> Result<Box<dyn Agent>, Failure>;
}

/// An agent behind one binding.
#[async_trait]
pub trait Agent: Send + Sync {
    /// The card.
    fn card(&self) -> Card;
    /// Sends a message and returns the answer.
    async fn send(&self, sending: Sending<'_>) -> Result<Event, Failure>;
    /// Sends a message and returns the events of its answer.
    async fn stream(&self, text: &str) -> Result<Events, Failure>;
    /// Reads a task.
    async fn get(&self, task: &str) -> Result<Event, Failure>;
    /// Cancels a task.
    async fn cancel(&self, task: &str) -> Result<Event, Failure>;
    /// Returns the events of a running task.
    async fn subscribe(&self, task: &str) -> Result<Events, Failure>;
    /// Registers a webhook for a task. Returns its address as the server has it.
    async fn notify(&self, task: &str, hook: &Hook) -> Result<String, Failure>;
}

/// The events of a task.
pub type Events = BoxStream<'static, Result<Event, Failure>>;

/// The members of a card that the cases look at.
#[derive(Debug, PartialEq)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Whether it declares streams.
    pub is_streaming: bool,
    /// The number of its skills.
    pub skills: usize,
}

/// A message and how it is sent.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sending<'a> {
    /// The text.
    pub text: &'a str,
    /// The task that it is for.
    pub task: Option<&'a str>,
    /// Whether the answer is wanted before the task has ended.
    pub is_immediate: bool,
    /// A webhook for the task.
    pub hook: Option<&'a Hook>,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole task.
    Task,
    /// A message without a task.
    Message,
    /// A change of the state.
    Status,
    /// A chunk of an artifact.
    Artifact,
}

/// A task, message or event. Members that the kind does not have are empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The kind.
    pub kind: Kind,
    /// The id of the task.
    pub id: String,
    /// The state, such as `input-required`.
    pub state: String,
    /// The text of the message, also of that in a status.
    pub said: String,
    /// The text of the artifacts.
    pub result: String,
    /// Whether the chunk is added to those before it.
    pub append: bool,
    /// Whether the chunk is the last one.
    pub last: bool,
}

impl Event {
    /// An event of this kind without members.
    pub fn new(kind: Kind) -> Self {
        let (id, state, said, result) = Default::default();
        Self { kind, id, state, said, result, append: false, last: false }
    }
}

/// A call that failed.
#[derive(Debug)]
pub struct Failure {
    /// The code of the protocol.
    pub code: Option<i64>,
    /// Whether the server wants credentials (HTTP 401).
    pub is_unauthenticated: bool,
    /// The message of the client.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}
