//! The services and methods, and their paths.

use oxikit_wire::a2a::{Operation, Version};

/// The name of the service of a version.
///
/// ```
/// use oxikit_a2a_grpc::service;
/// use oxikit_wire::a2a::Version;
///
/// assert_eq!(service(Version::V0_3), "a2a.v1.A2AService");
/// ```
pub fn service(version: Version) -> &'static str {
    match version {
        Version::V0_3 => "a2a.v1.A2AService",
        Version::V1_0 => "lf.a2a.v1.A2AService",
    }
}

/// The operation of a method of the service of this version.
///
/// ```
/// use oxikit_a2a_grpc::operation;
/// use oxikit_wire::a2a::{Operation, Version};
///
/// assert_eq!(operation("TaskSubscription", Version::V0_3), Some(Operation::SubscribeToTask));
/// assert_eq!(operation("TaskSubscription", Version::V1_0), None);
/// ```
pub fn operation(method: &str, version: Version) -> Option<Operation> {
    Operation::ALL.into_iter().find(|it| method_name(*it, version) == Some(method))
}

/// The path of a request for this operation; `None` if the version does not have it.
///
/// ```
/// use oxikit_a2a_grpc::path;
/// use oxikit_wire::a2a::{Operation, Version};
///
/// let path = path(Operation::GetTask, Version::V1_0);
/// assert_eq!(path.as_deref(), Some("/lf.a2a.v1.A2AService/GetTask"));
/// ```
pub fn path(operation: Operation, version: Version) -> Option<String> {
    let method = method_name(operation, version)?;
    Some(format!("/{}/{method}", service(version)))
}

/// The methods of version 1.0 have the names of its JSON-RPC binding, and most of those of 0.3 too.
fn method_name(operation: Operation, version: Version) -> Option<&'static str> {
    match (version, operation) {
        (Version::V0_3, Operation::ListTasks) => None,
        (Version::V0_3, Operation::SubscribeToTask) => Some("TaskSubscription"),
        (Version::V0_3, Operation::ListPushConfigs) => Some("ListTaskPushNotificationConfig"),
        (Version::V0_3, Operation::GetExtendedCard) => Some("GetAgentCard"),
        _ => operation.method(Version::V1_0),
    }
}
