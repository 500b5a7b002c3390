//! Tools: functions of the application that a model may ask for.
//!
//! A tool is an action. The generate loop offers it to the model with its description and
//! schemas, checks the arguments that the model sends, and returns the result to the model. A
//! tool can also end the call with an [`interrupt`], for an answer of a person.

mod run;

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

pub(crate) use run::run_tool;

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

    /// A tool that is always answered from outside, such as a question to the user: the
    /// generate call ends with the tool request, and a further call resumes it with an answer.
    /// [`Reply::interrupts`](crate::Reply::interrupts) has an example.
    pub fn interrupt<In>(name: impl Into<String>, description: impl Into<String>) -> Self
    where
        In: DeserializeOwned + JsonSchema + Send + 'static,
    {
        Self::builder(name)
            .description(description)
            .tool_metadata("restartable", false)
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
    /// Sets the description. The model decides by it when to ask for the tool.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the schema of the arguments in place of the schema of their type. It is sent to the
    /// model, and arguments that do not fit it are rejected with `INVALID_ARGUMENT`.
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.input = Some(schema);
        self
    }

    /// Adds a member to the metadata of the tool's action, which the developer tools show.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Declares that the tool only reads: it changes nothing that a later call could notice, so it
    /// can be called again at any time. The developer tools show it, and do not warn that a fork
    /// of a session keeps what the tool has done. A tool without this counts as writing.
    ///
    /// ```
    /// use oxikit::Tool;
    ///
    /// let time = Tool::builder("time").description("The time of day.").read_only();
    /// let time = time.handler(|(): ()| async { Ok("noon") });
    /// let metadata = time.action().descriptor().metadata.as_ref().unwrap();
    /// assert_eq!(metadata["tool"]["readOnly"], true);
    /// ```
    pub fn read_only(self) -> Self {
        self.tool_metadata("readOnly", true)
    }

    /// Sets a member of `tool` in the metadata, where Genkit has what is true of tools only.
    fn tool_metadata(mut self, key: &str, value: bool) -> Self {
        let tool = self.metadata.entry("tool").or_insert_with(|| json!({}));
        if let Value::Object(tool) = tool {
            tool.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Makes the tool. The function takes the arguments and, if it wants it, the [`Context`],
    /// and returns a serialisable result. An error of the function fails the generate call.
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

    /// Makes a tool that answers with a result and further parts, such as images.
    ///
    /// ```
    /// use oxikit::{Part, Tool};
    /// use oxikit::wire::MultipartToolResponse;
    ///
    /// let chart = Tool::builder("chart").description("Draws a chart.").multipart(
    ///     |_title: String| async move {
    ///         Ok(MultipartToolResponse {
    ///             output: Some("drawn".into()),
    ///             content: Some(vec![Part::media("data:image/png;base64,iVBORw0KGgo=")]),
    ///             ..Default::default()
    ///         })
    ///     },
    /// );
    /// assert_eq!(chart.action().key(), "/tool.v2/chart");
    /// ```
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
        let mut tool = self.metadata.get("tool").cloned().unwrap_or_else(|| json!({}));
        if let Value::Object(tool) = &mut tool {
            tool.insert("multipart".to_owned(), true.into());
        }
        self.begin(ActionKind::ToolV2).metadata("type", "tool.v2").metadata("tool", tool)
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
    /// Defines a tool that prompts and generate calls find by its name, and that the developer
    /// tools list. A tool that is only used by value need not be defined.
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
/// request with this metadata, and a person or program outside answers or restarts it.
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

/// The cause of the status that [`interrupt`] makes. The generate loop recognises it by its type.
#[derive(Debug)]
pub(crate) struct Interrupt(Option<Value>);

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupt {}

impl Interrupt {
    /// The value of `metadata.interrupt` of the request part.
    pub(crate) fn of(status: &Status) -> Option<Value> {
        let Self(metadata) = status.cause()?;
        Some(metadata.clone().unwrap_or(Value::Bool(true)))
    }
}

/// The data that the generate loop passes to a tool besides its arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) reference: Option<String>,
    pub(crate) metadata: Option<JsonObject>,
}

/// Access to the tool call from the [`Context`] of a tool.
pub trait ToolContext {
    /// The value that a restart passes to the tool, `true` if it passes none; see
    /// [`restart_of`]. `None` when the tool runs for the first time.
    fn resumed(&self) -> Option<&Value>;

    /// The metadata of the tool request.
    fn request_metadata(&self) -> Option<&JsonObject>;

    /// A key that identifies this tool request of an agent's turn. It is the same when the turn
    /// is resumed after a crash, so a service that gets it, such as a payment provider, can
    /// ignore the repeated request. `None` outside of agents.
    ///
    /// ```
    /// use oxikit::prelude::*;
    ///
    /// # async fn charge(_amount: f64, _key: &str) -> Result<()> { Ok(()) }
    /// /// Charges the customer.
    /// #[tool]
    /// async fn pay(amount: f64, ctx: Context) -> Result<()> {
    ///     let key = ctx.idempotency_key().ok_or_else(|| Status::internal("only for agents"))?;
    ///     charge(amount, &key).await
    /// }
    /// ```
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

/// The description of a tool action, or of a prompt used as a tool, for a model.
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

/// The name of a tool for models: the last part, without the namespace. Most providers do not
/// allow slashes.
pub(crate) fn short_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// An answer to an interrupted tool request, for [`Generate::respond`](crate::Generate::respond).
pub fn respond_to(request: &ToolRequest, output: impl Into<Value>) -> Part {
    Part::tool_response(&request.name, request.reference.clone(), output.into())
        .with_metadata("interruptResponse", true)
}

/// The same request to be run again, for [`Generate::restart`](crate::Generate::restart). The
/// tool finds the value `resumed` by [`ToolContext::resumed`], for example the approval of a
/// person.
///
/// ```
/// use oxikit::prelude::*;
///
/// let request = Part::tool_request("transfer", None, json!({ "amount": 500 }));
/// let restart = restart_of(&request, json!({ "approvedBy": "ada" }));
/// assert_eq!(restart.metadata("resumed"), Some(&json!({ "approvedBy": "ada" })));
/// ```
pub fn restart_of(request: &Part, resumed: impl Into<Option<Value>>) -> Part {
    request.clone().with_metadata("resumed", resumed.into().unwrap_or(Value::Bool(true)))
}
