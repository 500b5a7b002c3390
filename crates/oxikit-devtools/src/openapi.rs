//! What the OpenAPI document of the developer tools says besides its routes: tags and errors. The
//! routes and the schemas of their types come from the table of routes.

mod failures;

use oxikit_http::api::OpenApi;

use crate::shapes::ErrorBody;

/// The tags of operations, each with its description.
const TAGS: &[(&str, &str)] = &[
    ("tools", "The developer tools themselves"),
    ("runtimes", "Runtimes that have registered"),
    ("actions", "What runtimes offer"),
    ("runs", "Runs of actions"),
    ("app", "The application that the tools have started"),
    ("agents", "Agents and their sessions"),
    ("traces", "Traces and log lines"),
    ("datasets", "Data sets"),
    ("evaluations", "Evaluations"),
    ("a2a", "Agents of other programs"),
];

/// The tag of an operation, by the beginning of its path.
fn tag_of(path: &str) -> &'static str {
    if path.starts_with("/api/agents") {
        return "agents";
    }
    let below = path.strip_prefix("/api/v1/").unwrap_or_default();
    match below.split('/').next().unwrap_or_default() {
        "runtimes" => "runtimes",
        "actions" | "values" => "actions",
        "run" | "stream" | "runs" => "runs",
        "app" => "app",
        "traces" | "logs" => "traces",
        "datasets" => "datasets",
        "evaluations" => "evaluations",
        "a2a" => "a2a",
        _ => "tools",
    }
}

/// What the document says besides its routes.
pub(crate) const OPEN_API: OpenApi = OpenApi {
    title: "oxikit developer tools",
    version: env!("CARGO_PKG_VERSION"),
    description: "Streams are described by the schema of one event: an object with \
        `data`, a text that holds JSON, and where events have them `event` and `id`.",
    tags: TAGS,
    tag_of,
    errors: failures::NAMES,
    error: |generator| generator.subschema_for::<ErrorBody>(),
    failures: failures::of,
    also_sent: &[],
    also_taken: &[],
};
