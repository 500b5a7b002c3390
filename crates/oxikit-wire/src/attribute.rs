//! Names of the span attributes that Genkit's runtimes write and its tools read.
//!
//! Values are JSON; where the text below says "JSON text", the value is a string that
//! holds JSON. Attributes outside the `genkit:` namespace are labels of the
//! application, or names that OpenTelemetry defines; they are not listed here.
//!
//! ```
//! use oxikit_wire::attribute;
//!
//! let is_label = |name: &str| !name.starts_with(attribute::NAMESPACE);
//! assert!(is_label("customer") && !is_label(attribute::INPUT));
//! ```

/// Prefix of all attributes of Genkit; the tools treat other attributes of a root span as labels.
pub const NAMESPACE: &str = "genkit:";

/// Written by runtimes on every span: the kind of work, such as `action`, `flowStep` or `util`.
pub const TYPE: &str = "genkit:type";

/// Written by runtimes on spans of actions: the type of the action, such as `flow`, `model` or `tool`.
pub const SUBTYPE: &str = "genkit:metadata:subtype";

/// Written by runtimes on spans of actions: the key of the action, such as `/flow/tellJoke`.
pub const KEY: &str = "genkit:key";

/// Written by runtimes on every span: the name of the action or of the step.
pub const NAME: &str = "genkit:name";

/// Written by runtimes on the root span of a trace: `true`.
pub const IS_ROOT: &str = "genkit:isRoot";

/// Written by runtimes on every span: the names and types from the root down to the span.
pub const PATH: &str = "genkit:path";

/// Written by runtimes on spans of actions: the context of the caller as JSON text, without secrets.
pub const CONTEXT: &str = "genkit:metadata:context";

/// Written by runtimes when a span starts: the value that a conversation starts with, as JSON text.
pub const INIT: &str = "genkit:init";

/// Written by runtimes when a span starts: the input as JSON text.
pub const INPUT: &str = "genkit:input";

/// Written by runtimes when a span ends well: the output as JSON text.
pub const OUTPUT: &str = "genkit:output";

/// Written by runtimes when a span ends: [`STATE_SUCCESS`] or [`STATE_ERROR`].
pub const STATE: &str = "genkit:state";

/// Value of [`STATE`] of a span that ended well.
pub const STATE_SUCCESS: &str = "success";

/// Value of [`STATE`] of a span that failed.
pub const STATE_ERROR: &str = "error";

/// Written by runtimes on the span in which a failure began: `true`.
pub const IS_FAILURE_SOURCE: &str = "genkit:isFailureSource";

/// Written by agents on the spans of their turns: the session, by which tools find its traces.
pub const SESSION_ID: &str = "genkit:metadata:agent:sessionId";

/// Written by agents on the spans of their turns: the snapshot that the turn has stored.
pub const SNAPSHOT_ID: &str = "genkit:metadata:agent:snapshotId";

/// Written by evaluators on the span of each case: the id of the evaluation run.
pub const EVAL_RUN_ID: &str = "genkit:metadata:evaluator:evalRunId";

/// Written by prompts on the span of their rendering: the name of the prompt.
pub const PROMPT_NAME: &str = "genkit:metadata:promptName";

/// Written by prompts on the spans of their rendering, of their actions and of the model calls
/// that they lead to: the id of the prompt.
pub const PROMPT_ID: &str = "oxikit:prompt:id";

/// Written beside [`PROMPT_ID`] for a prompt of a prompt manager: the number of its revision.
pub const PROMPT_REVISION: &str = "oxikit:prompt:revision";

/// Written beside [`PROMPT_ID`] for a prompt of a prompt manager that includes others: the
/// revisions of all fragments that are part of its text, by id, as JSON text.
pub const PROMPT_FRAGMENTS: &str = "oxikit:prompt:fragments";

/// Written by the telemetry server on spans and log lines that came without a token: `true`.
pub const UNVERIFIED: &str = "oxikit:unverified";

/// Stored by the telemetry server with a trace, and not part of its spans: the id of the runtime
/// that has sent them, and the name of its application.
pub const RUNTIME: &str = "oxikit:runtime";

/// Written by the trace store on a span that stands for a record that cannot be read: `true`.
pub const TORN: &str = "oxikit:torn";

/// Written by the telemetry server on spans and log lines that it puts below another span: the
/// trace that the sender has named.
pub const OTLP_TRACE_ID: &str = "genkit:otlp-traceId";
