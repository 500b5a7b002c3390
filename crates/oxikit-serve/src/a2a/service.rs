//! The methods of the protocol, without its versions and bindings.

mod tasks;
mod webhooks;

use std::sync::Arc;

use oxikit_core::ports::{
    NewTask, NewTurn, Owner, PushTarget, Received, StatusEntry, StoreError, TaskEntry, TaskEvent,
    TaskHead, TaskScope, TaskStore,
};
use oxikit_core::{ActionContext, Status, TraceParent, timestamp};
use oxikit_wire::JsonObject;
use oxikit_wire::a2a::{
    Message, SendConfiguration, SendMessageRequest, Task, TaskState, TaskStatus, Version,
};
use tokio::sync::oneshot;

use super::agent_options::Served;
use super::executor::TaskTurn;
use super::follower::{Follower, StopAt};
use super::presence::Present;
use super::refusal::Refusal;
use super::runner::{Runner, Work, fold};
use super::task_writer::{First, Unstored};
pub(super) use tasks::trim;
use webhooks::named;

/// Maximum number of messages that wait for a task while the agent works on another one.
const MAX_WAITING: u64 = 8;

/// Size of a request in bytes from which its task is stored before the agent runs. No store refuses a
/// smaller message for its size.
const LARGE: usize = 16 << 10;

/// An agent as one caller sees it, in one version of the protocol.
pub(super) struct Service<'a> {
    pub(super) runner: &'a Arc<Runner>,
    pub(super) agent: &'a Arc<Served>,
    pub(super) caller: ActionContext,
    /// The tenant that the request names. Tasks of one are not there for another.
    pub(super) tenant: Option<String>,
    /// URIs of the extensions that the client asks for.
    pub(super) extensions: Vec<String>,
    /// The client's span.
    pub(super) trace_parent: Option<TraceParent>,
    pub(super) version: Version,
    /// Size of the body of the request.
    pub(super) body_bytes: usize,
}

/// The answer to a message.
pub(super) enum Sent {
    /// Without a task.
    Reply(Box<Message>),
    /// The task as it is with the message, and its following events.
    Task(Box<Subscribed>),
}

/// A task at a position, and a reader of what follows.
pub(super) struct Subscribed {
    pub(super) task: Task,
    pub(super) position: u64,
    pub(super) follower: Follower,
}

