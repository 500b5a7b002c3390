//! What a tool is.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use oxikit_core::Status;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// What a call of a tool does to the world. Clients may ask their user before calls
/// that are not [`Reads`](Self::Reads).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it can be called any time.
    Reads,
    /// It does something, and removes nothing.
    Acts,
    /// It ends or removes something.
    Destroys,
}

/// A tool as its callers see it.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    name: String,
    description: String,
    effect: Effect,
    input_schema: Map<String, Value>,
}

impl McpTool {
    /// A tool that takes no arguments. The description is what a model decides by.
    pub fn new(name: impl Into<String>, description: impl Into<String>, effect: Effect) -> Self {
        let (name, description) = (name.into(), description.into());
        Self { name, description, effect, input_schema: Map::new() }
            .with_input(json!({"type": "object", "properties": {}}))
    }

    /// With the arguments of this JSON Schema, which has to be of an object; another is
    /// taken for one that allows everything. It is for the callers: what arrives is
    /// for the handler to check.
    pub fn with_input(mut self, schema: Value) -> Self {
        self.input_schema = match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        // Clients refuse a tool without it.
        self.input_schema.entry("type").or_insert_with(|| "object".into());
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As the protocol tells it.
    pub(crate) fn into_listed(self) -> Tool {
        let hints = match self.effect {
            Effect::Reads => ToolAnnotations::new().read_only(true),
            Effect::Acts => ToolAnnotations::new().read_only(false).destructive(false),
            Effect::Destroys => ToolAnnotations::new().read_only(false).destructive(true),
        };
        Tool::new(self.name, self.description, Arc::new(self.input_schema)).with_annotations(hints)
    }
}

/// What came of a call: a text as it is, or another value as compact JSON.
pub(crate) type Outcome = Result<Value, Status>;
type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The code of a tool, without its type.
pub(crate) struct ToolCode(Box<dyn Fn(Value) -> Work + Send + Sync>);

impl ToolCode {
    pub(crate) fn new<F, Fut>(code: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        Self(Box::new(move |arguments| Box::pin(code(arguments))))
    }

    /// One call; it begins when it is polled.
    pub(crate) fn call(&self, arguments: Value) -> Work {
        (self.0)(arguments)
    }
}

impl fmt::Debug for ToolCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolCode")
    }
}
