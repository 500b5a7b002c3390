//! The calls of a client.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{
    AgentCard, CancelTaskRequest, ErrorKind, ExtendedCardRequest, GetTaskRequest, ListTasksRequest,
    ListTasksResponse, Operation, Task, Version,
};

use super::call::{Answered, Call};
use super::card;
use super::endpoint::Endpoint;
use super::link::Link;
use super::{A2aReply, Binding, OutgoingMessage, error_kind};
use crate::card_cache::ReadCard;

/// An agent of another program. Clones share their connections, card and headers.
///
/// ```no_run
/// use oxikit_client::a2a::A2aClient;
///
/// # async fn example() -> oxikit_client::Result<()> {
/// let agent = A2aClient::connect("http://127.0.0.1:3400/a2a/coder").await?;
/// println!("{}", agent.send("Sort a list in Rust").await?.text());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct A2aClient(Arc<Shared>);

struct Shared {
    link: Link,
    card: RwLock<Arc<ReadCard>>,
    main: Endpoint,
    /// The address for version 0.3, if `main` is for 1.0.
    older: Option<Endpoint>,
    /// Set when the server has refused 1.0 and answered 0.3.
    is_older: AtomicBool,
}

impl A2aClient {
    /// Reads the card of the agent at this URL and chooses one of its addresses: JSON-RPC of
    /// version 1.0 if the card lists it, else of 0.3. The URL may also be that of the card.
    ///
    /// # Errors
    ///
    /// As [`A2aBuilder::connect`](super::A2aBuilder::connect).
    pub async fn connect(url: &str) -> Result<Self> {
        Self::builder(url).connect().await
    }

    pub(super) fn new(
        link: Link,
        card: Arc<ReadCard>,
        main: Endpoint,
        older: Option<Endpoint>,
    ) -> Self {
        let is_older = AtomicBool::new(false);
        Self(Arc::new(Shared { link, card: RwLock::new(card), main, older, is_older }))
    }

    /// The card of the agent.
    pub fn card(&self) -> AgentCard {
        self.read_card().card.clone()
    }

