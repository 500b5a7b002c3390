//! Reads the events of a task, over as many connections as necessary.

use std::collections::VecDeque;

use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::a2a::{ErrorKind, StreamResponse, SubscribeRequest, Task, TaskState, Version};

use super::call::Call;
use super::catch_up::CatchUp;
use super::endpoint::Endpoint;
use super::events::{Event, Events};
use super::progress::{Progress, merge};
use super::{A2aClient, A2aReply, error_kind};
use crate::exchange::Exchange;
use crate::failure::{Fault, Place};
use crate::pull::Source;

/// An item of a stream.
pub(super) enum Read {
    /// An event, and whether the stream ends with it.
    Event(Box<StreamResponse>, bool),
    Failed(Status),
    End,
}

/// Why an event waits.
#[derive(Clone, Copy)]
enum Held {
    /// It is the first one of a subscription, and the task should have come before it.
    First,
    /// It is the last one, and the task may have more than the events have told.
    Last,
}

/// Reads a stream. After a broken connection it subscribes to the task: the message that began
/// the stream is never sent again.
pub(super) struct Reader {
    agent: A2aClient,
    endpoint: Endpoint,
    /// The limits of the stream over all of its connections.
    exchange: Exchange,
    events: Option<Events>,
    progress: Progress,
    /// The task as the caller knows it. Only for servers that do not number their events.
    known: Option<A2aReply>,
    /// Set when a server that does not number its events was subscribed to again.
    catch_up: Option<CatchUp>,
    /// Whether the stream has to begin with the task.
    needs_task: bool,
    /// An event that waits until the task is read.
    held: Option<(Held, Event)>,
    /// Events that were not read from the stream.
    extra: VecDeque<Event>,
    /// Number of connections in a row without an event.
    tries: u32,
}

impl Reader {
    pub(super) fn new(
        agent: A2aClient,
        endpoint: Endpoint,
        exchange: Exchange,
        events: Events,
        task_id: Option<String>,
    ) -> Self {
        Self {
            agent,
            exchange,
            // Not all servers of 0.3 begin with it.
            needs_task: endpoint.version == Version::V0_3 && task_id.is_some(),
            endpoint,
            events: Some(events),
            progress: Progress::of_task(task_id),
            known: None,
            catch_up: None,
            held: None,
            extra: VecDeque::new(),
            tries: 0,
        }
    }

    /// Passes an event to the caller.
    fn note(&mut self, event: Event) -> Read {
        self.tries = 0;
        let is_last = self.progress.note(&event.response, event.is_final, event.id);
        match self.progress.event_id {
            Some(_) => self.known = None,
            None => merge(&mut self.known, &event.response),
        }
        Read::Event(Box::new(event.response), is_last)
    }

    /// Passes on the task as it is after a lost connection: what the caller does not know of it.
    fn catch_up(&mut self, task: Task) {
        let catch_up = self.catch_up.get_or_insert_default();
        let new = match &self.known {
            Some(A2aReply::Task(known)) => catch_up.difference(known, &task),
            _ => {
                catch_up.begin(&task);
                vec![StreamResponse::Task(task)]
            }
        };
        self.extra.extend(new.into_iter().map(Event::of));
    }

    /// The event, if it is to be passed on now. After a lost connection the task is replaced by
    /// what is new in it, and events that repeat a part of it are left out.
    fn new_event(&mut self, event: Event) -> Option<Event> {
        if std::mem::take(&mut self.needs_task)
            && !matches!(event.response, StreamResponse::Task(_))
        {
            self.held = Some((Held::First, event));
            return None;
        }
        let Some(catch_up) = &mut self.catch_up else { return Some(event) };
        let known = self.known.as_ref().and_then(A2aReply::task);
        match event.response {
            StreamResponse::Task(task) => {
                self.catch_up(task);
                None
            }
            _ if known.is_some_and(|known| catch_up.repeats(known, &event.response)) => None,
            _ if self.needs_check(&event) => {
                self.held = Some((Held::Last, event));
                None
            }
            _ => Some(event),
        }
    }

    /// Whether the task is read once more before its last event: a server of 0.3 may have lost
    /// events between the task and those that followed it.
    fn needs_check(&self, event: &Event) -> bool {
        let StreamResponse::StatusUpdate(update) = &event.response else { return false };
        self.endpoint.version == Version::V0_3
            && (event.is_final || update.status.state.is_terminal())
    }

    /// Reads the task that should have come before this event.
    async fn begin(&mut self, event: Event) {
        let task_id = self.progress.task_id.clone().unwrap_or_default();
        if let Ok(task) = self.agent.get_task(&task_id, None).await {
            self.catch_up(task.clone());
            self.known = Some(A2aReply::Task(task));
        }
        let event = self.new_event(event);
        self.extra.extend(event);
    }

    /// Compares the task with what the caller was told of it, before its last event.
    async fn check(&mut self, last: Event) {
        if let StreamResponse::StatusUpdate(update) = &last.response
            && let Some(task) = self.settled(&update.task_id, update.status.state).await
            && let (Some(catch_up), Some(A2aReply::Task(known))) = (&mut self.catch_up, &self.known)
        {
            let new = catch_up.artifacts(known, &task);
            self.extra.extend(new.into_iter().map(Event::of));
        }
        self.catch_up = None;
        self.extra.push_back(last);
    }

