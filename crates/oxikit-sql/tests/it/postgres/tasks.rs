//! Tasks.

use std::sync::Arc;

use oxikit_core::ports::contract::{self, TASK_STORE};
use oxikit_core::ports::{LocalNotifier, Notifier, TaskStore, Topic};
use oxikit_sql::{PostgresOptions, PostgresStore};

use super::server::{schema, store, store_in, url};
use crate::tasks::{
    a_reader_hears_of_events_of_another_process, a_task_of_500_bytes_can_still_end, new,
    two_processes_end_a_task_once,
};

#[tokio::test(flavor = "multi_thread")]
async fn tasks_keep_the_contract() {
    let Some(url) = url() else { return };
    let store = Arc::new(store(&url).await);
    contract::each("postgres", TASK_STORE, async || store.clone() as _).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_like_the_model() {
    let Some(url) = url() else { return };
    contract::task_store_model(Arc::new(store(&url).await), 10..16).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_share_their_tasks() {
    let Some(url) = url() else { return };
    let schema = schema();
    let one = Arc::new(store_in(&url, &schema).await);
    let other = Arc::new(store_in(&url, &schema).await);
    two_processes_end_a_task_once([one.clone(), other.clone()]).await;
    a_reader_hears_of_events_of_another_process([one, other]).await;
}

/// With a notifier that reaches only its own process, others find changes by looking.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_with_another_notifier_keeps_the_contract_of_tasks() {
    let Some(url) = url() else { return };
    let schema = schema();
    let notifier = Arc::new(LocalNotifier::default());
    let connect = async |notifier| {
        let options = PostgresOptions::default().with_schema(&schema).with_notifier(notifier);
        Arc::new(PostgresStore::connect_with(&url, options).await.unwrap())
    };
    let one = connect(notifier.clone()).await;
    let other = connect(Arc::new(LocalNotifier::default())).await;
    contract::task_store(one.clone()).await;
    a_reader_hears_of_events_of_another_process([one.clone(), other]).await;
    let mut subscription = notifier.subscribe(Topic::of(&["task", "task"]));
    TaskStore::create(&*one, new("task")).await.unwrap();
    subscription.next().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_limited_in_bytes() {
    let Some(url) = url() else { return };
    let mut options = PostgresOptions::default().with_schema(schema());
    options.max_task_bytes = 500;
    let store = PostgresStore::connect_with(&url, options).await.unwrap();
    a_task_of_500_bytes_can_still_end(Arc::new(store)).await;
}