impl Service<'_> {
    pub(super) fn scope(&self) -> TaskScope {
        let agent = &self.agent.name;
        // The name is copied, so that the counts of its references are not shared with all other
        // requests.
        let agent: Arc<str> = match &self.tenant {
            None => Arc::from(&**agent),
            Some(tenant) => format!("{agent} of {tenant}").into(),
        };
        TaskScope::new(Owner::of(&self.caller), agent)
    }

    fn store(&self) -> &Arc<dyn TaskStore> {
        self.runner.store()
    }

    /// Gives a message to the agent.
    pub(super) async fn send(&self, request: Box<SendMessageRequest>) -> Result<Sent, Refusal> {
        request.check()?;
        let SendMessageRequest { message, configuration, metadata, .. } = *request;
        let push =
            configuration.and_then(|configuration| configuration.task_push_notification_config);
        // The steps are boxed: the future of a request is moved several times before it runs, with
        // the room for all of its steps.
        let push = match push {
            Some(config) => Some(Box::pin(self.agent.push_target(config, self.version)).await?),
            None => None,
        };
        match message.task_id.clone() {
            None => Box::pin(self.begin(message, metadata, push)).await,
            Some(task) => Box::pin(self.go_on(&task, message, metadata, push)).await,
        }
    }

    /// Begins a task.
    async fn begin(
        &self,
        mut message: Message,
        metadata: Option<JsonObject>,
        push: Option<PushTarget>,
    ) -> Result<Sent, Refusal> {
        let task_id = oxikit_core::random_id();
        let context_id = message.context_id.take().unwrap_or_else(oxikit_core::random_id);
        complete_ids(&mut message, &task_id, &context_id);
        let (scope, present) = (self.scope(), self.runner.presence.enter().await?);
        let entry = status_entry(TaskState::Submitted, Some(message.clone()));
        let entry = Arc::new(TaskEntry::Status(Box::new(entry)));
        let new = NewTask {
            scope: scope.clone(),
            id: task_id.clone(),
            context_id: context_id.clone(),
            metadata: None,
            runner: present.name.clone(),
            entries: vec![entry.clone()],
            push: push.map(|target| named(target, &task_id)),
        };
        let (first, answered) = oneshot::channel();
        let may_reply = self.agent.worker.executor.may_reply();
        let is_large = self.body_bytes > LARGE;
        let unstored = Some(Box::new(Unstored { task: new, first, may_reply, is_large }));
        let turn = self.turn(&task_id, &context_id, message, metadata);
        let work = Work { unstored, ..self.work(&scope, turn, present) };
        let ended = self.runner.start(work).await;
        match answered.await {
            Ok(First::Task) => {}
            Ok(First::Reply(message)) => return Ok(Sent::Reply(message)),
            Ok(First::Failed(error)) => return Err(error.into()),
            Err(_) => return Err(Refusal::internal("the agent has not answered")),
        }
        let begun = Received { position: 1, turn: 1, is_claimed: true };
        let mut task = Task::new(task_id, context_id, TaskStatus::new(TaskState::Submitted));
        Arc::unwrap_or_clone(entry).apply(&mut task);
        Ok(self.subscribed(scope, task, begun, ended))
    }

    /// Adds a message to a task.
    async fn go_on(
        &self,
        id: &str,
        mut message: Message,
        metadata: Option<JsonObject>,
        push: Option<PushTarget>,
    ) -> Result<Sent, Refusal> {
        let (scope, store) = (self.scope(), self.store());
        let head = store.head(&scope, id).await?;
        self.check_open(&head, &message)?;
        complete_ids(&mut message, id, &head.context_id);
        if let Some(target) = push {
            store.put_push(&scope, id, named(target, id)).await?;
        }
        let present = self.runner.presence.enter().await?;
        let new = NewTurn {
            runner: present.name.clone(),
            entry: status_entry(TaskState::Working, Some(message.clone())),
            max_waiting: MAX_WAITING,
        };
        let turn = self.turn(id, &head.context_id, message, metadata);
        let work = self.work(&scope, turn, present);
        let taken = self.runner.whole(Box::pin(take(self.runner.clone(), head, new, work)));
        let (task, received, ended) = taken.await?;
        Ok(self.subscribed(scope, task, received, ended))
    }

    /// Refuses a message for a task that has ended, or of another conversation.
    fn check_open(&self, head: &TaskHead, message: &Message) -> Result<(), Refusal> {
        if head.status.state.is_terminal() {
            return Err(ended(head));
        }
        let is_other =
            message.context_id.as_ref().is_some_and(|context| *context != head.context_id);
        if is_other && self.version == Version::V1_0 {
            return Err(Refusal::invalid(
                "`contextId` is not the one of the task: leave it out, or send the task's own",
            ));
        }
        Ok(())
    }

    /// A message of this caller as the first turn for the agent.
    fn turn(
        &self,
        task_id: &str,
        context_id: &str,
        message: Message,
        metadata: Option<JsonObject>,
    ) -> TaskTurn {
        TaskTurn {
            task_id: task_id.to_owned(),
            context_id: context_id.to_owned(),
            number: 1,
            message,
            metadata,
            task: None,
            caller: self.caller.clone(),
            extensions: self.extensions.clone(),
            trace_parent: self.trace_parent,
        }
    }

    /// A turn for the runner.
    fn work(&self, scope: &TaskScope, turn: TaskTurn, present: Present) -> Work {
        Work {
            worker: self.agent.worker.clone(),
            scope: scope.clone(),
            turn,
            begun: Ok(()),
            position: 1,
            unstored: None,
            present,
        }
    }

    /// The task with a message, and a reader of what follows.
    fn subscribed(
        &self,
        scope: TaskScope,
        task: Task,
        received: Received,
        ended: Option<Vec<TaskEvent>>,
    ) -> Sent {
        let Received { position, turn, .. } = received;
        let (id, context) = (&task.id, &task.context_id);
        let follower =
            Follower::new(&self.runner.storage, scope, id, context, position, self.stop_at());
        let mut follower = follower.of_turn(turn);
        if let Some(events) = ended {
            follower = follower.of_ended_turn(events);
        }
        Sent::Task(Box::new(Subscribed { task, position, follower }))
    }

    /// Waits for the end of the turn, unless the client does not want to.
    pub(super) async fn settled(
        &self,
        subscribed: Subscribed,
        configuration: &SendConfiguration,
    ) -> Result<Task, Refusal> {
        let Subscribed { mut task, follower, .. } = subscribed;
        if configuration.return_immediately != Some(true) {
            follower.stopping_at(StopAt::Interrupted).finish(&mut task).await?;
        }
        trim(&mut task, configuration.history_length);
        Ok(task)
    }

    fn stop_at(&self) -> StopAt {
        match self.version {
            Version::V0_3 => StopAt::Interrupted,
            Version::V1_0 => StopAt::InputRequired,
        }
    }
}

/// Stores a message for a task, and starts its turn if this process becomes the runner. Answers
/// the task with the message, and the events of the turn if it has ended.
async fn take(
    runner: Arc<Runner>,
    head: TaskHead,
    new: NewTurn,
    mut work: Work,
) -> Result<(Task, Received, Option<Vec<TaskEvent>>), Refusal> {
    let (store, scope, id) = (&**runner.store(), work.scope.clone(), head.id.clone());
    let entry = TaskEntry::Status(Box::new(new.entry.clone()));
    let received = store.receive(&scope, &id, new).await.map_err(|error| match error {
        StoreError::Ended(_) => ended(&head),
        StoreError::Full(..) => Refusal::unsupported(format!(
            "{MAX_WAITING} messages wait for this task already; send this one later"
        )),
        error => error.into(),
    })?;
    let before = fold(store, &scope, &id, received.position - 1).await;
    let mut ended = None;
    if received.is_claimed {
        work.turn.number = received.turn;
        work.position = received.position;
        match &before {
            Ok(task) => work.turn.task = Some(task.clone()),
            // The message is stored. Without a runner its turn would never end.
            Err(error) => work.begun = Err(Status::internal(error.to_string())),
        }
        ended = runner.start(work).await;
    }
    let mut task = before?;
    entry.apply(&mut task);
    Ok((task, received, ended))
}

fn complete_ids(message: &mut Message, task: &str, context: &str) {
    message.task_id = Some(task.to_owned());
    message.context_id = Some(context.to_owned());
}

fn status_entry(state: TaskState, received: Option<Message>) -> StatusEntry {
    let status = TaskStatus { state, message: None, timestamp: Some(timestamp::now()) };
    StatusEntry { status, received, metadata: None }
}

fn ended(head: &TaskHead) -> Refusal {
    let state = head.status.state;
    Refusal::unsupported(format!(
        "the task is {state} and takes no more messages; send a new one with its `contextId`"
    ))
}
