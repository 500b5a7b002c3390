//! [`TaskStore`] for SQLite.
//!
//! A task is a short row with its progress and a row per event. A write reads the progress,
//! lets it go on by the rules that all stores share, and stores the new events; an artifact
//! chunk is one insert and one update, however long the task is.

mod changes;
mod list;
mod prune;
mod pushes;
mod rows;
mod runners;

use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::ports::task_progress::Refusal;
use oxikit_core::ports::{
    Appended, DuePush, NewTask, NewTurn, PushTarget, Received, StoreError, TaskHead, TaskList,
    TaskPage, TaskQuery, TaskRetention, TaskScope, TaskStore, TaskWrite, Topic,
};
use oxikit_wire::a2a::TaskStatus;
use rusqlite::Connection;

use super::SqliteStore;
use crate::known::scope_text;
use crate::tasks::{self, Change, column_number};
use oxikit_sqlite::at_once;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::writer::{Durability, Txn};

#[async_trait]
impl TaskStore for SqliteStore {
    async fn create(&self, task: NewTask) -> Result<u64, StoreError> {
        let id = task.id.clone();
        let new = changes::NewRow::of(task, self.options().max_task_bytes)?;
        let position = new.position();
        self.write_task(&id, Durability::Synced, move |txn| new.insert(txn)).await?;
        Ok(position)
    }

    async fn append(&self, id: &str, write: TaskWrite) -> Result<Appended, StoreError> {
        self.change(id, None, tasks::append(id, write)?).await
    }

    async fn receive(
        &self,
        scope: &TaskScope,
        id: &str,
        received: NewTurn,
    ) -> Result<Received, StoreError> {
        self.change(id, Some(scope), tasks::receive(id, received)?).await
    }

    async fn end(
        &self,
        scope: &TaskScope,
        id: &str,
        status: TaskStatus,
    ) -> Result<u64, StoreError> {
        self.change(id, Some(scope), tasks::end(id, None, status)?).await
    }

    async fn expire(&self, id: &str, runner: &str, status: TaskStatus) -> Result<u64, StoreError> {
        self.change(id, None, tasks::end(id, Some(runner), status)?).await
    }

    async fn head(&self, scope: &TaskScope, id: &str) -> Result<TaskHead, StoreError> {
        let (scope, task) = (scope_text(scope), id.to_owned());
        let read = move |connection: &Connection| rows::head(connection, &scope, &task);
        self.read_task(id, read).await?.decode()
    }

    async fn read(
        &self,
        scope: &TaskScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<TaskPage, StoreError> {
        let (scope, task) = (scope_text(scope), id.to_owned());
        let (position, limit) = (column_number(position), column_number(limit as u64));
        let read = move |connection: &Connection| {
            at_once(connection, || {
                let head = rows::head(connection, &scope, &task)?;
                Ok((head, rows::events(connection, &task, position, limit)?))
            })
        };
        let (head, events) = self.read_task(id, read).await?;
        let events = events.into_iter().map(|event| event.decode(id));
        Ok(TaskPage { events: events.collect::<Result<_, _>>()?, head: head.decode()? })
    }

    async fn wait(&self, scope: &TaskScope, id: &str, position: u64) -> Result<(), StoreError> {
        let mut subscription = self.subscribe(task_topic(id));
        loop {
            let (scope, task) = (scope_text(scope), id.to_owned());
            let position = column_number(position);
            let look = move |connection: &Connection| {
                rows::is_readable(connection, &scope, &task, position)
            };
            if self.read_task(id, look).await? {
                return Ok(());
            }
            subscription.next().await;
        }
    }

    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> Result<TaskList, StoreError> {
        let search = list::Search::of(scope, query)?;
        let found = self.read_task("a list", move |connection| search.run(connection)).await?;
        found.decode()
    }

    async fn put_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: PushTarget,
    ) -> Result<(), StoreError> {
        let (scope, task) = (scope_text(scope), id.to_owned());
        let json = tasks::encode(id, &target)?;
        self.write_task(id, Durability::Synced, move |txn| {
            let task = rows::own_number(txn.connection(), &scope, &task)?;
            pushes::put(txn, task, &target.id, &json)
        })
        .await
    }

