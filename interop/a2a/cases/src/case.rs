//! The cases.

use anyhow::{Context, Result, bail, ensure};
use futures_util::{StreamExt, TryStreamExt};

use crate::{Agent, Card, Column, Connect, Event, Events, Failure, Hook, Kind, Sending};

const TASK_NOT_FOUND: i64 = -32001;
const TASK_NOT_CANCELABLE: i64 = -32002;

pub(crate) const CASES: [&str; 17] = [
    "card",
    "send",
    "send without waiting",
    "stream",
    "message",
    "ask and answer",
    "ask in a stream",
    "fail",
    "cancel",
    "resubscribe",
    "push",
    "push for a running task",
    "unknown task",
    "unknown task in a stream",
    "cancel too late",
    "auth refused",
    "auth accepted",
];

/// A client with the column that it is tried for.
pub(crate) struct Suite<'a> {
    pub(crate) connect: &'a dyn Connect,
    pub(crate) column: &'a Column,
}

impl Suite<'_> {
    pub(crate) async fn run(&self, case: &str) -> Result<()> {
        match case {
            "message" => message(&*self.connect.connect("reply", false).await?).await,
            "auth refused" => auth_refused(&*self.connect.connect("locked", false).await?).await,
            "auth accepted" => auth_accepted(&*self.connect.connect("locked", true).await?).await,
            _ => self.script(case, &*self.connect.connect("script", false).await?).await,
        }
    }

    async fn script(&self, case: &str, agent: &dyn Agent) -> Result<()> {
        match case {
            "card" => card(agent),
            "send" => send(agent).await,
            "send without waiting" => send_without_waiting(agent).await,
            "stream" => stream(agent).await,
            "ask and answer" => ask_and_answer(agent).await,
            "ask in a stream" => ask_in_a_stream(agent).await,
            "fail" => fail(agent).await,
            "cancel" => cancel(agent).await,
            "resubscribe" => resubscribe(agent).await,
            "push" => self.push(agent).await,
            "push for a running task" => self.push_for_a_running_task(agent).await,
            "unknown task" => unknown_task(agent).await,
            "unknown task in a stream" => {
                refused(read(agent.subscribe("nobody").await).await, TASK_NOT_FOUND)
            }
            "cancel too late" => cancel_too_late(agent).await,
            _ => bail!("there is no such case"),
        }
    }

    async fn push(&self, agent: &dyn Agent) -> Result<()> {
        let hook = Hook::new(&self.column.receiver);
        agent.send(Sending { hook: Some(&hook), ..text("chunks") }).await?;
        let told = [
            "task submitted",
            "artifact  one",
            "artifact  two",
            "artifact  three",
            "status completed",
        ];
        hook.check(self.column.notifier, &told).await
    }

    async fn push_for_a_running_task(&self, agent: &dyn Agent) -> Result<()> {
        let task = held(agent).await?;
        let hook = Hook::new(&self.column.receiver);
        same(agent.notify(&task, &hook).await?.as_str(), &hook.url)?;
        agent.send(text(&format!("release {task}"))).await?;
        hook.check(self.column.notifier, &["artifact  released", "status completed"]).await
    }
}

fn text(text: &str) -> Sending<'_> {
    Sending { text, ..Sending::default() }
}

fn same<T: PartialEq + std::fmt::Debug>(actual: T, expected: T) -> Result<()> {
    ensure!(actual == expected, "expected {expected:?}, got {actual:?}");
    Ok(())
}

/// The state of an event with the text of its artifacts.
fn outcome(event: &Event) -> (&str, &str) {
    (&event.state, &event.result)
}

fn is_running(task: &Event) -> Result<()> {
    ensure!(["submitted", "working"].contains(&&*task.state), "the task is {}", task.state);
    Ok(())
}

/// Reads a stream to its end.
async fn read(stream: Result<Events, Failure>) -> Result<Vec<Event>, Failure> {
    stream?.try_collect().await
}

fn refused<T: std::fmt::Debug>(answer: Result<T, Failure>, code: i64) -> Result<()> {
    match answer {
        Ok(answer) => bail!("the call did not fail, it answered {answer:?}"),
        Err(failure) if failure.code == Some(code) => Ok(()),
        Err(failure) => bail!("expected {code}: {failure:?}"),
    }
}

async fn next(stream: &mut Events) -> Result<Event> {
    Ok(stream.next().await.context("the stream has ended")??)
}

/// A task that works until it is released or canceled. The stream that began it is left.
async fn held(agent: &dyn Agent) -> Result<String> {
    let mut stream = agent.stream("hold").await?;
    let task = next(&mut stream).await?;
    same(task.kind, Kind::Task)?;
    is_running(&task)?;
    Ok(task.id)
}

