//! Tools: what a model may ask the application to do.

use std::fmt;
use std::sync::Arc;

use oxikit_core::{
    Action, ActionInput, ActionKind, ActionOutput, Context, Emitter, Handler, Result, Schema,
    Status,
};
use oxikit_wire::{JsonObject, MultipartToolResponse, Part, ToolDefinition, ToolRequest};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{Oxikit, SessionExt, lookup};

/// A tool: a described function that a model may ask for. Cheap to clone.
///
/// Mostly made by [`#[tool]`](macro@crate::tool) from a documented function; or by
/// hand:
///
/// ```
/// use oxikit::Tool;
///
/// let add = Tool::new("add", "Adds two numbers.", |(a, b): (f64, f64)| async move { Ok(a + b) });
/// assert_eq!(add.name(), "add");
/// ```
#[derive(Debug, Clone)]
pub struct Tool {
    /// `/tool/<name>`, or `/tool.v2/<name>` for one that answers with parts.
    action: Action,
    /// The same function as `/tool.v2/<name>`, for callers that only know those.
    multipart: Option<Action>,
}

impl Tool {
    /// A tool of this name. The function takes the arguments and, if it wants
    /// it, the [`Context`].
    pub fn new<H, Args: 'static>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: H,
    ) -> Self
    where
        H: Handler<Args>,
        H::In: ActionInput,
        H::Out: ActionOutput,
    {
        Self::builder(name).description(description).handler(function)
    }

    /// Begins the definition of a tool.
    pub fn builder(name: impl Into<String>) -> ToolBuilder {
        let name = name.into();
        ToolBuilder { name, description: String::new(), input: None, metadata: JsonObject::new() }
    }

    /// A tool that always asks the outside world: the generate call ends with
    /// the tool request, and goes on when it is resumed with an answer.
    pub fn interrupt<In>(name: impl Into<String>, description: impl Into<String>) -> Self
    where
        In: DeserializeOwned + JsonSchema + Send + 'static,
    {
        Self::builder(name)
            .description(description)
            .metadata("tool", json!({ "restartable": false }))
            .handler(|_: In| async move { Err::<Value, _>(interrupt(None)) })
    }

    /// The name, with its namespace if it has one.
    pub fn name(&self) -> &str {
        self.action.name()
    }

    /// The action behind it.
    pub fn action(&self) -> &Action {
        &self.action
    }
}

/// The definition of a [`Tool`].
#[derive(Debug)]
#[must_use = "a tool is made by `handler` or `multipart`"]
pub struct ToolBuilder {
    name: String,
    description: String,
    input: Option<Schema>,
    metadata: JsonObject,
}

impl ToolBuilder {
    /// What the tool does, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Checks the arguments by this schema instead of the type's.
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.input = Some(schema);
        self
    }

    /// One more metadata member.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Makes the tool.
    pub fn handler<H, Args: 'static>(self, function: H) -> Tool
    where
        H: Handler<Args>,
        H::In: ActionInput,
        H::Out: ActionOutput,
    {
        let function = Arc::new(function);
        let plain = function.clone();
        let action = self
            .begin(ActionKind::Tool)
            .metadata("type", "tool")
            .handler(move |input: H::In, ctx: Context| run(plain.clone(), input, ctx));
        let multipart = self.begin_multipart().metadata("dynamic", true).handler(
            move |input: H::In, ctx: Context| {
                let answer = run(function.clone(), input, ctx);
                async move {
                    let output = serde_json::to_value(answer.await?)?;
                    Ok(MultipartToolResponse { output: Some(output), ..Default::default() })
                }
            },
        );
        Tool { action, multipart: Some(multipart) }
    }

    /// Makes a tool that answers with a result and further parts.
    pub fn multipart<H, Args: 'static>(self, function: H) -> Tool
    where
        H: Handler<Args, Out = MultipartToolResponse>,
        H::In: ActionInput,
    {
        let function = Arc::new(function);
        let action = self
            .begin_multipart()
            .handler(move |input: H::In, ctx: Context| run(function.clone(), input, ctx));
        Tool { action, multipart: None }
    }

    fn begin(&self, kind: ActionKind) -> oxikit_core::ActionBuilder {
        let builder = Action::builder(kind, &self.name)
            .description(&self.description)
            .metadata_from(self.metadata.clone());
        match &self.input {
            Some(schema) => builder.input_schema(schema.clone()),
            None => builder,
        }
    }

    fn begin_multipart(&self) -> oxikit_core::ActionBuilder {
        self.begin(ActionKind::ToolV2)
            .metadata("type", "tool.v2")
            .metadata("tool", json!({ "multipart": true }))
    }
}

