//! Tasks in PostgreSQL.
//!
//! A step reads the progress of the task, lets it go on by the rules that all stores share, and
//! writes the new progress and the new events in one statement, if the task's version is still
//! the one that was read. Otherwise it begins again.

mod changes;
mod list;
mod prune;
mod pushes;
mod read;

use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::ports::{
    Appended, DuePush, NewTask, NewTurn, PushTarget, Received, StoreError, TaskHead, TaskList,
    TaskPage, TaskQuery, TaskRetention, TaskScope, TaskStore, TaskWrite,
};
use oxikit_wire::a2a::TaskStatus;
use sqlx::Row;

use super::PostgresStore;
use super::database::failure;
use super::text::{column, original};
use super::watched::Key;
use crate::known::scope_text;
use crate::tasks::{self, column_number};

pub(super) use pushes::HAS_DUE;

/// How each task of these ids is now; -1 if it is gone.
pub(super) const VERSIONS: &str = "
    SELECT wanted.id, coalesce(position * 2 + (phase = 2)::int, -1)
    FROM unnest($1::text[]) AS wanted (id) LEFT JOIN tasks USING (id)";

#[async_trait]
impl TaskStore for PostgresStore {
    async fn create(&self, task: NewTask) -> Result<u64, StoreError> {
        self.create_task(task).await
    }

    async fn append(&self, id: &str, write: TaskWrite) -> Result<Appended, StoreError> {
        self.change_task(id, None, tasks::append(id, write)?).await
    }

    async fn receive(
        &self,
        scope: &TaskScope,
        id: &str,
        received: NewTurn,
    ) -> Result<Received, StoreError> {
        self.change_task(id, Some(scope), tasks::receive(id, received)?).await
    }

    async fn end(
        &self,
        scope: &TaskScope,
        id: &str,
        status: TaskStatus,
    ) -> Result<u64, StoreError> {
        self.change_task(id, Some(scope), tasks::end(id, None, status)?).await
    }

    async fn expire(&self, id: &str, runner: &str, status: TaskStatus) -> Result<u64, StoreError> {
        self.change_task(id, None, tasks::end(id, Some(runner), status)?).await
    }

    async fn head(&self, scope: &TaskScope, id: &str) -> Result<TaskHead, StoreError> {
        Ok(self.read_task(scope, id, 0, 0).await?.head)
    }

    async fn read(
        &self,
        scope: &TaskScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<TaskPage, StoreError> {
        self.read_task(scope, id, position, limit).await
    }

    async fn wait(&self, scope: &TaskScope, id: &str, position: u64) -> Result<(), StoreError> {
        let mut watching = self.0.watched.watch(task_key(id));
        let look =
            sqlx::query("SELECT position, phase = 2 FROM tasks WHERE id = $1 AND scope = $2");
        let row = self.0.database.optional(look.bind(column(id)).bind(scope_text(scope))).await?;
        let row = row.ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let current: i64 = row.try_get(0).map_err(failure)?;
        let has_ended: bool = row.try_get(1).map_err(failure)?;
        if current <= column_number(position) && !has_ended {
            watching.saw(current * 2);
            watching.changed().await;
        }
        Ok(())
    }

    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> Result<TaskList, StoreError> {
        self.list_tasks(scope, query).await
    }

    async fn put_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: PushTarget,
    ) -> Result<(), StoreError> {
        self.put_target(scope, id, &target).await
    }

    async fn push_targets(
        &self,
        scope: &TaskScope,
        id: &str,
    ) -> Result<Vec<PushTarget>, StoreError> {
        self.targets(scope, id).await
    }

    async fn remove_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        self.remove_target(scope, id, target).await
    }

    async fn claim_pushes(&self, runner: &str, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        self.claim(runner, limit).await
    }

    async fn release_push(
        &self,
        runner: &str,
        push: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> Result<(), StoreError> {
        self.release(runner, push, position, attempts, pause).await
    }

    async fn push_wait(&self) -> Result<(), StoreError> {
        let mut watching = self.0.watched.watch(Key::Pushes);
        let rows = self.0.database.all(sqlx::query(HAS_DUE)).await?;
        let has_due = rows.first().map(|row| row.try_get(0)).transpose().map_err(failure)?;
        if has_due != Some(true) {
            watching.saw(0);
            watching.changed().await;
        }
        Ok(())
    }

    async fn renew(&self, runner: &str) -> Result<(), StoreError> {
        // No number is given out twice, so that a forgotten runner that comes back is a new one.
        let renew = sqlx::query(
            "INSERT INTO task_runners (runner, number) VALUES ($1, nextval('writes'))
             ON CONFLICT (runner) DO UPDATE SET number = excluded.number",
        );
        self.0.database.execute(renew.bind(column(runner))).await.map(drop)
    }

    async fn runners(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows = self.0.database.all(sqlx::query("SELECT runner, number FROM task_runners"));
        let runner = |row: &sqlx::postgres::PgRow| {
            let number: i64 = row.try_get(1)?;
            Ok((original(row.try_get(0)?), number.unsigned_abs()))
        };
        rows.await?.iter().map(runner).collect::<Result<_, _>>().map_err(failure)
    }

    async fn tasks_of(&self, runner: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let select = sqlx::query("SELECT id FROM tasks WHERE runner = $1 LIMIT $2");
        let select = select.bind(column(runner)).bind(column_number(limit as u64));
        let rows = self.0.database.all(select).await?;
        let ids = rows.iter().map(|row| row.try_get(0).map(original));
        ids.collect::<Result<_, _>>().map_err(failure)
    }

    async fn forget(&self, runner: &str) -> Result<(), StoreError> {
        let forget = sqlx::query(
            "WITH gone AS (DELETE FROM task_runners WHERE runner = $1)
             UPDATE task_pushes SET claimed_by = NULL WHERE claimed_by = $1",
        );
        if self.0.database.execute(forget.bind(column(runner))).await? > 0 {
            self.publish(&Key::Pushes);
        }
        Ok(())
    }

    async fn prune(&self, retention: &TaskRetention) -> Result<u64, StoreError> {
        self.prune_tasks(retention).await
    }
}

fn task_key(id: &str) -> Key {
    Key::Task(column(id).into_owned())
}
