//! Background operations: work that is started by one call, checked by later ones, and can be
//! cancelled.
//!
//! One definition makes up to three actions: the one that starts the work, and
//! beside it `/check-operation/<name>/check` and `/cancel-operation/<name>/cancel`.
//! An [`Operation`] contains the key of the first, by which the other two are found. So an
//! operation can be stored, and checked by another process with the same definitions.

use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use oxikit_core::{
    Action, ActionInput, ActionKind, Call, Context, Handler, Result, Schema, Status, StatusCode,
};
use oxikit_wire::{
    GenerateRequest, GenerateResponse, JsonObject, ModelInfo, ModelSupports, Operation,
};
use serde_json::{Value, json};

use crate::Oxikit;
use crate::answer::answering;
use crate::model::labelled;

/// An action that starts work and answers an [`Operation`] at once. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct BackgroundAction {
    start: Action,
    check: Action,
    cancel: Option<Action>,
}

/// A model that answers later, such as one that makes videos. Cheap to clone.
///
/// A generate call with it returns at once; the operation is checked until it is done:
///
/// ```
/// use oxikit::prelude::*;
/// use oxikit::wire::GenerateRequest;
/// use oxikit::{BackgroundModel, Operation};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// # let ai = Oxikit::builder().build()?;
/// # ai.define_background_model(
/// #     BackgroundModel::builder("acme/video-1")
/// #         .start(|_: GenerateRequest| async { Ok(Operation::started("job-1")) })
/// #         .check(|operation: Operation| async move { Ok(operation.finished("done")) }),
/// # );
/// let reply = ai.generate().model("acme/video-1").prompt("A cat on a skateboard").await?;
/// let mut operation = reply.operation().cloned().unwrap();
/// while operation.done != Some(true) {
///     operation = ai.check_operation(&operation).await?;
/// }
/// assert_eq!(operation.output, Some("done".into()));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct BackgroundModel(BackgroundAction);

impl BackgroundAction {
    /// Begins the definition of a background action; `kind` is the kind of the
    /// action that starts the work.
    pub fn builder(kind: ActionKind, name: impl Into<String>) -> BackgroundActionBuilder {
        BackgroundActionBuilder {
            kind,
            name: name.into(),
            description: None,
            metadata: JsonObject::new(),
        }
    }

    /// Sets the function that cancels the work: it takes the operation, and if it wants
    /// it, the [`Context`], and answers the operation as it is then. Without it,
    /// [`Oxikit::cancel_operation`] fails with `UNIMPLEMENTED`.
    #[must_use]
    pub fn cancel<H, Args>(mut self, function: H) -> Self
    where
        H: Handler<Args, In = Operation, Out = Operation>,
    {
        let name = format!("{}/cancel", self.name());
        let cancel = follow_up(&self.start, ActionKind::CancelOperation, name, function);
        self.cancel = Some(cancel);
        self
    }

    /// The name of the action that starts the work.
    pub fn name(&self) -> &str {
        self.start.name()
    }

    /// The action that starts the work.
    pub fn action(&self) -> &Action {
        &self.start
    }

    /// All actions behind it, for a plugin that registers them itself.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        [&self.start, &self.check].into_iter().chain(&self.cancel)
    }
}

/// An action that takes an operation of `start`.
fn follow_up<H, Args>(start: &Action, kind: ActionKind, name: String, function: H) -> Action
where
    H: Handler<Args, In = Operation, Out = Operation>,
{
    let about = start.descriptor();
    let mut action =
        Action::builder(kind, name).metadata_from(about.metadata.clone().unwrap_or_default());
    if let Some(description) = &about.description {
        action = action.description(description.clone());
    }
    action.handler(signed(start.key().to_owned(), function))
}

/// The function, with the key of the action that started the work in every operation that it
/// answers. Functions need not set it, and cannot set another one.
fn signed<H, Args>(
    key: String,
    function: H,
) -> impl Fn(H::In, Context) -> BoxFuture<'static, Result<Operation>> + Send + Sync + 'static
where
    H: Handler<Args, Out = Operation>,
    H::In: ActionInput,
{
    let function = answering::<_, _, Operation>(function);
    move |input, ctx| {
        let (answer, key) = (function(input, ctx), key.clone());
        Box::pin(async move {
            let mut operation = answer.await?;
            operation.action = Some(key);
            Ok(operation)
        })
    }
}