    async fn push_targets(
        &self,
        scope: &TaskScope,
        id: &str,
    ) -> Result<Vec<PushTarget>, StoreError> {
        let (scope, task) = (scope_text(scope), id.to_owned());
        let read = move |connection: &Connection| pushes::targets(connection, &scope, &task);
        let targets = self.read_task(id, read).await?;
        targets.iter().map(|json| tasks::decode(id, json)).collect()
    }

    async fn remove_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        let (scope, task, target) = (scope_text(scope), id.to_owned(), target.to_owned());
        self.write_task(id, Durability::Synced, move |txn| {
            let task = rows::own_number(txn.connection(), &scope, &task)?;
            let mut delete = txn.sql("DELETE FROM task_pushes WHERE task = ?1 AND id = ?2")?;
            Ok(delete.execute((task, &target))? > 0)
        })
        .await
    }

    async fn claim_pushes(&self, runner: &str, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        let (of_runner, limit) = (runner.to_owned(), column_number(limit as u64));
        let claim = move |txn: &Txn<'_>| pushes::claim(txn, &of_runner, limit);
        // A power cut ends the runner too.
        let claimed = self.write_task(runner, Durability::Unsynced, claim).await?;
        claimed.into_iter().map(pushes::ClaimedRow::decode).collect()
    }

    async fn release_push(
        &self,
        runner: &str,
        push: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> Result<(), StoreError> {
        let release = pushes::Release::of(runner, push, position, attempts, pause);
        self.write_task(&push.task, Durability::Synced, move |txn| release.run(txn)).await
    }

    async fn push_wait(&self) -> Result<(), StoreError> {
        let mut subscription = self.subscribe(push_topic());
        if !self.read_task("webhooks", pushes::has_due).await? {
            subscription.next().await;
        }
        Ok(())
    }

    async fn renew(&self, runner: &str) -> Result<(), StoreError> {
        let of_runner = runner.to_owned();
        let renew = move |txn: &Txn<'_>| runners::renew(txn, &of_runner);
        self.write_task(runner, Durability::Unsynced, renew).await
    }

    async fn runners(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.read_task("runners", runners::all).await
    }

    async fn tasks_of(&self, runner: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let (of_runner, limit) = (runner.to_owned(), column_number(limit as u64));
        let read = move |connection: &Connection| runners::tasks_of(connection, &of_runner, limit);
        self.read_task(runner, read).await
    }

    async fn forget(&self, runner: &str) -> Result<(), StoreError> {
        let of_runner = runner.to_owned();
        let forget = move |txn: &Txn<'_>| runners::forget(txn, &of_runner);
        self.write_task(runner, Durability::Synced, forget).await
    }

    async fn prune(&self, retention: &TaskRetention) -> Result<u64, StoreError> {
        let retention = *retention;
        let mut pruned = 0;
        loop {
            let step = move |txn: &Txn<'_>| prune::step(txn, &retention);
            match self.write_task("tasks", Durability::Unsynced, step).await? {
                0 => return Ok(pruned),
                removed => pruned += removed,
            }
        }
    }
}

impl SqliteStore {
    /// Makes a step of a task; of a task in this scope if a client makes it.
    async fn change<A: Send + 'static>(
        &self,
        id: &str,
        scope: Option<&TaskScope>,
        change: Change<A>,
    ) -> Result<A, StoreError> {
        let (scope, task) = (scope.map(scope_text), id.to_owned());
        let max_bytes = self.options().max_task_bytes;
        let write =
            move |txn: &Txn<'_>| changes::change(txn, &task, scope.as_deref(), &change, max_bytes);
        self.write_task(id, Durability::Synced, write).await
    }

    async fn write_task<T, F>(&self, id: &str, sync: Durability, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        self.writer().run(sync, work).await.map_err(|failure| failure.about(id))
    }

    async fn read_task<T, F>(&self, id: &str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.readers().run(work).await.map_err(|failure| failure.about(id))
    }
}

fn task_topic(id: &str) -> Topic {
    Topic::of(&["task", id])
}

fn push_topic() -> Topic {
    Topic::of(&["task-pushes"])
}

fn failure(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Ended => Failure::Ended,
        Refusal::Fenced => Failure::Fenced,
        Refusal::Conflict => Failure::Conflict,
        Refusal::Full(why) => Failure::Full(why),
        Refusal::Invalid(what) => Failure::Invalid(what),
    }
}