async fn run<H: Handler<Args>, Args>(
    function: Arc<H>,
    input: H::In,
    ctx: Context,
) -> Result<H::Out> {
    function.call(input, ctx, Emitter::discard()).await
}

impl Oxikit {
    /// Defines a tool that prompts and generate calls find by its name.
    pub fn define_tool(&self, tool: Tool) -> Tool {
        self.registry().register(tool.action.clone());
        if let Some(multipart) = &tool.multipart {
            self.registry().register(multipart.clone());
        }
        tool
    }

    /// The tool action of this name or key; a prompt can be a tool too.
    pub(crate) async fn resolve_tool(&self, name: &str) -> Result<Action> {
        if name.starts_with('/') {
            return self.registry().resolve_key(name).await;
        }
        for kind in [ActionKind::Tool, ActionKind::ToolV2, ActionKind::Prompt] {
            if let Some(action) = self.registry().resolve(kind, name).await? {
                return Ok(action);
            }
        }
        Err(lookup::missing(self.registry(), ActionKind::Tool, name))
    }
}

/// Ends a tool call without an answer: the generate call returns the tool
/// request with this metadata, and somebody outside answers or restarts it.
///
/// ```
/// use oxikit::prelude::*;
///
/// /// Moves money.
/// #[tool]
/// async fn transfer(amount: f64, ctx: Context) -> Result<String> {
///     if amount > 100.0 && ctx.resumed().is_none() {
///         return Err(interrupt(json!({ "reason": "needs approval" })));
///     }
///     Ok(format!("moved {amount}"))
/// }
/// ```
pub fn interrupt(metadata: impl Into<Option<Value>>) -> Status {
    Status::failed_precondition("the tool was interrupted and waits for an answer")
        .caused_by(Interrupt(metadata.into()))
}

/// Why a tool call has no answer yet.
#[derive(Debug)]
pub(crate) struct Interrupt(Option<Value>);

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupt {}

impl Interrupt {
    /// What becomes `metadata.interrupt` of the request part.
    pub(crate) fn of(status: &Status) -> Option<Value> {
        let Self(metadata) = status.cause()?;
        Some(metadata.clone().unwrap_or(Value::Bool(true)))
    }
}

/// What the generate loop tells a tool beside its arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) reference: Option<String>,
    pub(crate) metadata: Option<JsonObject>,
}

/// What a tool can ask its [`Context`].
pub trait ToolContext {
    /// After a restart: what the restart says, `true` if nothing in particular.
    /// `None` when the tool runs for the first time.
    fn resumed(&self) -> Option<&Value>;

    /// The metadata of the tool request.
    fn request_metadata(&self) -> Option<&JsonObject>;

    /// Names this tool request of an agent's turn: the same when the turn is taken
    /// up again after a crash, so that an effect outside is made once. `None`
    /// outside of agents.
    fn idempotency_key(&self) -> Option<String>;
}

impl ToolContext for Context {
    fn resumed(&self) -> Option<&Value> {
        self.request_metadata()?.get("resumed")
    }

    fn request_metadata(&self) -> Option<&JsonObject> {
        self.extra::<ToolCall>()?.metadata.as_ref()
    }

    fn idempotency_key(&self) -> Option<String> {
        let ToolCall { name, reference, .. } = self.extra()?;
        Some(self.session()?.idempotency_key(name, reference.as_deref()))
    }
}

/// What a model is told about a tool action, or a prompt used as a tool.
pub(crate) fn definition(action: &Action) -> ToolDefinition {
    let descriptor = action.descriptor();
    let name = short_name(action.name());
    let anything = || json!({ "$schema": "http://json-schema.org/draft-07/schema#" });
    ToolDefinition {
        name: name.to_owned(),
        description: descriptor.description.clone().unwrap_or_default(),
        input_schema: Some(descriptor.input_schema.clone().unwrap_or_else(anything)),
        output_schema: Some(descriptor.output_schema.clone().unwrap_or_else(anything)),
        key: Some(action.key().to_owned()),
        metadata: (name != action.name())
            .then(|| JsonObject::from_iter([("originalName".into(), action.name().into())])),
    }
}

/// Models know a tool by the last part of its name.
pub(crate) fn short_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// An answer to an interrupted tool request, for [`Generate::respond`](crate::Generate::respond).
pub fn respond_to(request: &ToolRequest, output: impl Into<Value>) -> Part {
    Part::tool_response(&request.name, request.reference.clone(), output.into())
        .with_metadata("interruptResponse", true)
}

/// The same request to be run again, for [`Generate::restart`](crate::Generate::restart).
pub fn restart_of(request: &Part, resumed: impl Into<Option<Value>>) -> Part {
    request.clone().with_metadata("resumed", resumed.into().unwrap_or(Value::Bool(true)))
}
