//! The canonical status codes, with their gRPC and HTTP numbers.
//!
//! ```
//! use oxikit_wire::StatusCode;
//!
//! let code: StatusCode = "NOT_FOUND".parse().unwrap();
//! assert_eq!((code.grpc(), code.http()), (5, 404));
//! assert_eq!(StatusCode::from_grpc(5), Some(code));
//! assert!("not_found".parse::<StatusCode>().is_err(), "names are upper case");
//! ```

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! status_codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $grpc:literal $http:literal $text:literal)*) => {
        /// The result of a call, in the codes that Genkit shares with gRPC.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum StatusCode {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl StatusCode {
            /// All codes, by rising gRPC number.
            pub const ALL: [Self; 17] = [$(Self::$variant),*];

            /// The name on the wire, such as `NOT_FOUND`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The number that gRPC and the reflection protocol use.
            pub const fn grpc(self) -> u8 {
                match self { $(Self::$variant => $grpc,)* }
            }

            /// The HTTP status that a server answers with.
            pub const fn http(self) -> u16 {
                match self { $(Self::$variant => $http,)* }
            }

            /// The message for callers that may not read the message of the error, which could
            /// contain internal details.
            pub const fn standard_message(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

status_codes! {
    /// Success.
    Ok "OK" 0 200 "OK"
    /// The caller disconnected or cancelled the call.
    Cancelled "CANCELLED" 1 499 "The call was cancelled"
    /// The cause of the failure is not known.
    Unknown "UNKNOWN" 2 500 "Unknown error"
    /// The input of the call is not valid; a retry fails too.
    InvalidArgument "INVALID_ARGUMENT" 3 400 "Invalid argument"
    /// The call did not end before its deadline.
    DeadlineExceeded "DEADLINE_EXCEEDED" 4 504 "The call took too long"
    /// The resource does not exist, or this caller may not know that it does.
    NotFound "NOT_FOUND" 5 404 "Not found"
    /// The resource exists already.
    AlreadyExists "ALREADY_EXISTS" 6 409 "Already exists"
    /// The caller is authenticated, but not allowed to do this.
    PermissionDenied "PERMISSION_DENIED" 7 403 "Permission denied"
    /// A quota, a rate or a limit is used up.
    ResourceExhausted "RESOURCE_EXHAUSTED" 8 429 "A limit is used up"
    /// The system is not in the state that the call needs.
    FailedPrecondition "FAILED_PRECONDITION" 9 400 "A precondition is not met"
    /// A concurrent call caused a conflict. A retry of the whole operation may succeed.
    Aborted "ABORTED" 10 409 "The call was aborted"
    /// A position or number is beyond the valid range.
    OutOfRange "OUT_OF_RANGE" 11 400 "Out of range"
    /// The server does not support the operation.
    Unimplemented "UNIMPLEMENTED" 12 501 "Not implemented"
    /// An error inside the application or the library.
    Internal "INTERNAL" 13 500 "Internal error"
    /// The service cannot be reached at the moment. A retry may succeed.
    Unavailable "UNAVAILABLE" 14 503 "Unavailable at the moment"
    /// Stored data is lost or damaged and cannot be recovered.
    DataLoss "DATA_LOSS" 15 500 "Data was lost"
    /// The call has no valid credentials.
    Unauthenticated "UNAUTHENTICATED" 16 401 "Unauthenticated"
}

impl StatusCode {
    /// The code with this gRPC number; `None` above 16.
    pub fn from_grpc(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for StatusCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StatusCode {
    type Err = UnknownStatusCode;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|code| code.name() == name).ok_or(UnknownStatusCode)
    }
}

/// The error of parsing a text that is not the name of a status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownStatusCode;

impl fmt::Display for UnknownStatusCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the name of a status code; one such as `NOT_FOUND` is expected")
    }
}

impl std::error::Error for UnknownStatusCode {}
