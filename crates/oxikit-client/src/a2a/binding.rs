//! The bindings that this client speaks. `dispatch` sends the calls of each.

use std::fmt;

use oxikit_wire::a2a::{Operation, Version, binding};

/// A way to send the operations of the protocol over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP: one address for all operations.
    JsonRpc,
    /// HTTP with a path for each operation.
    HttpJson,
    /// gRPC: protobuf messages over HTTP/2.
    #[cfg(feature = "a2a-grpc")]
    Grpc,
}

impl Binding {
    /// The bindings that this client speaks.
    pub const ALL: &[Self] = &[
        Self::JsonRpc,
        Self::HttpJson,
        #[cfg(feature = "a2a-grpc")]
        Self::Grpc,
    ];

    /// The name of the binding in agent cards.
    ///
    /// ```
    /// use oxikit_client::a2a::Binding;
    ///
    /// assert_eq!(Binding::HttpJson.name(), "HTTP+JSON");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => binding::JSON_RPC,
            Self::HttpJson => binding::HTTP_JSON,
            #[cfg(feature = "a2a-grpc")]
            Self::Grpc => binding::GRPC,
        }
    }

    /// The binding with this name in a card, if this client speaks it.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name().eq_ignore_ascii_case(name.trim()))
    }

    /// Whether the binding has this operation in this version.
    pub(super) fn has(self, operation: Operation, version: Version) -> bool {
        match self {
            Self::JsonRpc => operation.method(version).is_some(),
            Self::HttpJson => true,
            #[cfg(feature = "a2a-grpc")]
            Self::Grpc => oxikit_a2a_grpc::path(operation, version).is_some(),
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
