//! The calls whose answer is a stream.

use oxikit_core::Result;
use oxikit_wire::a2a::SubscribeRequest;

use super::call::Call;
use super::endpoint::Endpoint;
use super::events::Events;
use super::follow::Reader;
use super::{A2aClient, A2aStream, OutgoingMessage};
use crate::failure::Fault;

/// Streams.
impl A2aClient {
    /// Sends a message and reads the events of its answer. When the connection breaks, the
    /// stream goes on with the task over a new one; the message is never sent again.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), up to the start of the answer.
    pub async fn send_stream(&self, message: impl Into<OutgoingMessage>) -> Result<A2aStream> {
        let request = message.into().into_request(self.tenant());
        self.stream(Call::Stream(&request), None).await
    }

    /// Reads the events of a task that has not ended. The first one is the task as it is now.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::UnsupportedOperation`](super::ErrorKind) if the task has ended and the
    /// version is 1.0.
    pub async fn subscribe(&self, task_id: &str) -> Result<A2aStream> {
        let request = SubscribeRequest { tenant: self.tenant(), id: task_id.to_owned() };
        self.stream(Call::Subscribe(&request), Some(task_id.to_owned())).await
    }

    async fn stream(&self, call: Call<'_>, task_id: Option<String>) -> Result<A2aStream> {
        let endpoint = self.endpoint();
        // Made first, so that the timeout of the stream includes its opening.
        let exchange = self.link().exchange(&endpoint.url)?;
        let (endpoint, events) = match self.open_at(endpoint, call).await {
            Err(status) => {
                let older = self.older(endpoint, call.operation(), status)?;
                let events = self.open_at(older, call).await?;
                self.keep_older();
                (older, events)
            }
            events => (endpoint, events?),
        };
        let reader = Reader::new(self.clone(), endpoint.clone(), exchange, events, task_id);
        Ok(A2aStream::new(reader))
    }

    async fn open_at(&self, endpoint: &Endpoint, call: Call<'_>) -> Result<Events> {
        self.link().open(endpoint, call, None).await.map_err(Fault::into_status)
    }
}
