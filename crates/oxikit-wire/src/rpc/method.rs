//! Names of the methods of Reflection V2. Reflection V1 uses some of them as paths below `/api`.

/// Runtime to manager, request: [`RegisterParams`](super::RegisterParams), answered with
/// [`RegisterResult`](super::RegisterResult).
pub const REGISTER: &str = "register";

/// Manager to runtime, notification: [`ConfigureParams`](super::ConfigureParams).
pub const CONFIGURE: &str = "configure";

/// Manager to runtime, request without parameters, answered with
/// [`ListActionsResult`](super::ListActionsResult).
pub const LIST_ACTIONS: &str = "listActions";

/// Manager to runtime, request: [`ListValuesParams`](super::ListValuesParams), answered with
/// [`ListValuesResult`](super::ListValuesResult).
pub const LIST_VALUES: &str = "listValues";

/// Manager to runtime, request: [`RunActionParams`](super::RunActionParams), answered with
/// [`RunActionResult`](super::RunActionResult). Also the path of the same in V1.
pub const RUN_ACTION: &str = "runAction";

/// Runtime to manager, notification: [`RunActionStateParams`](super::RunActionStateParams).
pub const RUN_ACTION_STATE: &str = "runActionState";

/// Runtime to manager, notification: [`ChunkParams`](super::ChunkParams) with a part of the output.
pub const STREAM_CHUNK: &str = "streamChunk";

/// Manager to runtime, notification: [`ChunkParams`](super::ChunkParams) with a part of the input.
pub const SEND_INPUT_STREAM_CHUNK: &str = "sendInputStreamChunk";

/// Manager to runtime, notification: [`EndInputParams`](super::EndInputParams).
pub const END_INPUT_STREAM: &str = "endInputStream";

/// Manager to runtime, request: [`CancelActionParams`](super::CancelActionParams), answered with
/// [`CancelActionResult`](super::CancelActionResult). Also the path of the same in V1.
pub const CANCEL_ACTION: &str = "cancelAction";

/// Manager of oxikit to runtime of oxikit, request:
/// [`ListSessionsParams`](super::ListSessionsParams).
pub const LIST_SESSIONS: &str = "listSessions";

/// Manager of oxikit to runtime of oxikit, request: [`SessionParams`](super::SessionParams).
pub const GET_SESSION: &str = "getSession";

/// Manager of oxikit to runtime of oxikit, request: [`SessionParams`](super::SessionParams).
pub const DELETE_SESSION: &str = "deleteSession";

/// Manager of oxikit to runtime of oxikit, request:
/// [`ForkSessionParams`](super::ForkSessionParams).
pub const FORK_SESSION: &str = "forkSession";
