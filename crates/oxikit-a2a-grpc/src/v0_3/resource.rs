//! The names of resources: `tasks/{task}` and `tasks/{task}/pushNotificationConfigs/{webhook}`.

use oxikit_wire::a2a::A2aError;

use crate::text::violation;

const TASKS: &str = "tasks/";
const WEBHOOKS: &str = "/pushNotificationConfigs";

/// The name of a task.
pub(super) fn task_name(task: &str) -> String {
    format!("{TASKS}{task}")
}

/// The name of a webhook; that of its task's list if it has no id.
pub(super) fn webhook_name(task: &str, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("{TASKS}{task}{WEBHOOKS}/{id}"),
        None => format!("{TASKS}{task}{WEBHOOKS}"),
    }
}

/// The task that a name begins with, and the webhook if it names one.
pub(super) fn ids_of(name: &str) -> Option<(String, Option<String>)> {
    let rest = name.strip_prefix(TASKS)?;
    let (task, webhook) = match rest.split_once(WEBHOOKS) {
        Some((task, "" | "/")) => (task, None),
        Some((task, webhook)) => (task, Some(webhook.strip_prefix('/')?.to_owned())),
        None => (rest, None),
    };
    (!task.is_empty()).then(|| (task.to_owned(), webhook))
}

/// The task of a name in this field.
pub(super) fn task_of(name: &str, field: &str) -> Result<String, A2aError> {
    match ids_of(name) {
        Some((task, None)) => Ok(task),
        _ => Err(violation(field, "must be tasks/{id}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (task, id) in [("t", None), ("t-1", Some("c")), ("t", Some("a/b"))] {
            let name = webhook_name(task, id);
            assert_eq!(ids_of(&name), Some((task.to_owned(), id.map(str::to_owned))), "{name}");
        }
        assert_eq!(task_of(&task_name("t"), "name").unwrap(), "t");
        for wrong in ["", "t", "tasks/", "tasks", "tasks//pushNotificationConfigs/c"] {
            assert_eq!(ids_of(wrong), None, "{wrong}");
        }
        assert!(task_of("tasks/t/pushNotificationConfigs/c", "name").is_err());
    }
}
