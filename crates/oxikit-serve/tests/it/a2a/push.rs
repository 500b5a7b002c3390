//! Push notifications, with real receivers on loopback.

mod bodies;
mod configs;
mod delivery;
mod receiver;
mod recorded;
mod refused_urls;
mod servers;

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::Registry;
use oxikit_core::ports::TaskStore;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_serve::a2a::{OutgoingPolicy, PushNotifications};
use oxikit_sql::SqliteStore;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::kit::{App, app_with, serve};

/// Notifications to this machine. Failed ones are repeated almost at once.
pub(super) fn push() -> PushNotifications {
    let policy = OutgoingPolicy::default().allow_loopback();
    PushNotifications::with_policy(policy).unwrap().first_retry(Duration::from_millis(2))
}

async fn app_with_push() -> App {
    app_with(|server| server.push_notifications(push())).await
}

/// One of several servers with this store.
async fn server_of(store: &Arc<dyn TaskStore>) -> App {
    serve(store.clone(), &Registry::default(), |server| server.push_notifications(push())).await
}

/// A store in memory, and one in a file that lives as long as its folder.
fn stores() -> [(Arc<dyn TaskStore>, Option<TempDir>); 2] {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Arc::new(SqliteStore::open(folder.path().join("app.db")).unwrap());
    [(Arc::new(MemoryTasks::default()), None), (sqlite, Some(folder))]
}

/// Parameters of version 1.0 that send a message and register a webhook.
fn send_with(message: Value, config: Value) -> Value {
    json!({ "message": message, "configuration": { "taskPushNotificationConfig": config } })
}

/// The same in version 0.3.
fn send_with_v0_3(message: Value, config: Value) -> Value {
    json!({ "message": message, "configuration": { "pushNotificationConfig": config } })
}
