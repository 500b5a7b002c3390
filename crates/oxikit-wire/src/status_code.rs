//! The canonical status codes, with their gRPC and HTTP numbers.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! status_codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $grpc:literal $http:literal $text:literal)*) => {
        /// How a call ended, in the codes that Genkit shares with gRPC.
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

            /// The HTTP status it maps to.
            pub const fn http(self) -> u16 {
                match self { $(Self::$variant => $http,)* }
            }

            /// What a stranger is told when the real message stays inside.
            pub const fn standard_message(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

status_codes! {
    /// It went well.
    Ok "OK" 0 200 "OK"
    /// The caller left or asked to stop.
    Cancelled "CANCELLED" 1 499 "The call was cancelled"
    /// Something failed and nobody knows what.
    Unknown "UNKNOWN" 2 500 "Unknown error"
    /// The call can never work as it was made.
    InvalidArgument "INVALID_ARGUMENT" 3 400 "Invalid argument"
    /// It took too long.
    DeadlineExceeded "DEADLINE_EXCEEDED" 4 504 "The call took too long"
    /// The thing is not there, or not for this caller.
    NotFound "NOT_FOUND" 5 404 "Not found"
    /// The thing is there already.
    AlreadyExists "ALREADY_EXISTS" 6 409 "Already exists"
    /// The caller is known and may not do this.
    PermissionDenied "PERMISSION_DENIED" 7 403 "Permission denied"
    /// A quota, a rate or a limit is used up.
    ResourceExhausted "RESOURCE_EXHAUSTED" 8 429 "A limit is used up"
    /// The system is not in the state that the call needs.
    FailedPrecondition "FAILED_PRECONDITION" 9 400 "A precondition is not met"
    /// Another call got in the way; trying again from the start may work.
    Aborted "ABORTED" 10 409 "The call was aborted"
    /// Past the end of what there is.
    OutOfRange "OUT_OF_RANGE" 11 400 "Out of range"
    /// Not offered here.
    Unimplemented "UNIMPLEMENTED" 12 501 "Not implemented"
    /// A fault of ours.
    Internal "INTERNAL" 13 500 "Internal error"
    /// Not reachable at the moment; trying again may work.
    Unavailable "UNAVAILABLE" 14 503 "Unavailable at the moment"
    /// Data is lost or damaged for good.
    DataLoss "DATA_LOSS" 15 500 "Data was lost"
    /// The caller is not known.
    Unauthenticated "UNAUTHENTICATED" 16 401 "Unauthenticated"
}

impl StatusCode {
    /// The code with this gRPC number.
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

/// The text is not the name of a status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownStatusCode;

impl fmt::Display for UnknownStatusCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the name of a status code; one such as `NOT_FOUND` is expected")
    }
}

impl std::error::Error for UnknownStatusCode {}
