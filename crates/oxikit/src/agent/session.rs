//! The conversation that an agent's code works on.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxikit_core::{Context, Emitter, Result, Schema, Status, json_patch};
use oxikit_wire::{
    AgentStreamChunk, Artifact, GenerateResponseChunk, Message, PatchKind, PatchOperation,
    SessionState, TurnEnd,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a client sees of a chunk; `None` drops it.
pub(super) type ChunkTransform =
    Arc<dyn Fn(AgentStreamChunk) -> Result<Option<AgentStreamChunk>> + Send + Sync>;

/// What a client sees of a state.
pub(super) type StateTransform = Arc<dyn Fn(SessionState) -> Result<SessionState> + Send + Sync>;

/// The session of a running agent: its messages, its custom state, its artifacts.
/// Cheap to clone; found from a tool by [`SessionExt::session`].
///
/// What is changed here is kept when the turn ends, and whoever reads the stream
/// hears of it at once. A turn that fails leaves the session as it was.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    id: String,
    live: Mutex<Live>,
    /// Held while a change is made and told, so that changes are told in order.
    telling: tokio::sync::Mutex<()>,
    out: Emitter<AgentStreamChunk>,
    transform: Option<StateTransform>,
    schema: Option<Schema>,
}

struct Live {
    state: SessionState,
    /// The custom state as the reader of this turn knows it; nothing at first.
    told: Option<Value>,
    /// The snapshot that this turn will be kept as.
    snapshot: Option<String>,
}

/// What an action's code can ask its [`Context`].
pub trait SessionExt {
    /// The session of the agent that this code runs for, if it does.
    fn session(&self) -> Option<&Session>;
}

impl SessionExt for Context {
    fn session(&self) -> Option<&Session> {
        self.ambient()
    }
}

impl Session {
    pub(super) fn new(
        id: String,
        state: SessionState,
        out: Emitter<AgentStreamChunk>,
        transform: Option<StateTransform>,
        schema: Option<Schema>,
    ) -> Self {
        let state = SessionState { session_id: Some(id.clone()), ..state };
        let live = Mutex::new(Live { state, told: None, snapshot: None });
        Self(Arc::new(Inner { id, live, telling: Default::default(), out, transform, schema }))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The conversation so far.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.live().state.messages.clone().unwrap_or_default()
    }

    /// Adds a message to the conversation.
    pub fn add_message(&self, message: impl Into<Arc<Message>>) {
        self.live().state.messages.get_or_insert_default().push(message.into());
    }

    /// Puts another conversation in its place.
    pub fn set_messages(&self, messages: Vec<Arc<Message>>) {
        self.live().state.messages = Some(messages);
    }

    /// Adds messages, in place of the last one if it is said anew.
    pub(super) fn go_on(&self, said: Vec<Arc<Message>>, replaces_last: bool) {
        let mut live = self.live();
        let messages = live.state.messages.get_or_insert_default();
        if replaces_last {
            messages.pop();
        }
        messages.extend(said);
    }

    /// The custom state, or the default of its type if there is none yet.
    pub fn state<S: DeserializeOwned + Default>(&self) -> Result<S> {
        read(self.live().state.custom.as_deref())
    }

    /// Changes the custom state, and answers what the function answers. Whoever
    /// reads the stream is told the difference.
    pub async fn update<S, R>(&self, change: impl FnOnce(&mut S) -> R) -> Result<R>
    where
        S: Serialize + DeserializeOwned + Default,
    {
        let _telling = self.0.telling.lock().await;
        let (answer, patch) = {
            let mut live = self.live();
            let mut state: S = read(live.state.custom.as_deref())?;
            let answer = change(&mut state);
            let custom = serde_json::to_value(&state)?;
            if let Some(schema) = &self.0.schema {
                schema.validate(&custom)?;
            }
            live.state.custom = Some(Arc::new(custom));
            (answer, self.untold(&mut live)?)
        };
        if let Some(patch) = patch {
            let chunk = AgentStreamChunk { custom_patch: Some(patch), ..Default::default() };
            self.0.out.send(chunk).await?;
        }
        Ok(answer)
    }

    /// What the agent has made.
    pub fn artifacts(&self) -> Vec<Arc<Artifact>> {
        self.live().state.artifacts.clone().unwrap_or_default()
    }

    /// Adds something that the agent has made. It takes the place of an artifact of
    /// the same name.
    pub async fn add_artifact(&self, artifact: impl Into<Arc<Artifact>>) -> Result<()> {
        let artifact = artifact.into();
        let _telling = self.0.telling.lock().await;
        {
            let mut live = self.live();
            let known = live.state.artifacts.get_or_insert_default();
            let named = artifact.name.as_ref().filter(|name| !name.is_empty());
            match known.iter_mut().find(|known| named.is_some() && known.name.as_ref() == named) {
                Some(former) => *former = artifact.clone(),
                None => known.push(artifact.clone()),
            }
        }
        self.0.out.send(AgentStreamChunk { artifact: Some(artifact), ..Default::default() }).await
    }

    /// Names a tool request of this turn.
    pub(crate) fn idempotency_key(&self, tool: &str, reference: Option<&str>) -> String {
        let live = self.live();
        let turn = live.snapshot.as_deref().unwrap_or(&self.0.id);
        format!("{turn}/{tool}/{}", reference.unwrap_or_default())
    }

    /// Passes a piece of the model's answer on.
    pub(super) async fn tell_chunk(&self, chunk: GenerateResponseChunk) -> Result<()> {
        let chunk = AgentStreamChunk { model_chunk: Some(chunk), ..Default::default() };
        self.0.out.send(chunk).await
    }

    pub(super) async fn tell_end(&self, end: TurnEnd) -> Result<()> {
        self.0.out.send(AgentStreamChunk { turn_end: Some(end), ..Default::default() }).await
    }

    /// Where chunks go.
    pub(super) fn out(&self) -> &Emitter<AgentStreamChunk> {
        &self.0.out
    }

    /// The reader knows nothing at the beginning of a turn.
    pub(super) fn begin_turn(&self, snapshot: Option<String>) {
        let mut live = self.live();
        live.told = None;
        live.snapshot = snapshot;
    }

    /// All of it, as it is kept. What it consists of is shared.
    pub(super) fn to_state(&self) -> SessionState {
        self.live().state.clone()
    }

    /// What the reader has to be told of the custom state: all of it first, then
    /// the difference.
    fn untold(&self, live: &mut Live) -> Result<Option<Vec<PatchOperation>>> {
        if !self.0.out.is_wanted() {
            return Ok(None);
        }
        let custom = match &self.0.transform {
            Some(transform) => transform(live.state.clone())?.custom,
            None => live.state.custom.clone(),
        };
        let custom = custom.as_deref().cloned().unwrap_or(Value::Null);
        let patch = match &live.told {
            Some(told) => json_patch::diff(told, &custom),
            None => vec![PatchOperation {
                op: PatchKind::Replace,
                path: String::new(),
                from: None,
                value: Some(custom.clone()),
            }],
        };
        live.told = Some(custom);
        Ok(Some(patch).filter(|patch| !patch.is_empty()))
    }

    // Guards plain data that is whole after every statement.
    fn live(&self) -> MutexGuard<'_, Live> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read<S: DeserializeOwned + Default>(custom: Option<&Value>) -> Result<S> {
    let Some(custom) = custom else { return Ok(S::default()) };
    S::deserialize(custom).map_err(|error| {
        Status::internal(format!("the custom state is not of the type asked for: {error}"))
            .caused_by(error)
    })
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.0.id).finish_non_exhaustive()
    }
}
