//! Names of the HTTP headers of Genkit's protocols and of oxikit's additions to them.

/// Sent with the answer to a run: the id of its trace, 32 hexadecimal digits.
pub const TRACE_ID: &str = "x-genkit-trace-id";

/// Sent with the answer to a run: the id of its root span, 16 hexadecimal digits.
pub const SPAN_ID: &str = "x-genkit-span-id";

/// Sent with the answer to a durable stream, and by a client that reads one again: its id.
pub const STREAM_ID: &str = "x-genkit-stream-id";

/// Names of the headers that pages of other origins may read, as
/// `Access-Control-Expose-Headers` lists them.
pub const EXPOSED: &str = "x-genkit-stream-id, x-genkit-trace-id, x-genkit-span-id";

/// Sent by a runtime with every answer of its reflection server: language and version.
pub const VERSION: &str = "x-genkit-version";

/// Sent by a client that reads a durable stream again: how many chunks it has read.
pub const STREAM_POSITION: &str = "x-oxikit-stream-position";

/// Sent by managers of oxikit that call the REST API for agents of a runtime (V1): the
/// caller's context, a percent-encoded JSON object. It is the `context` of the same
/// requests over a socket.
pub const CONTEXT: &str = "x-oxikit-context";

/// Sent by the command line to a server that it found in a file: bytes that the server has to sign.
pub const CHALLENGE: &str = "x-oxikit-challenge";

/// Sent with the answer to a [`CHALLENGE`]: the signature, which shows that the server has the token.
pub const PROOF: &str = "x-oxikit-proof";

/// Sent by clients of A2A: the version of the protocol, such as `1.0`. Also a query parameter.
pub const A2A_VERSION: &str = "a2a-version";

/// Sent by clients and servers of A2A 1.0: URIs of extensions, separated by commas.
pub const A2A_EXTENSIONS: &str = "a2a-extensions";

/// The same in A2A 0.3.
pub const X_A2A_EXTENSIONS: &str = "x-a2a-extensions";

/// Sent with a push notification of A2A: the token of its registration.
pub const X_A2A_NOTIFICATION_TOKEN: &str = "x-a2a-notification-token";

/// Sent with a push notification of A2A: an id that is the same when the notification is repeated.
pub const X_A2A_DELIVERY: &str = "x-a2a-delivery";

/// Sent with a push notification of A2A, if the server signs them: `sha256=` and the HMAC-SHA256 of
/// the [delivery id](X_A2A_DELIVERY), a full stop and the body, in hexadecimal digits.
pub const X_A2A_SIGNATURE: &str = "x-a2a-signature";

/// Sent by clients of A2A that want a message to be handled only once, however often it is sent.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Sent by a client that reads a stream of events again: the id of the last event it has read.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// Sent by a proxy that ends TLS: the certificate of the client, as RFC 9440 says.
pub const CLIENT_CERT: &str = "client-cert";

/// The W3C trace context: the trace and the span that a request belongs to.
pub const TRACE_PARENT: &str = "traceparent";
