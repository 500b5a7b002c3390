//! The description of a tool, and its function.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use oxikit_core::Status;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// The side effects of a tool. MCP clients use it to decide whether to ask their user before a
/// call; most do so unless it is [`Reads`](Self::Reads).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The tool only reads: `readOnlyHint` is true.
    Reads,
    /// The tool has side effects but deletes nothing: `destructiveHint` is false.
    Acts,
    /// The tool may end or delete something: `destructiveHint` is true.
    Destroys,
}

/// The description of a tool, as clients and models see it.
///
/// ```
/// use oxikit_mcp::{Effect, McpTool};
/// use serde_json::json;
///
/// let delete = McpTool::new("delete_note", "Deletes a note.", Effect::Destroys).with_input(json!({
///     "type": "object",
///     "properties": {"id": {"type": "string", "description": "The id of the note."}},
///     "required": ["id"],
/// }));
/// assert_eq!(delete.name(), "delete_note");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    name: String,
    description: String,
    effect: Effect,
    input_schema: Map<String, Value>,
}

impl McpTool {
    /// Describes a tool without arguments. The model chooses a tool by its description.
    pub fn new(name: impl Into<String>, description: impl Into<String>, effect: Effect) -> Self {
        let (name, description) = (name.into(), description.into());
        Self { name, description, effect, input_schema: Map::new() }
            .with_input(json!({"type": "object", "properties": {}}))
    }

    /// Sets the JSON Schema of the arguments, which must describe an object. A value that is
    /// not an object is replaced by a schema that accepts every object.
    ///
    /// The schema informs the clients. The server does not check arguments against it, so
    /// the function of the tool must.
    pub fn with_input(mut self, schema: Value) -> Self {
        self.input_schema = match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        // Clients reject a tool whose schema has no `type`.
        self.input_schema.entry("type").or_insert_with(|| "object".into());
        self
    }

    /// The name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The entry in the result of `tools/list`.
    pub(crate) fn into_listed(self) -> Tool {
        let hints = match self.effect {
            Effect::Reads => ToolAnnotations::new().read_only(true),
            Effect::Acts => ToolAnnotations::new().read_only(false).destructive(false),
            Effect::Destroys => ToolAnnotations::new().read_only(false).destructive(true),
        };
        Tool::new(self.name, self.description, Arc::new(self.input_schema)).with_annotations(hints)
    }
}

/// The outcome of a call. A string is sent as text, another value as compact JSON.
pub(crate) type Outcome = Result<Value, Status>;
type CallFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The function of a tool, with its type erased.
pub(crate) struct ToolFunction(Box<dyn Fn(Value) -> CallFuture + Send + Sync>);

impl ToolFunction {
    pub(crate) fn new<F, Fut>(function: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        Self(Box::new(move |arguments| Box::pin(function(arguments))))
    }

    /// Calls the function. The call begins when the future is polled.
    pub(crate) fn call(&self, arguments: Value) -> CallFuture {
        (self.0)(arguments)
    }
}

impl fmt::Debug for ToolFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolFunction")
    }
}
