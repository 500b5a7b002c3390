//! The contract tests of task stores.

mod claims;
mod ends;
mod lists;
mod log;
pub(super) mod model;
mod pushes;
mod readers;
mod retention;
mod runners;
mod scopes;
mod turns;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use oxikit_wire::a2a::{Artifact, Message, Part, Role, TaskState, TaskStatus};

use super::{Case, cases, failed, kept};
use crate::ports::{
    Appended, ArtifactEntry, NewTask, NewTurn, Owner, Received, StatusEntry, StoreError, TaskEntry,
    TaskHead, TaskScope, TaskStore, TaskWrite,
};

/// The promises of a [`TaskStore`].
pub const TASK_STORE: &[Case<dyn TaskStore>] = cases![
    log::a_task_is_read_from_any_position,
    log::pages_are_limited_in_bytes,
    log::entries_are_kept_whole,
    log::a_head_is_that_of_the_last_event,
    log::an_id_is_used_once,
    log::entries_that_make_no_sense_are_refused,
    writes::a_write_may_be_made_again,
    writes::a_write_is_recognised_after_the_runner_has_left,
    writes::writes_follow_each_other,
    writes::an_unknown_task_is_not_found,
    ends::the_first_terminal_state_wins,
    ends::a_terminal_state_releases_the_task,
    ends::the_first_terminal_state_wins_among_concurrent_writers,
    turns::messages_are_turns_in_the_order_of_arrival,
    turns::turns_that_wait_are_limited,
    turns::a_runner_leaves_unless_a_turn_waits,
    turns::a_released_task_goes_to_the_runner_of_the_next_message,
    turns::concurrent_messages_get_different_turns,
    runners::renewals_have_growing_numbers,
    runners::a_runner_has_its_tasks_until_they_are_released,
    runners::only_the_tasks_of_a_dead_runner_expire,
    scopes::a_task_of_another_scope_is_not_there,
    lists::the_last_change_of_a_status_is_first,
    lists::pages_have_each_task_once,
    lists::lists_are_filtered,
    lists::a_foreign_cursor_is_refused,
    pushes::webhooks_are_registered_and_replaced,
    pushes::webhooks_are_limited,
    pushes::a_webhook_hears_of_events_after_its_registration,
    pushes::a_webhook_that_is_new_with_its_task_hears_of_all_events,
    claims::a_webhook_is_claimed_by_one_runner,
    claims::a_released_webhook_goes_on_behind_what_is_delivered,
    claims::a_failed_attempt_is_repeated_after_its_pause,
    claims::a_forgotten_runner_loses_its_claims,
    claims::a_webhook_that_was_replaced_is_not_released_by_its_former_claim,
    claims::the_webhook_that_is_due_longest_is_first,
    claims::concurrent_claims_are_disjoint,
    claims::whoever_waits_for_due_webhooks_is_woken,
    retention::ended_tasks_are_pruned_by_age_and_number,
    retention::waiting_tasks_are_pruned_by_age,
    retention::tasks_in_use_are_kept,
    readers::waiting_ends_with_an_event_or_the_end,
    readers::readers_see_the_same_log_while_it_grows,
    readers::a_reader_of_a_pruned_task_is_told,
    model::random_work_is_like_the_model,
    model::concurrent_random_work_keeps_the_rules,
];

type Store = Arc<dyn TaskStore>;

/// The timeout of what has to come to an end.
const LONG: Duration = Duration::from_secs(10);

/// Where most tasks of these tests are.
fn own() -> TaskScope {
    TaskScope::new(Owner::nobody(), "contract")
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus::new(state)
}

fn user_message(text: &str) -> Message {
    Message::new(format!("message-{text}"), Role::User, vec![Part::text(text)])
}

fn entry(state: TaskState) -> TaskEntry {
    let entry = StatusEntry { status: status(state), received: None, metadata: None };
    TaskEntry::Status(Box::new(entry))
}

/// The entry of a client's message.
fn received(text: &str) -> StatusEntry {
    let received = Some(user_message(text));
    StatusEntry { status: status(TaskState::Submitted), received, metadata: None }
}

