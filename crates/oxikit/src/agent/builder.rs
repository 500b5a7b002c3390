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

    /// What it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// One more metadata member.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Instructions for the model; a template.
    pub fn system(mut self, template: impl Into<String>) -> Self {
        self.own_prompt = self.own_prompt.system(template);
        self
    }

    /// Which model to ask; the application's default one unless set.
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        self.own_prompt = self.own_prompt.model(model);
        self
    }

    /// The model's configuration.
    pub fn config(mut self, config: impl Serialize) -> Self {
        self.own_prompt = self.own_prompt.config(config);
        self
    }

    /// A tool that the model may ask for. It finds the session by
    /// [`SessionExt::session`](super::SessionExt::session).
    pub fn tool(mut self, tool: Tool) -> Self {
        self.own_prompt = self.own_prompt.tool(tool.name());
        self.tools.push(tool);
        self
    }

    /// A defined tool, by name.
    pub fn tool_named(mut self, name: impl AsRef<str>) -> Self {
        self.own_prompt = self.own_prompt.tool(name);
        self
    }

    /// Whether the model may, must or must not ask for tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.own_prompt = self.own_prompt.tool_choice(choice);
        self
    }

    /// How many rounds of tools a turn may take.
    pub fn max_turns(mut self, max_turns: u64) -> Self {
        self.own_prompt = self.own_prompt.max_turns(max_turns);
        self
    }

    /// Asks by a defined prompt, such as a file, with this input. It puts the
    /// conversation where it says `{{history}}`. What is set here of model, system
    /// and tools is not used then.
    pub fn prompt(mut self, name: impl Into<String>, input: impl Serialize) -> Self {
        self.prompt = Some((name.into(), serde_json::to_value(input).unwrap_or_default()));
        self
    }

    /// Wraps the generate calls of every turn.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Does the turns by code instead of a prompt. `S` is the type of the custom
    /// state.
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

    /// The type of the custom state, which tools read and change.
    pub fn state<S: JsonSchema>(mut self) -> Self {
        self.state_schema = Some(Schema::of::<S>());
        self
    }

    /// Keeps the sessions here. Without a store, clients keep the state and send it
    /// with every turn.
    pub fn store(self, store: impl SessionStore + 'static) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Keeps the sessions in a store that others use too.
    pub fn shared_store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// What happens to a message while another one of its session is worked on.
    pub fn while_busy(mut self, policy: WhileBusy) -> Self {
        self.while_busy = policy;
        self
    }

    /// Makes the metadata of a new session, such as who began it.
    pub fn session_metadata(
        mut self,
        notes: impl Fn(&ActionContext) -> JsonObject + Send + Sync + 'static,
    ) -> Self {
        self.session_notes = Some(Box::new(notes));
        self
    }

    /// Changes what clients see of a state: to cover members, say. What is stored
    /// stays as it is. If it fails, the client sees nothing.
    pub fn transform_state(
        mut self,
        transform: impl Fn(SessionState) -> Result<SessionState> + Send + Sync + 'static,
    ) -> Self {
        self.state_transform = Some(Arc::new(transform));
        self
    }

    /// Changes what clients see of a chunk; `None` drops it. If it fails, the turn
    /// fails.
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
    if let Some(output) = recover::resumption(&agent, &ctx).await {
        return output;
    }
    match start::begin(agent, &ctx, init, out).await? {
        Start::Ready(conversation) => conversation.run(inputs).await,
        Start::Refused(output) => Ok(*output),
    }
}

impl Oxikit {
    /// Defines an agent. What is wrong with it is reported here.
    ///
    /// ```
    /// use oxikit::prelude::*;
    /// use oxikit::{Agent, MemorySessions};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();
    /// let support = ai.define_agent(
    ///     Agent::builder("support")
    ///         .system("You help the customers of a tea shop.")
    ///         .store(MemorySessions::default()),
    /// )?;
    /// # let _ = support;
    /// # Ok(()) }
    /// ```
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