fn card(agent: &dyn Agent) -> Result<()> {
    let expected = Card {
        name: "Script".to_owned(),
        description: "Does what a message says.".to_owned(),
        is_streaming: true,
        skills: 1,
    };
    same(agent.card(), expected)
}

async fn send(agent: &dyn Agent) -> Result<()> {
    let task = agent.send(text("hello")).await?;
    same(outcome(&task), ("completed", "hello"))?;
    same(agent.get(&task.id).await?, task)
}

async fn send_without_waiting(agent: &dyn Agent) -> Result<()> {
    let task = agent.send(Sending { is_immediate: true, ..text("hold") }).await?;
    is_running(&task)?;
    agent.cancel(&task.id).await?;
    Ok(())
}

async fn stream(agent: &dyn Agent) -> Result<()> {
    let events = read(agent.stream("chunks").await).await?;
    let [first, chunks @ .., last] = &events[..] else { bail!("too few events: {events:?}") };
    same(first.kind, Kind::Task)?;
    same((last.kind, &*last.state), (Kind::Status, "completed"))?;
    let chunks = chunks.iter().filter(|it| it.kind == Kind::Artifact);
    let chunks: Vec<_> = chunks.map(|it| (&*it.result, it.append, it.last)).collect();
    same(chunks, vec![("one ", false, false), ("two ", true, false), ("three", true, true)])
}

async fn message(agent: &dyn Agent) -> Result<()> {
    let said = |text: &str| Event { said: text.to_owned(), ..Event::new(Kind::Message) };
    same(agent.send(text("hello")).await?, said("re: hello"))?;
    same(read(agent.stream("you").await).await?, vec![said("re: you")])
}

async fn ask_and_answer(agent: &dyn Agent) -> Result<()> {
    let asked = agent.send(text("ask")).await?;
    same((&*asked.state, &*asked.said), ("input-required", "which city?"))?;
    let answered = agent.send(Sending { task: Some(&asked.id), ..text("Paris") }).await?;
    same(&answered.id, &asked.id)?;
    same(outcome(&answered), ("completed", "answer: Paris"))
}

async fn ask_in_a_stream(agent: &dyn Agent) -> Result<()> {
    let events = read(agent.stream("ask").await).await?;
    let last = events.last().context("there are no events")?;
    same((last.kind, &*last.state, &*last.said), (Kind::Status, "input-required", "which city?"))
}

async fn fail(agent: &dyn Agent) -> Result<()> {
    let task = agent.send(text("fail")).await?;
    same((&*task.state, &*task.said), ("failed", "no such city"))
}

async fn cancel(agent: &dyn Agent) -> Result<()> {
    let task = held(agent).await?;
    same(&*agent.cancel(&task).await?.state, "canceled")?;
    same(&*agent.get(&task).await?.state, "canceled")
}

async fn resubscribe(agent: &dyn Agent) -> Result<()> {
    let task = held(agent).await?;
    let mut stream = agent.subscribe(&task).await?;
    let first = next(&mut stream).await?;
    same((first.kind, &first.id), (Kind::Task, &task))?;
    agent.send(text(&format!("release {task}"))).await?;
    let events: Vec<_> = stream.try_collect().await?;
    let kinds = events.iter().filter(|it| it.state != "working").map(|it| it.kind);
    same(kinds.collect(), vec![Kind::Artifact, Kind::Status])?;
    same(events.last().map(|it| &*it.state), Some("completed"))?;
    same(&*agent.get(&task).await?.result, "released")
}

async fn unknown_task(agent: &dyn Agent) -> Result<()> {
    refused(agent.get("nobody").await, TASK_NOT_FOUND)?;
    refused(agent.cancel("nobody").await, TASK_NOT_FOUND)?;
    let sending = Sending { task: Some("nobody"), ..text("hello") };
    refused(agent.send(sending).await, TASK_NOT_FOUND)
}

async fn cancel_too_late(agent: &dyn Agent) -> Result<()> {
    let task = agent.send(text("hello")).await?;
    refused(agent.cancel(&task.id).await, TASK_NOT_CANCELABLE)
}

async fn auth_refused(agent: &dyn Agent) -> Result<()> {
    // The card can be read without a key.
    same(&*agent.card().name, "locked")?;
    let sent = agent.send(text("hello")).await.map(|it| vec![it]);
    for answer in [sent, read(agent.stream("hello").await).await] {
        match answer {
            Ok(answer) => bail!("the call did not fail, it answered {answer:?}"),
            Err(failure) => ensure!(failure.is_unauthenticated, "expected 401: {failure:?}"),
        }
    }
    Ok(())
}

async fn auth_accepted(agent: &dyn Agent) -> Result<()> {
    same(&*agent.send(text("hello")).await?.result, "hello")?;
    let events = read(agent.stream("chunks").await).await?;
    same(events.last().map(|it| &*it.state), Some("completed"))
}