/// A chunk of the artifact `text`.
fn chunk(text: &str) -> TaskEntry {
    let artifact = Artifact::new("text", vec![Part::text(text)]);
    TaskEntry::Artifact(Box::new(ArtifactEntry {
        artifact,
        append: true,
        last_chunk: false,
        metadata: None,
    }))
}

/// A task of the runner `runner-1` with one event.
fn task(id: &str) -> NewTask {
    NewTask {
        scope: own(),
        id: id.to_owned(),
        context_id: "context".to_owned(),
        metadata: None,
        runner: "runner-1".into(),
        entries: vec![Arc::new(TaskEntry::Status(Box::new(received("hello"))))],
        push: None,
    }
}

/// A write of `runner-1` in turn 1.
fn write(number: u64, entries: Vec<TaskEntry>) -> TaskWrite {
    let entries = entries.into_iter().map(Arc::new).collect();
    TaskWrite { runner: "runner-1".into(), number, turn: 1, entries, releases: false }
}

fn next_turn(runner: &str, text: &str) -> NewTurn {
    NewTurn { runner: runner.into(), entry: received(text), max_waiting: 8 }
}

/// Makes the task.
async fn created(store: &Store, id: &str) {
    assert_eq!(kept("create", store.create(task(id)).await), 1);
}

async fn appended(store: &Store, id: &str, write: TaskWrite) -> Appended {
    kept("append", store.append(id, write).await)
}

async fn sent(store: &Store, id: &str, turn: NewTurn) -> Received {
    kept("receive", store.receive(&own(), id, turn).await)
}

async fn head(store: &Store, id: &str) -> TaskHead {
    kept("head", store.head(&own(), id).await)
}

async fn ended(store: &Store, id: &str, state: TaskState) -> u64 {
    kept("end", store.end(&own(), id, status(state)).await)
}

/// Number, turn and a short text of each event after a position.
async fn read(store: &Store, id: &str, position: u64, limit: usize) -> Vec<(u64, u64, String)> {
    let page = kept("read", store.read(&own(), id, position, limit).await);
    let shown = page.events.iter();
    shown.map(|event| (event.sequence, event.turn, shown_entry(&event.entry))).collect()
}

/// The whole log.
async fn log_of(store: &Store, id: &str) -> Vec<(u64, u64, String)> {
    read(store, id, 0, usize::MAX).await
}

/// The state, with the client's message if it is one, or the text of a chunk.
fn shown_entry(entry: &TaskEntry) -> String {
    match entry {
        TaskEntry::Status(entry) => match &entry.received {
            Some(message) => format!("{} {}", entry.status.state, message.text()),
            None => entry.status.state.to_string(),
        },
        TaskEntry::Artifact(entry) => {
            entry.artifact.parts.iter().filter_map(Part::as_text).collect()
        }
    }
}

/// The expected log, as [`read`] shows it.
fn shown(events: &[(u64, u64, &str)]) -> Vec<(u64, u64, String)> {
    events.iter().map(|(sequence, turn, text)| (*sequence, *turn, (*text).to_owned())).collect()
}

#[track_caller]
fn refused<T>(promise: &str, result: Result<T, StoreError>, expected: fn(&StoreError) -> bool) {
    let error = failed(promise, result);
    assert!(expected(&error), "broken promise: {promise}: {error:?}");
}

fn is_ended(error: &StoreError) -> bool {
    matches!(error, StoreError::Ended(_))
}

fn is_fenced(error: &StoreError) -> bool {
    matches!(error, StoreError::Fenced(_))
}

fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::Full(..))
}

fn is_invalid(error: &StoreError) -> bool {
    matches!(error, StoreError::Invalid(_))
}

fn is_not_found(error: &StoreError) -> bool {
    matches!(error, StoreError::NotFound(_))
}

async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(LONG, work).await;
    done.unwrap_or_else(|_| panic!("broken promise: {what} comes to an end"))
}