impl BackgroundModel {
    /// Begins the definition of a model that answers later, such as
    /// `acme/video-1`.
    pub fn builder(name: impl Into<String>) -> BackgroundModelBuilder {
        BackgroundModelBuilder { name: name.into(), info: ModelInfo::default() }
    }

    /// Sets the function that cancels the work; see [`BackgroundAction::cancel`].
    #[must_use]
    pub fn cancel<H, Args>(self, function: H) -> Self
    where
        H: Handler<Args, In = Operation, Out = Operation>,
    {
        Self(self.0.cancel(function))
    }

    /// The name by which generate calls find it.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The action that starts the work.
    pub fn action(&self) -> &Action {
        self.0.action()
    }
}

impl From<BackgroundAction> for BackgroundModel {
    fn from(action: BackgroundAction) -> Self {
        Self(action)
    }
}

impl From<BackgroundModel> for BackgroundAction {
    fn from(model: BackgroundModel) -> Self {
        model.0
    }
}

/// The definition of a [`BackgroundAction`].
#[derive(Debug, Clone)]
#[must_use = "a background action is made by `start` and then `check`"]
pub struct BackgroundActionBuilder {
    kind: ActionKind,
    name: String,
    description: Option<String>,
    metadata: JsonObject,
}

impl BackgroundActionBuilder {
    /// Sets the description, for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a member to the metadata of all its actions.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets the function that starts the work: it takes the input, and if it wants
    /// it, the [`Context`], and answers an [`Operation`] without waiting for the work.
    pub fn start<H, Args>(self, function: H) -> BackgroundStart<BackgroundAction>
    where
        H: Handler<Args, Out = Operation>,
        H::In: ActionInput,
    {
        self.started(function)
    }

    fn started<H, Args, T>(self, function: H) -> BackgroundStart<T>
    where
        H: Handler<Args, Out = Operation>,
        H::In: ActionInput,
    {
        let mut action = Action::builder(self.kind, &*self.name).metadata_from(self.metadata);
        if let Some(description) = self.description {
            action = action.description(description);
        }
        let key = format!("/{}/{}", self.kind, self.name);
        BackgroundStart { start: action.handler(signed(key, function)), made: PhantomData }
    }
}

/// The definition of a [`BackgroundModel`].
#[derive(Debug, Clone)]
#[must_use = "a background model is made by `start` and then `check`"]
pub struct BackgroundModelBuilder {
    name: String,
    info: ModelInfo,
}

impl BackgroundModelBuilder {
    /// Sets the name that the developer tools show; the model's name unless set.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.info.label = Some(label.into());
        self
    }

    /// Sets all information about the model, in place of what was set before.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Sets the abilities of the model, for the developer tools. Requests are not adapted to
    /// them, unlike those of a [`Model`](crate::Model).
    pub fn supports(mut self, supports: ModelSupports) -> Self {
        self.info.supports = Some(supports);
        self
    }

    /// Sets the function that starts the work: it takes a [`GenerateRequest`], and if
    /// it wants it, the [`Context`], and answers an [`Operation`] without waiting for the work.
    pub fn start<H, Args>(self, function: H) -> BackgroundStart<BackgroundModel>
    where
        H: Handler<Args, In = GenerateRequest, Out = Operation>,
    {
        let (label, info) = labelled(&self.name, self.info);
        let output_schema = Schema::of::<GenerateResponse>().as_json().clone();
        BackgroundAction::builder(ActionKind::BackgroundModel, self.name)
            .description(label)
            .metadata("type", "background-model")
            .metadata("model", json!(info))
            .metadata("outputSchema", output_schema)
            .started(function)
    }
}

/// A definition that can start work and still lacks the way to
/// [`check`](Self::check) on it.
#[derive(Debug)]
#[must_use = "a background action is made by `check`"]
pub struct BackgroundStart<T> {
    start: Action,
    made: PhantomData<fn() -> T>,
}

impl<T: From<BackgroundAction>> BackgroundStart<T> {
    /// Sets the function that checks the work: it takes the operation, and if it
    /// wants it, the [`Context`], and answers the operation as it is now.
    pub fn check<H, Args>(self, function: H) -> T
    where
        H: Handler<Args, In = Operation, Out = Operation>,
    {
        let name = format!("{}/check", self.start.name());
        let check = follow_up(&self.start, ActionKind::CheckOperation, name, function);
        T::from(BackgroundAction { start: self.start, check, cancel: None })
    }
}

