//! Which operation and version a JSON-RPC request means, by its method and its version header.

use super::{A2aError, ErrorKind, Operation, Version};

/// A method that is refused, with the version of the response.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedMethod {
    /// [`ErrorKind::MethodNotFound`] or [`ErrorKind::VersionNotSupported`].
    pub error: A2aError,
    /// The version in which the client reads the error.
    pub version: Version,
}

impl Operation {
    /// The operation and version of a request with this method and this header
    /// [`A2A_VERSION`](crate::headers::A2A_VERSION).
    ///
    /// The method tells the version; the header may be missing but must not contradict it.
    ///
    /// ```
    /// use oxikit_wire::a2a::{ErrorKind, Operation, Version};
    ///
    /// let found = Operation::dispatch("GetTask", Some("1.0")).unwrap();
    /// assert_eq!(found, (Operation::GetTask, Version::V1_0));
    /// let refused = Operation::dispatch("tasks/get", Some("1.0")).unwrap_err();
    /// assert_eq!(refused.error.kind, ErrorKind::MethodNotFound);
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such method, the header names an unknown version, or both contradict.
    pub fn dispatch(method: &str, header: Option<&str>) -> Result<(Self, Version), RefusedMethod> {
        let asked = Version::from_header(header)
            .map_err(|error| RefusedMethod { error: error.into(), version: Version::V1_0 })?;
        let not_found = |version| RefusedMethod {
            error: A2aError::new(ErrorKind::MethodNotFound).with_detail(method),
            version,
        };
        let Some((operation, version)) = Self::from_method(method) else {
            return Err(not_found(asked.unwrap_or(Version::V0_3)));
        };
        match (asked, version) {
            (Some(Version::V1_0), Version::V0_3) => Err(not_found(Version::V1_0)),
            (Some(Version::V0_3), Version::V1_0) => {
                let detail = format!("the method {method} is one of version 1.0, not of 0.3");
                let error = A2aError::new(ErrorKind::VersionNotSupported).with_detail(detail);
                Err(RefusedMethod { error, version })
            }
            _ => Ok((operation, version)),
        }
    }
}
