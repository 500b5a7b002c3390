//! The session that an agent's code works on during a turn: messages, custom state, artifacts.
//!
//! It is the copy in memory. What is stored, and when, is decided by `conversation` and
//! `writer`.

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

/// Turns a chunk into what clients see; `None` drops the chunk.
pub(super) type ChunkTransform =
    Arc<dyn Fn(AgentStreamChunk) -> Result<Option<AgentStreamChunk>> + Send + Sync>;

/// Turns a state into what clients see.
pub(super) type StateTransform = Arc<dyn Fn(SessionState) -> Result<SessionState> + Send + Sync>;

/// The session of a running agent: its messages, its custom state, its artifacts.
/// Cheap to clone; found from a tool by [`SessionExt::session`].
///
/// Changes are saved when the turn ends, and the reader of the stream
/// gets them at once. A turn that fails leaves the session as it was.
///
/// ```
/// use oxikit::prelude::*;
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Cart {
///     items: Vec<String>,
/// }
///
/// /// Puts an item into the cart.
/// #[tool]
/// async fn add_to_cart(item: String, ctx: Context) -> Result<usize> {
///     let session = ctx.session().ok_or_else(|| Status::internal("no agent runs this tool"))?;
///     session.update(|cart: &mut Cart| { cart.items.push(item); cart.items.len() }).await
/// }
/// ```
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    id: String,
    live: Mutex<Live>,
    /// Held while a change is made and sent, so that changes are sent in order.
    send_order: tokio::sync::Mutex<()>,
    out: Emitter<AgentStreamChunk>,
    transform: Option<StateTransform>,
    schema: Option<Schema>,
}

struct Live {
    state: SessionState,
    /// The custom state as the reader of this turn knows it; `None` before the first patch.
    sent_custom: Option<Value>,
    /// The snapshot that this turn will be kept as.
    snapshot: Option<String>,
}