    /// Reads the card again, unless the server says that it has not changed. The addresses that
    /// were chosen at first are kept.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn refresh_card(&self) -> Result<AgentCard> {
        let url = self.read_card().url.clone();
        let card = card::read(&self.0.link, &url).await?;
        *self.0.card.write().unwrap_or_else(PoisonError::into_inner) = card.clone();
        Ok(card.card.clone())
    }

    /// Reads the card for authenticated callers, which may have more skills than the public one.
    /// [`card`](Self::card) and the addresses that were chosen at first stay as they are.
    ///
    /// ```no_run
    /// use oxikit_client::a2a::A2aClient;
    ///
    /// # async fn example(token: &str) -> oxikit_client::Result<()> {
    /// let url = "https://agents.example/a2a/coder";
    /// let agent = A2aClient::builder(url).bearer(token).connect().await?;
    /// for skill in agent.extended_card().await?.skills {
    ///     println!("{}", skill.name);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::UnsupportedOperation`] or
    /// [`ErrorKind::ExtendedCardNotConfigured`] if the agent has no such card.
    pub async fn extended_card(&self) -> Result<AgentCard> {
        let request = ExtendedCardRequest { tenant: self.tenant() };
        let card: Box<AgentCard> = self.ask(Call::ExtendedCard(&request)).await?;
        Ok(*card)
    }

    /// The version of the protocol that is spoken.
    pub fn version(&self) -> Version {
        self.endpoint().version
    }

    /// The binding that is spoken.
    pub fn binding(&self) -> Binding {
        self.endpoint().binding
    }

    /// The URL that calls are sent to.
    pub fn url(&self) -> &str {
        self.endpoint().url.as_str()
    }

    /// Sends a message and waits for the answer: a message, or a task that has ended or that
    /// waits for the caller.
    ///
    /// The message is sent again only if no connection to the server could be made, or if the
    /// server has refused it before the agent got it.
    ///
    /// # Errors
    ///
    /// The error of the agent, see [`error_kind`](super::error_kind). `UNAVAILABLE` if the server
    /// cannot be reached or the connection breaks, `UNAUTHENTICATED` and `PERMISSION_DENIED` if
    /// the server refuses the caller, `DEADLINE_EXCEEDED` after the timeout, `INTERNAL` if the
    /// answer is not part of the protocol.
    pub async fn send(&self, message: impl Into<OutgoingMessage>) -> Result<A2aReply> {
        let request = message.into().into_request(self.tenant());
        A2aReply::of(self.ask(Call::Send(&request)).await?)
    }

    /// Reads a task with at most this number of messages of its history; all if `None`.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::TaskNotFound`] if there is no such task.
    pub async fn get_task(&self, task_id: &str, history_length: Option<u32>) -> Result<Task> {
        let request = GetTaskRequest {
            tenant: self.tenant(),
            id: task_id.to_owned(),
            history_length: history_length.map(i64::from),
        };
        self.ask(Call::GetTask(&request)).await
    }

    /// Reads a page of the caller's tasks. JSON-RPC of version 0.3 does not have this.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::UnsupportedOperation`] in JSON-RPC of version 0.3.
    pub async fn list_tasks(&self, mut request: ListTasksRequest) -> Result<ListTasksResponse> {
        request.tenant = self.tenant();
        self.ask(Call::ListTasks(&request)).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::TaskNotCancelable`] if the task has ended.
    pub async fn cancel(&self, task_id: &str) -> Result<Task> {
        let id = task_id.to_owned();
        let request = CancelTaskRequest { tenant: self.tenant(), id, metadata: None };
        self.ask(Call::Cancel(&request)).await
    }

    /// Sends a call and takes the value out of its answer.
    pub(super) async fn ask<R: TryFrom<Answered, Error = Status>>(
        &self,
        call: Call<'_>,
    ) -> Result<R> {
        self.invoke(call).await?.try_into()
    }

    /// Sends a call, and once more in version 0.3 if the server does not have 1.0.
    pub(super) async fn invoke(&self, call: Call<'_>) -> Result<Answered> {
        let endpoint = self.endpoint();
        match self.0.link.call(endpoint, call).await {
            Err(status) => {
                let older = self.older(endpoint, call.operation(), status)?;
                let answer = self.0.link.call(older, call).await?;
                self.keep_older();
                Ok(answer)
            }
            answer => answer,
        }
    }

    /// The address to call in version 0.3 after an error of 1.0; the error if there is no use in
    /// that.
    pub(super) fn older(
        &self,
        tried: &Endpoint,
        operation: Operation,
        error: Status,
    ) -> Result<&Endpoint> {
        let kind = error_kind(&error);
        let is_unknown =
            matches!(kind, Some(ErrorKind::MethodNotFound | ErrorKind::VersionNotSupported));
        match &self.0.older {
            Some(older)
                if is_unknown
                    && tried.version == Version::V1_0
                    && older.binding.has(operation, older.version) =>
            {
                Ok(older)
            }
            _ => Err(error),
        }
    }

    /// Calls version 0.3 from now on.
    pub(super) fn keep_older(&self) {
        self.0.is_older.store(true, Ordering::Relaxed);
    }

    /// The address to call now.
    pub(super) fn endpoint(&self) -> &Endpoint {
        match &self.0.older {
            Some(older) if self.0.is_older.load(Ordering::Relaxed) => older,
            _ => &self.0.main,
        }
    }

    pub(super) fn link(&self) -> &Link {
        &self.0.link
    }

    pub(super) fn tenant(&self) -> Option<String> {
        self.0.main.tenant.clone()
    }

    fn read_card(&self) -> Arc<ReadCard> {
        self.0.card.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for A2aClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aClient")
            .field("agent", &self.read_card().card.name)
            .field("binding", &self.binding())
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
