//! The inputs of a run: one, or a stream of them.
//!
//! A unary action reads the first input only. A bidirectional action reads them one after
//! another, each checked by the schema when it is read, so that a wrong input fails the action
//! where it can still answer.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::check::Check;
use crate::{Payload, Status};

/// Maximum number of queued inputs. [`InputSender::send`] waits while the queue is full.
const QUEUE: usize = 64;

/// The inputs of a bidirectional action, in the order they were sent.
///
/// See [`ActionBuilder::bidi`](crate::ActionBuilder::bidi) for an example.
pub struct Inputs<In = Payload> {
    first: Option<Payload>,
    rest: Option<mpsc::Receiver<Payload>>,
    check: Check,
    input: PhantomData<fn() -> In>,
}

/// Sends inputs to a run of [`Call::streaming`](crate::Call::streaming). The inputs end when the
/// last clone is dropped.
#[derive(Debug, Clone)]
pub struct InputSender(mpsc::Sender<Payload>);

impl InputSender {
    /// Sends one input. Waits while 64 inputs are queued that the action has not read.
    ///
    /// # Errors
    ///
    /// `CANCELLED` if the run has ended.
    pub async fn send(&self, input: Payload) -> Result<(), Status> {
        self.0.send(input).await.map_err(|_| Status::cancelled())
    }
}

impl Inputs<Payload> {
    pub(crate) fn one(input: Option<Payload>) -> Self {
        Self { first: input, rest: None, check: Check::default(), input: PhantomData }
    }

    pub(crate) fn stream() -> (InputSender, Self) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let inputs =
            Self { first: None, rest: Some(receiver), check: Check::default(), input: PhantomData };
        (InputSender(sender), inputs)
    }

    pub(crate) fn peek(&self) -> Option<&Payload> {
        self.first.as_ref()
    }

    /// The one input of a unary action: the first that was given.
    pub(crate) fn into_first(self) -> Option<Payload> {
        self.first
    }

    pub(crate) fn typed<In>(self, check: Check) -> Inputs<In> {
        Inputs { first: self.first, rest: self.rest, check, input: PhantomData }
    }
}

impl<In: DeserializeOwned + JsonSchema + 'static> Inputs<In> {
    /// The next input, or `None` when there are no more. Nothing is lost when the future is
    /// dropped, so it may stand in a `select!`.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the input does not fit the schema.
    pub async fn next(&mut self) -> Result<Option<In>, Status> {
        let payload = match self.first.take() {
            Some(first) => Some(first),
            None => match &mut self.rest {
                Some(rest) => rest.recv().await,
                None => None,
            },
        };
        if payload.is_none() {
            self.rest = None;
        }
        payload.map(|payload| self.check.decode(payload)).transpose()
    }
}

impl<In> Inputs<In> {
    /// Whether there may be another input. After the one input of a unary call it is `false`, so
    /// that an agent ends after this turn instead of waiting for the next.
    pub fn is_open(&self) -> bool {
        self.first.is_some() || self.rest.is_some()
    }
}

impl<In> fmt::Debug for Inputs<In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs").field("streaming", &self.rest.is_some()).finish_non_exhaustive()
    }
}
