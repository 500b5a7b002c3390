//! Cells of the matrix that fail for a known reason. The same table is in `docs/a2a.md`.

/// A case that fails with a peer.
pub(super) struct Fault {
    pub(super) peer: &'static str,
    pub(super) binding: &'static str,
    pub(super) case: &'static str,
    /// The side that has the fault: `client` or `server`.
    pub(super) whose: &'static str,
    /// A part of the message by which the failure is recognised.
    pub(super) sign: &'static str,
    pub(super) reason: &'static str,
}

impl Fault {
    /// Whether the peer has a race: the case passes now and then.
    pub(super) fn is_race(&self) -> bool {
        self.reason == OPEN_ONLY
    }
}

const RPC: &str = "JSONRPC";
const REST: &str = "HTTP+JSON";
const GRPC: &str = "GRPC";

const APPEND: &str = "The client drops `append` of the events, so that each chunk seems to replace \
     the artifact.";

const NO_KEY: &str = "The client does not run its interceptors in this binding, so that it never \
     sends the key.";
const UNTYPED: &str = "The client has the error only as a text.";

pub(super) const CLIENT_FAULTS: [Fault; 10] = [
    Fault {
        peer: "js 0.3.14",
        binding: REST,
        case: "stream",
        whose: "client",
        sign: "'two '",
        reason: APPEND,
    },
    Fault {
        peer: "js 0.3.14",
        binding: GRPC,
        case: "stream",
        whose: "client",
        sign: "'two '",
        reason: APPEND,
    },
    Fault {
        peer: "js 1.3.0 as 0.3",
        binding: REST,
        case: "stream",
        whose: "client",
        sign: "'two '",
        reason: APPEND,
    },
    Fault {
        peer: "js 1.3.0 as 0.3",
        binding: GRPC,
        case: "stream",
        whose: "client",
        sign: "'two '",
        reason: APPEND,
    },
    Fault {
        peer: "py 0.3.26",
        binding: REST,
        case: "unknown task in a stream",
        whose: "client",
        sign: "text/event-stream",
        reason: "The client looks at the media type before the status, and reports the 404 as an \
                 invalid stream.",
    },
    Fault {
        peer: "py 0.3.26",
        binding: REST,
        case: "auth accepted",
        whose: "client",
        sign: "401 Unauthorized",
        reason: NO_KEY,
    },
    Fault {
        peer: "py 0.3.26",
        binding: GRPC,
        case: "auth accepted",
        whose: "client",
        sign: "UNAUTHENTICATED",
        reason: NO_KEY,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: GRPC,
        case: "unknown task",
        whose: "client",
        sign: "gRPC Error NOT_FOUND",
        reason: UNTYPED,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: GRPC,
        case: "unknown task in a stream",
        whose: "client",
        sign: "gRPC Error NOT_FOUND",
        reason: UNTYPED,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: GRPC,
        case: "cancel too late",
        whose: "client",
        sign: "gRPC Error FAILED_PRECONDITION",
        reason: UNTYPED,
    },
];

const NO_TASK: &str = "The server does not answer a resubscription before the next event of the \
     task, not even with the head of the response.";
const OPEN_ONLY: &str = "The server sends notifications only while the request that began the \
     turn is read.";
const NEW_BODY: &str =
    "The server sends the body of 1.0 to a webhook that was registered with 0.3.";

pub(super) const SERVER_FAULTS: [Fault; 14] = [
    Fault {
        peer: "js 0.3.14",
        binding: REST,
        case: "unknown task in a stream",
        whose: "server",
        sign: "Bug: toJson serializer",
        reason: "The server fails to write its error, and answers with an internal one.",
    },
    Fault {
        peer: "js 1.3.0 as 0.3",
        binding: REST,
        case: "push for a running task",
        whose: "server",
        sign: "missing pushNotificationConfig",
        reason: "The server wants the webhook without the `config` around it that the proto file of \
                 0.3 has.",
    },
    Fault {
        peer: "py 0.3.26",
        binding: RPC,
        case: "resubscribe",
        whose: "server",
        sign: "more than 10s",
        reason: NO_TASK,
    },
    Fault {
        peer: "py 0.3.26",
        binding: REST,
        case: "resubscribe",
        whose: "server",
        sign: "more than 10s",
        reason: NO_TASK,
    },
    Fault {
        peer: "py 0.3.26",
        binding: GRPC,
        case: "resubscribe",
        whose: "server",
        sign: "more than 10s",
        reason: NO_TASK,
    },
    Fault {
        peer: "py 0.3.26",
        binding: RPC,
        case: "push for a running task",
        whose: "server",
        sign: "more than 10s",
        reason: OPEN_ONLY,
    },
    Fault {
        peer: "py 0.3.26",
        binding: REST,
        case: "push for a running task",
        whose: "server",
        sign: "more than 10s",
        reason: OPEN_ONLY,
    },
    Fault {
        peer: "py 0.3.26",
        binding: GRPC,
        case: "push for a running task",
        whose: "server",
        sign: "more than 10s",
        reason: OPEN_ONLY,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: RPC,
        case: "push",
        whose: "server",
        sign: "the body has another version",
        reason: NEW_BODY,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: REST,
        case: "push",
        whose: "server",
        sign: "the body has another version",
        reason: NEW_BODY,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: GRPC,
        case: "push",
        whose: "server",
        sign: "the body has another version",
        reason: NEW_BODY,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: RPC,
        case: "push for a running task",
        whose: "server",
        sign: "the body has another version",
        reason: NEW_BODY,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: REST,
        case: "push for a running task",
        whose: "server",
        sign: "the body has another version",
        reason: NEW_BODY,
    },
    Fault {
        peer: "py 1.3.0 as 0.3",
        binding: GRPC,
        case: "push for a running task",
        whose: "server",
        sign: "the body has another version",
        reason: NEW_BODY,
    },
];