    /// The task in this state. Servers may publish an event before they store it.
    async fn settled(&self, task_id: &str, state: TaskState) -> Option<Task> {
        for tries in 1..=3 {
            match self.agent.get_task(task_id, None).await {
                Ok(task) if task.status.state == state => return Some(task),
                Ok(_) => self.exchange.pause(tries).await.ok()?,
                Err(_) => return None,
            }
        }
        None
    }

    async fn wait(mut self: Box<Self>) -> (Box<Self>, Read) {
        loop {
            if let Some(item) = self.ready_item() {
                return (self, item);
            }
            if let Some((held, event)) = self.held.take() {
                match held {
                    Held::First => self.begin(event).await,
                    Held::Last => self.check(event).await,
                }
                continue;
            }
            let went_on = match self.read().await {
                Ok(true) => Ok(()),
                Ok(false) if self.progress.may_end() => return (self, Read::End),
                Ok(false) => self.resume(self.cut_off()).await,
                Err(Fault::Broken(status) | Fault::Unreached(status)) => self.resume(status).await,
                Err(Fault::Lasting(status)) => Err(status),
            };
            if let Err(status) = went_on {
                self.events = None;
                return (self, Read::Failed(status));
            }
        }
    }

    /// Reads a piece of the answer. Returns whether there may be more.
    async fn read(&mut self) -> Result<bool, Fault> {
        match &mut self.events {
            Some(events) => events.read(&self.exchange).await,
            None => Ok(false),
        }
    }

    fn cut_off(&self) -> Status {
        let message = format!("{} ended the stream before the task", Place(&self.exchange.url));
        Status::new(StatusCode::Unavailable, message)
    }

    /// Subscribes to the task, with a limited number of tries in a row. `broken` is the error that
    /// made it necessary.
    async fn resume(&mut self, broken: Status) -> Result<()> {
        let Some(task_id) = self.progress.task_id.clone() else { return Err(broken) };
        let mut failure = broken;
        loop {
            if self.tries >= self.exchange.client.settings.reconnects {
                return Err(failure);
            }
            self.tries += 1;
            self.exchange.pause(self.tries).await.map_err(Fault::into_status)?;
            match self.subscribe(&task_id).await {
                Ok(()) => return Ok(()),
                Err(Fault::Lasting(status)) if !may_have_ended(&status) => return Err(status),
                // The task may have ended in between, or run on another server.
                Err(Fault::Lasting(status)) => match self.agent.get_task(&task_id, None).await {
                    Ok(task) if task.status.state.is_terminal() => {
                        self.catch_up(task);
                        return Ok(());
                    }
                    Ok(_) => failure = status,
                    Err(status) => return Err(status),
                },
                Err(fault) => failure = fault.into_status(),
            }
        }
    }

    async fn subscribe(&mut self, task_id: &str) -> Result<(), Fault> {
        let version = self.endpoint.version;
        let request = SubscribeRequest { tenant: self.agent.tenant(), id: task_id.to_owned() };
        let event_id = self.progress.event_id.as_deref();
        let call = Call::Subscribe(&request);
        let events = self.agent.link().open(&self.endpoint, call, event_id).await?;
        self.catch_up = event_id.is_none().then(CatchUp::default);
        if version == Version::V0_3 && event_id.is_none() {
            // Not all servers of 0.3 begin with the task. It is read after the subscription, so
            // that no event is missing between the two.
            let task = self.agent.get_task(task_id, None).await.map_err(Fault::Broken)?;
            self.catch_up(task);
        }
        self.events = Some(events);
        Ok(())
    }
}

/// Whether the error is what servers answer when a task that ended is subscribed to. Servers of
/// 0.3 use several codes.
fn may_have_ended(status: &Status) -> bool {
    matches!(
        error_kind(status),
        Some(ErrorKind::UnsupportedOperation | ErrorKind::InvalidParams | ErrorKind::TaskNotFound)
    )
}

impl Source for Reader {
    type Item = Read;

    fn ready_item(&mut self) -> Option<Read> {
        loop {
            if let Some(event) = self.extra.pop_front() {
                return Some(self.note(event));
            }
            if self.held.is_some() {
                return None;
            }
            match self.events.as_mut()?.ready(&self.exchange)? {
                Ok(event) => {
                    if let Some(event) = self.new_event(event) {
                        return Some(self.note(event));
                    }
                }
                Err(status) => {
                    // The rest of the stream cannot be trusted.
                    self.events = None;
                    return Some(Read::Failed(status));
                }
            }
        }
    }

    fn advance(self: Box<Self>) -> impl Future<Output = (Box<Self>, Read)> + Send {
        self.wait()
    }

    fn is_last(item: &Read) -> bool {
        !matches!(item, Read::Event(_, false))
    }

    fn release(self) {
        if let Some(events) = self.events {
            events.release();
        }
    }
}