/// Access to the session from the [`Context`] of an action.
pub trait SessionExt {
    /// The session of the agent that this code runs for; `None` outside of agents, such as in
    /// a tool that a flow calls.
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
        let live = Mutex::new(Live { state, sent_custom: None, snapshot: None });
        Self(Arc::new(Inner { id, live, send_order: Default::default(), out, transform, schema }))
    }

    /// The id of the session. It stays the same for all turns and branches.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The conversation so far, with the message of the running turn. Instructions of the
    /// prompt are not part of it. The messages are shared, not copied.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.live().state.messages.clone().unwrap_or_default()
    }

    /// Adds a message to the conversation. Clients see it with the end of the turn, not as a
    /// chunk.
    pub fn add_message(&self, message: impl Into<Arc<Message>>) {
        self.live().state.messages.get_or_insert_default().push(message.into());
    }

    /// Replaces the whole conversation, for example by a summary of it.
    pub fn set_messages(&self, messages: Vec<Arc<Message>>) {
        self.live().state.messages = Some(messages);
    }

    /// Appends messages; with `replaces_last` they replace the last one, as after a resume.
    pub(super) fn append(&self, added: Vec<Arc<Message>>, replaces_last: bool) {
        let mut live = self.live();
        let messages = live.state.messages.get_or_insert_default();
        if replaces_last {
            messages.pop();
        }
        messages.extend(added);
    }

    /// The custom state, or the default of its type if there is none yet. It is a copy; changes
    /// are made by [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the state is not an `S`.
    pub fn state<S: DeserializeOwned + Default>(&self) -> Result<S> {
        read(self.live().state.custom.as_deref())
    }

    /// Changes the custom state, and returns the result of the function. The
    /// difference is sent to the reader of the stream as a JSON patch. Concurrent updates, such
    /// as those of several tools, are applied one after another.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the state is not an `S` or cannot be written as JSON, `INVALID_ARGUMENT`
    /// if the changed state does not fit its schema; then the state stays as it was.
    /// `CANCELLED` if the reader of the stream has gone.
    pub async fn update<S, R>(&self, change: impl FnOnce(&mut S) -> R) -> Result<R>
    where
        S: Serialize + DeserializeOwned + Default,
    {
        // The lock is held until the patch is sent: patches that arrive in another order than
        // they were made would give the reader a wrong state.
        let _in_order = self.0.send_order.lock().await;
        let (answer, patch) = {
            let mut live = self.live();
            let mut state: S = read(live.state.custom.as_deref())?;
            let answer = change(&mut state);
            let custom = serde_json::to_value(&state)?;
            if let Some(schema) = &self.0.schema {
                schema.validate(&custom)?;
            }
            live.state.custom = Some(Arc::new(custom));
            (answer, self.unsent_patch(&mut live)?)
        };
        if let Some(patch) = patch {
            let chunk = AgentStreamChunk { custom_patch: Some(patch), ..Default::default() };
            self.0.out.send(chunk).await?;
        }
        Ok(answer)
    }

    /// The artifacts of the session.
    pub fn artifacts(&self) -> Vec<Arc<Artifact>> {
        self.live().state.artifacts.clone().unwrap_or_default()
    }

    /// Adds an artifact: a document, image or other result that the agent has made. It replaces
    /// an artifact of the same name; artifacts without a name are only added. The reader of the
    /// stream gets it at once.
    ///
    /// # Errors
    ///
    /// `CANCELLED` if the reader of the stream has gone.
    pub async fn add_artifact(&self, artifact: impl Into<Arc<Artifact>>) -> Result<()> {
        let artifact = artifact.into();
        let _in_order = self.0.send_order.lock().await;
        {
            let mut live = self.live();
            let known = live.state.artifacts.get_or_insert_default();
            let named = artifact.name.as_ref().filter(|name| !name.is_empty());
            match known.iter_mut().find(|known| named.is_some() && known.name.as_ref() == named) {
                Some(previous) => *previous = artifact.clone(),
                None => known.push(artifact.clone()),
            }
        }
        self.0.out.send(AgentStreamChunk { artifact: Some(artifact), ..Default::default() }).await
    }

    /// A key for a tool request of this turn. It is made of the snapshot's id and not of the
    /// process, so that the same request has the same key after a crash.
    pub(crate) fn idempotency_key(&self, tool: &str, reference: Option<&str>) -> String {
        let live = self.live();
        let turn = live.snapshot.as_deref().unwrap_or(&self.0.id);
        format!("{turn}/{tool}/{}", reference.unwrap_or_default())
    }

    /// Passes a piece of the model's answer on.
    pub(super) async fn send_chunk(&self, chunk: GenerateResponseChunk) -> Result<()> {
        let chunk = AgentStreamChunk { model_chunk: Some(chunk), ..Default::default() };
        self.0.out.send(chunk).await
    }

    /// Sends the end of the turn, with the id of its snapshot.
    pub(super) async fn send_end(&self, end: TurnEnd) -> Result<()> {
        self.0.out.send(AgentStreamChunk { turn_end: Some(end), ..Default::default() }).await
    }

    /// The emitter of the agent's chunks, after the chunk transform.
    pub(super) fn out(&self) -> &Emitter<AgentStreamChunk> {
        &self.0.out
    }

    /// Begins a turn. The first change of the custom state sends the whole state again: the
    /// reader of this turn may be another one than that of the last.
    pub(super) fn begin_turn(&self, snapshot: Option<String>) {
        let mut live = self.live();
        live.sent_custom = None;
        live.snapshot = snapshot;
    }

    /// The whole state, as it is stored. Messages and artifacts are shared, not copied.
    pub(super) fn to_state(&self) -> SessionState {
        self.live().state.clone()
    }

    /// The patch that brings the reader's copy of the custom state up to date: first the whole
    /// state, then differences.
    fn unsent_patch(&self, live: &mut Live) -> Result<Option<Vec<PatchOperation>>> {
        if !self.0.out.is_wanted() {
            return Ok(None);
        }
        let custom = match &self.0.transform {
            Some(transform) => transform(live.state.clone())?.custom,
            None => live.state.custom.clone(),
        };
        let custom = custom.as_deref().cloned().unwrap_or(Value::Null);
        let patch = match &live.sent_custom {
            Some(sent) => json_patch::diff(sent, &custom),
            None => vec![PatchOperation {
                op: PatchKind::Replace,
                path: String::new(),
                from: None,
                value: Some(custom.clone()),
            }],
        };
        live.sent_custom = Some(custom);
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
