//! Names of the JSON-RPC methods. No name is used by both versions, so that the method tells the
//! version of a request.

/// Sends a message and waits for the answer.
pub const SEND_MESSAGE: &str = "SendMessage";
/// Sends a message; the answer is a stream of events.
pub const SEND_STREAMING_MESSAGE: &str = "SendStreamingMessage";
/// Reads a task.
pub const GET_TASK: &str = "GetTask";
/// Lists tasks.
pub const LIST_TASKS: &str = "ListTasks";
/// Cancels a task.
pub const CANCEL_TASK: &str = "CancelTask";
/// Follows the events of a task.
pub const SUBSCRIBE_TO_TASK: &str = "SubscribeToTask";
/// Registers a webhook.
pub const CREATE_PUSH_CONFIG: &str = "CreateTaskPushNotificationConfig";
/// Reads a webhook's registration.
pub const GET_PUSH_CONFIG: &str = "GetTaskPushNotificationConfig";
/// Lists the webhooks of a task.
pub const LIST_PUSH_CONFIGS: &str = "ListTaskPushNotificationConfigs";
/// Removes a webhook.
pub const DELETE_PUSH_CONFIG: &str = "DeleteTaskPushNotificationConfig";
/// Reads the card for authenticated callers.
pub const GET_EXTENDED_CARD: &str = "GetExtendedAgentCard";

/// The same methods in version 0.3, which has no list.
pub mod v0_3 {
    /// Sends a message and waits for the answer.
    pub const SEND_MESSAGE: &str = "message/send";
    /// Sends a message; the answer is a stream of events.
    pub const SEND_STREAMING_MESSAGE: &str = "message/stream";
    /// Reads a task.
    pub const GET_TASK: &str = "tasks/get";
    /// Cancels a task.
    pub const CANCEL_TASK: &str = "tasks/cancel";
    /// Follows the events of a task.
    pub const SUBSCRIBE_TO_TASK: &str = "tasks/resubscribe";
    /// Registers a webhook.
    pub const CREATE_PUSH_CONFIG: &str = "tasks/pushNotificationConfig/set";
    /// Reads a webhook's registration.
    pub const GET_PUSH_CONFIG: &str = "tasks/pushNotificationConfig/get";
    /// Lists the webhooks of a task.
    pub const LIST_PUSH_CONFIGS: &str = "tasks/pushNotificationConfig/list";
    /// Removes a webhook.
    pub const DELETE_PUSH_CONFIG: &str = "tasks/pushNotificationConfig/delete";
    /// Reads the card for authenticated callers.
    pub const GET_EXTENDED_CARD: &str = "agent/getAuthenticatedExtendedCard";
}
