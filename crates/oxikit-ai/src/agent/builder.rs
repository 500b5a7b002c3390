//! The definition of an agent.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use oxikit_core::ports::{SessionStore, SessionStores};
use oxikit_core::{Action, ActionContext, ActionKind, Context, Emitter, Inputs, Result, Schema};
use oxikit_wire::{
    AgentInit, AgentInput, AgentOutput, AgentStreamChunk, JsonObject, SessionState, ToolChoice,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::definition::{Body, Definition, SessionNotes};
use super::prompt_turn::PromptBody;
use super::session::{ChunkTransform, StateTransform};
use super::start::{self, Start};
use super::turn::{Turn, TurnParts, TurnReply};
use super::writer::{Busy, WhileBusy};
use super::{Agent, companions, recover};
use crate::middleware::Middleware;
use crate::{ModelRef, Oxikit, Prompt, PromptBuilder, Tool};

/// The definition of an [`Agent`]; see [`Oxikit::define_agent`].
///
/// A turn is done in one of three ways: by the agent's own prompt, made of
/// [`system`](Self::system), [`model`](Self::model), [`tool`](Self::tool) and the like; by a
/// defined [`prompt`](Self::prompt), such as a file; or by code, with [`turn`](Self::turn).
/// Code takes precedence over a prompt, and a named prompt over the agent's own.
#[must_use = "an agent is defined by `Oxikit::define_agent`"]
pub struct AgentBuilder {
    name: String,
    description: Option<String>,
    metadata: JsonObject,
    /// The agent's own prompt, unless it uses a defined one or code.
    own_prompt: PromptBuilder,
    prompt: Option<(String, Value)>,
    custom: Option<Body>,
    tools: Vec<Tool>,
    middleware: Vec<Arc<dyn Middleware>>,
    store: Option<Arc<dyn SessionStore>>,
    state_schema: Option<Schema>,
    state_transform: Option<StateTransform>,
    chunk_transform: Option<ChunkTransform>,
    session_notes: Option<SessionNotes>,
    while_busy: WhileBusy,
}

impl AgentBuilder {
    pub(super) fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            own_prompt: Prompt::builder(&name),
            name,
            description: None,
            metadata: JsonObject::new(),
            prompt: None,
            custom: None,
            tools: Vec::new(),
            middleware: Vec::new(),
            store: None,
            state_schema: None,
            state_transform: None,
            chunk_transform: None,
            session_notes: None,
            while_busy: WhileBusy::default(),
        }
    }

    /// Sets the description, which the developer tools and the lists of agents show.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a member to the metadata of the agent's action. The member `agent` is replaced by
    /// the agent's own.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets the instructions for the model, as a template: `{{…}}` is replaced, for example
    /// `{{@auth.uid}}` by a value of the caller's context.
    pub fn system(mut self, template: impl Into<String>) -> Self {
        self.own_prompt = self.own_prompt.system(template);
        self
    }

    /// Sets the model. Without this, the application's default model is used.
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        self.own_prompt = self.own_prompt.model(model);
        self
    }

    /// Sets the model's configuration, such as `json!({"temperature": 0.2})`. A value that does
    /// not serialise to an object is ignored.
    pub fn config(mut self, config: impl Serialize) -> Self {
        self.own_prompt = self.own_prompt.config(config);
        self
    }

    /// Adds a tool that the model may ask for, and defines it in the application. It finds the
    /// session by [`SessionExt::session`](super::SessionExt::session).
    pub fn tool(mut self, tool: Tool) -> Self {
        self.own_prompt = self.own_prompt.tool(tool.name());
        self.tools.push(tool);
        self
    }

    /// Adds a tool by its name. It has to be defined when a turn runs, not before.
    pub fn tool_named(mut self, name: impl AsRef<str>) -> Self {
        self.own_prompt = self.own_prompt.tool(name);
        self
    }

    /// Sets whether the model may, must or must not ask for tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.own_prompt = self.own_prompt.tool_choice(choice);
        self
    }

    /// Sets the maximum number of rounds of tools in a turn; 5 unless set. A model that asks
    /// for more fails the turn with `ABORTED`.
    pub fn max_turns(mut self, max_turns: u64) -> Self {
        self.own_prompt = self.own_prompt.max_turns(max_turns);
        self
    }

    /// Does the turns by a defined prompt, such as a file, with this input. The conversation
    /// stands where the prompt says `{{history}}`. The model, instructions and tools of this
    /// builder are not used then.
    ///
    /// ```
    /// # use oxikit::{Agent, prelude::*};
    /// # fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// ai.define_prompt(
    ///     Prompt::builder("guide").messages("{{role \"system\"}}You know {{town}}.{{history}}"),
    /// )?;
    /// ai.define_agent(Agent::builder("local").prompt("guide", json!({ "town": "Porto" })))?;
    /// # Ok(()) }
    /// ```
    pub fn prompt(mut self, name: impl Into<String>, input: impl Serialize) -> Self {
        self.prompt = Some((name.into(), serde_json::to_value(input).unwrap_or_default()));
        self
    }

    /// Wraps the generate calls of every turn. The first middleware is the outermost. A turn
    /// that is done by code adds middleware to its own calls instead.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Does the turns by code instead of a prompt. `S` is the type of the custom state.
    ///
    /// The function is called once per turn. If it fails, the session stays as it was before
    /// the turn, and the failure is the result of the turn.
    ///
    /// ```
    /// use oxikit::prelude::*;
    /// use oxikit::{Agent, MemorySessions, Turn};
    ///
    /// #[derive(Default, Serialize, Deserialize, JsonSchema)]
    /// struct Count {
    ///     turns: u32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// let counter = ai.define_agent(
    ///     Agent::builder("counter")
    ///         .store(MemorySessions::default())
    ///         .turn(|turn: Turn<Count>| async move {
    ///             let turns = turn.update(|count| { count.turns += 1; count.turns }).await?;
    ///             Ok(turn.answer(format!("This is turn {turns}.")))
    ///         }),
    /// )?;
    /// let mut chat = counter.chat();
    /// chat.send("Hello").await?;
    /// assert_eq!(chat.send("Hello again").await?.text(), "This is turn 2.");
    /// # Ok(()) }
    /// ```
    pub fn turn<S, F, Fut>(mut self, turn: F) -> Self
    where
        S: JsonSchema + 'static,
        F: Fn(Turn<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<TurnReply>> + Send + 'static,
    {
        let run = move |parts: TurnParts| -> super::definition::BoxFuture<_> {
            Box::pin(turn(Turn { parts, state: PhantomData }))
        };
        self.custom = Some(Body::Custom(Box::new(run)));
        self.state::<S>()
    }

    /// Sets the type of the custom state, which tools read and change by
    /// [`Session::state`](super::Session::state) and [`Session::update`](super::Session::update).
    /// A state that does not fit its schema is rejected, whether it comes from a client or from
    /// code.
    pub fn state<S: JsonSchema>(mut self) -> Self {
        self.state_schema = Some(Schema::of::<S>());
        self
    }

    /// Keeps the sessions in this store. Without a store, clients keep the state and send it
    /// with every turn; detached work and the list of sessions need a store.
    pub fn store(self, store: impl SessionStore + 'static) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Keeps the sessions in a store that other agents use, too. Every snapshot notes its agent,
    /// so an agent does not continue a session of another one.
    pub fn shared_store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the policy for a message that arrives while its session is busy with another one:
    /// reject it (the default), let it wait, or stop the other one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxikit::{Agent, MemorySessions, WhileBusy};
    ///
    /// let agent = Agent::builder("support")
    ///     .store(MemorySessions::default())
    ///     .while_busy(WhileBusy::Queue(Duration::from_secs(60)));
    /// ```
    pub fn while_busy(mut self, policy: WhileBusy) -> Self {
        self.while_busy = policy;
        self
    }

    /// Sets the function that makes the metadata of a new session out of the caller's context,
    /// such as the name of the user. It is called once per session, with its first snapshot.
    pub fn session_metadata(
        mut self,
        notes: impl Fn(&ActionContext) -> JsonObject + Send + Sync + 'static,
    ) -> Self {
        self.session_notes = Some(Box::new(notes));
        self
    }

    /// Sets a transform of the state that clients see, for example to remove members. The
    /// stored state stays as it is. If the transform fails, the client gets no state and an
    /// error, because the state may contain what the transform should have removed.
    pub fn transform_state(
        mut self,
        transform: impl Fn(SessionState) -> Result<SessionState> + Send + Sync + 'static,
    ) -> Self {
        self.state_transform = Some(Arc::new(transform));
        self
    }

    /// Sets a transform of the chunks that clients see; `None` drops a chunk. If the transform
    /// fails, the turn fails.
    pub fn transform_chunk(
        mut self,
        transform: impl Fn(AgentStreamChunk) -> Result<Option<AgentStreamChunk>> + Send + Sync + 'static,
    ) -> Self {
        self.chunk_transform = Some(Arc::new(transform));
        self
    }

    fn define(self, ai: &Oxikit) -> Result<Agent> {
        for tool in self.tools {
            ai.define_tool(tool);
        }
        let body = match (self.custom, self.prompt) {
            (Some(custom), _) => custom,
            (None, Some((prompt, input))) => {
                Body::Prompt(PromptBody { prompt, input, middleware: self.middleware })
            }
            (None, None) => {
                let own_prompt = match &self.description {
                    Some(description) => self.own_prompt.description(description),
                    None => self.own_prompt,
                };
                let prompt = ai.define_prompt(own_prompt)?.name().to_owned();
                Body::Prompt(PromptBody { prompt, input: json!({}), middleware: self.middleware })
            }
        };
        let definition = Arc::new(Definition {
            name: self.name,
            body,
            store: self.store,
            state_schema: self.state_schema,
            state_transform: self.state_transform,
            chunk_transform: self.chunk_transform,
            session_notes: self.session_notes,
            while_busy: self.while_busy,
            busy: Busy::default(),
        });
        let action = action(&definition, self.description, self.metadata);
        let registry = ai.registry();
        registry.register(action.clone());
        for companion in companions::actions(&definition) {
            registry.register(companion);
        }
        // Servers find the store by the agent's name, to list and delete its sessions.
        if let Some(store) = &definition.store {
            registry.state::<SessionStores>().set(&definition.name, store.clone());
            recover::watch(&definition, &action, registry);
        }
        Ok(Agent { definition, action, registry: registry.clone() })
    }
}

fn action(agent: &Arc<Definition>, description: Option<String>, metadata: JsonObject) -> Action {
    let mut builder = Action::builder(ActionKind::Agent, &agent.name)
        .metadata_from(metadata)
        .metadata("agent", json!(agent.metadata()));
    if let Some(description) = description {
        builder = builder.description(description);
    }
    let agent = agent.clone();
    builder.bidi(move |init, inputs, ctx, out| invoke(agent.clone(), init, inputs, ctx, out))
}

async fn invoke(
    agent: Arc<Definition>,
    init: AgentInit,
    inputs: Inputs<AgentInput>,
    ctx: Context,
    out: Emitter<AgentStreamChunk>,
) -> Result<AgentOutput> {
    // Stalled work is resumed by a call of the same action, so that it has a trace like any run.
    if let Some(output) = recover::resumption(&agent, &ctx).await {
        return output;
    }
    match start::begin(agent, &ctx, init, out).await? {
        Start::Ready(conversation) => conversation.run(inputs).await,
        Start::Refused(output) => Ok(*output),
    }
}

impl Oxikit {
    /// Defines an agent, and the actions beside it by which its snapshots are read and its
    /// detached work is stopped. A mistake in its templates is reported here.
    ///
    /// An agent with a session store is defined inside of a Tokio runtime, because a task
    /// looks for detached work that a crash has interrupted. Outside of a runtime the agent
    /// works without that task, and a warning is logged.
    ///
    /// ```
    /// use oxikit::prelude::*;
    /// use oxikit::{Agent, MemorySessions};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let support = ai.define_agent(
    ///     Agent::builder("support")
    ///         .system("You help the customers of a tea shop.")
    ///         .store(MemorySessions::default()),
    /// )?;
    /// # let _ = support;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If a template of the agent is broken: the status says where.
    pub fn define_agent(&self, agent: AgentBuilder) -> Result<Agent> {
        agent.define(self)
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("name", &self.name)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