impl Oxikit {
    /// Defines work that is started by one call and checked by later ones.
    ///
    /// ```
    /// use oxikit::{ActionKind, BackgroundAction, Call, Operation, Oxikit};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// let bake = ai.define_background_action(
    ///     BackgroundAction::builder(ActionKind::Custom, "bake")
    ///         .start(|cake: String| async move { Ok(Operation::started(cake)) })
    ///         .check(|operation: Operation| async move { Ok(operation.finished("baked")) }),
    /// );
    /// let started: Operation = bake.action().run(Call::new("lemon cake")).await?.parse()?;
    /// assert_eq!(started.action.as_deref(), Some("/custom/bake"));
    /// let checked = ai.check_operation(&started).await?;
    /// assert_eq!(checked.output, Some("baked".into()));
    /// # Ok(()) }
    /// ```
    pub fn define_background_action(&self, action: BackgroundAction) -> BackgroundAction {
        for action in action.actions() {
            self.registry().register(action.clone());
        }
        action
    }

    /// Defines a model that answers later. A generate call with it answers at
    /// once, with an operation in place of a message.
    ///
    /// ```
    /// use oxikit::wire::GenerateRequest;
    /// use oxikit::{BackgroundModel, Operation, Oxikit};
    ///
    /// let ai = Oxikit::builder().build()?;
    /// let model = ai.define_background_model(
    ///     BackgroundModel::builder("acme/video-1")
    ///         .label("Acme video")
    ///         .start(|request: GenerateRequest| async move { Ok(Operation::started("job-1")) })
    ///         .check(|operation: Operation| async move { Ok(operation) })
    ///         .cancel(|operation: Operation| async move { Ok(operation.failed("cancelled")) }),
    /// );
    /// assert_eq!(model.action().key(), "/background-model/acme/video-1");
    /// # Ok::<(), oxikit::Status>(())
    /// ```
    pub fn define_background_model(&self, model: BackgroundModel) -> BackgroundModel {
        BackgroundModel(self.define_background_action(model.0))
    }

    /// Checks an operation, and returns it as it is now. The operation may come from another
    /// process that has the same actions, for example out of a database.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the operation does not say which action started it, `NOT_FOUND` if
    /// that action is not defined here.
    pub async fn check_operation(&self, operation: &Operation) -> Result<Operation> {
        let (key, name) = origin(operation)?;
        let name = format!("{name}/check");
        let action = self.registry().resolve(ActionKind::CheckOperation, &name);
        match action.await? {
            Some(action) => self.follow(action, operation).await,
            None => Err(foreign(operation, key)),
        }
    }

    /// Cancels an operation and answers it as it is then.
    ///
    /// # Errors
    ///
    /// As [`check_operation`](Self::check_operation), and `UNIMPLEMENTED` if the action cannot
    /// cancel operations.
    pub async fn cancel_operation(&self, operation: &Operation) -> Result<Operation> {
        let (key, name) = origin(operation)?;
        let cancel = format!("{name}/cancel");
        let action = self.registry().resolve(ActionKind::CancelOperation, &cancel);
        if let Some(action) = action.await? {
            return self.follow(action, operation).await;
        }
        let check = format!("{name}/check");
        let check = self.registry().resolve(ActionKind::CheckOperation, &check);
        Err(match check.await? {
            Some(_) => Status::public(
                StatusCode::Unimplemented,
                format!("operations of `{key}` cannot be cancelled"),
            ),
            None => foreign(operation, key),
        })
    }

    async fn follow(&self, action: Action, operation: &Operation) -> Result<Operation> {
        let call = Call::new(operation.clone()).in_registry(self.registry());
        action.run(call).await?.parse()
    }
}

/// Key and name of the action that started an operation.
fn origin(operation: &Operation) -> Result<(&str, &str)> {
    let Some(key) = operation.action.as_deref() else {
        return Err(Status::invalid_argument(format!(
            "operation `{}` does not say what started it: its member `action` is missing",
            operation.id
        )));
    };
    let name = key
        .strip_prefix('/')
        .and_then(|key| key.split_once('/'))
        .map(|(_, name)| name)
        .filter(|name| !name.is_empty());
    match name {
        Some(name) => Ok((key, name)),
        None => Err(Status::invalid_argument(format!(
            "operation `{}` says that `{key}` started it, which is not the key of an action",
            operation.id
        ))),
    }
}

/// The error of an operation whose action is not defined here.
fn foreign(operation: &Operation, key: &str) -> Status {
    Status::not_found(format!(
        "operation `{}` was started by `{key}`, which is not a background action here",
        operation.id
    ))
}
