//! Steps of a task: a new one, and the events that follow.

use oxikit_core::ports::task_progress::TaskProgress;
use oxikit_core::ports::{NewTask, StoreError};

use super::{failure, push_topic, pushes, rows, task_topic};
use crate::known::scope_text;
use crate::tasks::{self, Change, column_number, encode, encode_all, phase, state_number};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::Txn;

/// A task to be made.
pub(super) struct NewRow {
    id: String,
    scope: String,
    context: String,
    metadata: Option<String>,
    progress: TaskProgress,
    texts: Vec<String>,
    changed_at: Option<i64>,
    /// The id of a webhook, and its JSON.
    push: Option<(String, String)>,
}

impl NewRow {
    pub(super) fn of(task: NewTask, max_bytes: usize) -> Result<Self, StoreError> {
        let NewTask { scope, id, context_id, metadata, runner, entries, push } = task;
        let texts = encode_all(&id, &entries)?;
        let bytes = tasks::total_bytes(&texts);
        let progress = TaskProgress::begin(runner, &entries, bytes, max_bytes as u64);
        let push = push.map(|push| Ok((push.id.clone(), encode(&id, &push)?))).transpose()?;
        Ok(Self {
            scope: scope_text(&scope),
            context: context_id,
            metadata: metadata.map(|metadata| encode(&id, &metadata)).transpose()?,
            progress: progress.map_err(|refusal| refusal.about(&id))?,
            texts,
            changed_at: tasks::status_time(&entries),
            push,
            id,
        })
    }

    pub(super) fn position(&self) -> u64 {
        self.progress.position
    }

    pub(super) fn insert(&self, txn: &Txn<'_>) -> Outcome<()> {
        let (number, progress) = (txn.next()?, &self.progress);
        let mut insert = txn.sql(
            "INSERT INTO tasks (number, id, scope, context, state, phase, status_at, position,
                 bytes, turns, turn, runner, changed, changed_at, written_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?1, ?13, ?14)
             ON CONFLICT DO NOTHING",
        )?;
        let inserted = insert.execute((
            number,
            &self.id,
            &self.scope,
            &self.context,
            state_number(progress.state),
            phase(progress),
            column_number(progress.status_at),
            column_number(progress.position),
            column_number(progress.bytes),
            column_number(progress.turns),
            column_number(progress.turn),
            &progress.runner,
            self.changed_at.unwrap_or_default(),
            now_ms(),
        ))?;
        if inserted == 0 {
            return Err(Failure::Exists);
        }
        if let Some(metadata) = &self.metadata {
            txn.sql("INSERT INTO task_metadata (task, json) VALUES (?1, ?2)")?
                .execute((number, metadata))?;
        }
        rows::insert_events(txn, number, 0, progress.turn, &self.texts)?;
        if let Some((target, json)) = &self.push {
            pushes::insert(txn, number, target, json, 0)?;
            txn.publish(push_topic());
        }
        txn.publish(task_topic(&self.id));
        Ok(())
    }
}

/// Makes a step of a task.
pub(super) fn change<A>(
    txn: &Txn<'_>,
    id: &str,
    scope: Option<&str>,
    change: &Change<A>,
    max_bytes: usize,
) -> Outcome<A> {
    let (number, before) = rows::progress(txn.connection(), id, scope)?;
    let mut progress = before.clone();
    let applied = change.apply(&mut progress, max_bytes).map_err(failure)?;
    if !applied.is_new {
        return Ok(applied.answer);
    }
    rows::insert_events(txn, number, before.position, applied.turn, &change.texts)?;
    rows::update(txn, number, &before, &progress, change.changed_at)?;
    if progress.position > before.position && pushes::set_pending(txn, number)? {
        txn.publish(push_topic());
    }
    txn.publish(task_topic(id));
    Ok(applied.answer)
}
