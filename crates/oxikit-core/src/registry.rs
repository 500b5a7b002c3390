//! The actions of an application, by key.
//!
//! The registry also holds what belongs to the application as a whole: resolvers of actions, named
//! values for the developer tools, span exporters, and one value of each type that other crates
//! need ([`Registry::state`]). It does not run actions in the background or own any task.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use async_trait::async_trait;
use oxikit_wire::ActionDescriptor;
use serde_json::Value;

use crate::span::Secrets;
use crate::{
    Action, ActionKind, Call, OpenSpan, Payload, Result, SpanExporter, SpanRecord, Status, notice,
};

/// Makes actions on demand, such as the models of a provider.
///
/// The registry calls a resolver only for names with its namespace, and registers the action that
/// it returns: the next lookup of the same name does not reach the resolver.
///
/// ```
/// use std::sync::Arc;
///
/// use async_trait::async_trait;
/// use oxikit_core::{Action, ActionKind, ActionResolver, Call, Registry, Result};
///
/// /// Makes `units/<factor>`, which multiplies by that factor.
/// struct Units;
///
/// #[async_trait]
/// impl ActionResolver for Units {
///     fn namespace(&self) -> &str {
///         "units"
///     }
///
///     async fn resolve(&self, kind: ActionKind, name: &str) -> Result<Option<Action>> {
///         let factor = name.trim_start_matches("units/").parse::<f64>();
///         let (ActionKind::Flow, Ok(factor)) = (kind, factor) else { return Ok(None) };
///         let action = Action::builder(kind, name);
///         Ok(Some(action.handler(move |value: f64| async move { Ok(value * factor) })))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let registry = Registry::default();
/// registry.add_resolver(Arc::new(Units));
/// let output = registry.run("/flow/units/2.5", Call::new(4.0)).await?;
/// assert_eq!(output.parse::<f64>()?, 10.0);
/// # Ok(()) }
/// ```
#[async_trait]
pub trait ActionResolver: Send + Sync {
    /// Prefix of the names of its actions, before the `/`.
    fn namespace(&self) -> &str;

    /// Makes the action, or returns `None` if the resolver does not know it. `name` includes
    /// the namespace. May be called again for the same name, also at the same time. An error
    /// fails the lookup.
    async fn resolve(&self, kind: ActionKind, name: &str) -> Result<Option<Action>>;

    /// The actions that could be resolved, for the developer tools. Names that are not listed can
    /// be resolved too; the default lists none.
    async fn list(&self) -> Result<Vec<ActionDescriptor>> {
        Ok(Vec::new())
    }
}

/// All actions of an application. Cheap to clone; clones share everything.
///
/// ```
/// use oxikit_core::{Action, ActionKind, Call, Context, Registry, Result};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let registry = Registry::default();
/// let flow = |name: &str| Action::builder(ActionKind::Flow, name);
/// registry.register(flow("double").handler(|n: u32| async move { Ok(n * 2) }));
/// registry.register(flow("quadruple").handler(|n: u32, ctx: Context| async move {
///     // An action calls another one by its key.
///     let doubled = ctx.registry().run("/flow/double", Call::new(n)).await?;
///     ctx.registry().run("/flow/double", Call::new(doubled)).await?.parse::<u32>()
/// }));
///
/// let output = registry.run("/flow/quadruple", Call::new(3)).await?;
/// assert_eq!(output.parse::<u32>()?, 12);
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Registry(Arc<Inner>);

/// A handle that does not keep its [`Registry`] alive. Values that the registry owns, such as its
/// actions, hold this one to refer to it: a strong handle would never be freed.
#[derive(Clone)]
pub struct WeakRegistry(Weak<Inner>);

impl WeakRegistry {
    /// The registry, as long as another handle keeps it alive.
    pub fn upgrade(&self) -> Option<Registry> {
        self.0.upgrade().map(Registry)
    }
}

impl fmt::Debug for WeakRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakRegistry")
    }
}

#[derive(Default)]
struct Inner {
    actions: RwLock<HashMap<String, Action>>,
    resolvers: RwLock<Vec<Arc<dyn ActionResolver>>>,
    values: RwLock<BTreeMap<(&'static str, String), Value>>,
    /// Empty until the first is added, so that applications without tracing do not pay for it.
    exporter: OnceLock<RwLock<Arc<dyn SpanExporter>>>,
    records_secrets: AtomicBool,
    shows_failures: AtomicBool,
    states: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// Messages about names that were defined twice, while they are collected.
    duplicates: RwLock<Option<Vec<String>>>,
}

impl Registry {
    /// Adds an action. Another one with the same key is replaced, with a
    /// [warning](crate::notice): two definitions of one name are mostly a mistake.
    /// [`replace`](Self::replace) is for those that are meant.
    ///
    /// ```
    /// use oxikit_core::{Action, ActionKind, Call, Registry};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit_core::Result<()> {
    /// let flow = |answer: &'static str| {
    ///     Action::builder(ActionKind::Flow, "greet").handler(move |_: ()| async move { Ok(answer) })
    /// };
    /// let registry = Registry::default();
    /// registry.register(flow("first"));
    /// registry.register(flow("second")); // warns
    /// let output = registry.run("/flow/greet", Call::new(())).await?;
    /// assert_eq!(output.parse::<String>()?, "second");
    /// # Ok(()) }
    /// ```
    pub fn register(&self, action: Action) {
        let previous = self.replace(action.clone());
        if previous.is_some_and(|previous| !previous.is_same(&action)) {
            let (kind, name) = (action.kind(), action.name());
            self.report_duplicate(format!(
                "two definitions of the {kind} `{name}`: the later one replaces the earlier; give one of them another name"
            ));
        }
    }

    /// Adds an action without a warning, and returns the action with the same key that it replaces.
    pub fn replace(&self, action: Action) -> Option<Action> {
        write(&self.0.actions).insert(action.key().to_owned(), action)
    }

    /// Removes the action with this key and returns it. Its runs go on.
    pub fn remove(&self, key: &str) -> Option<Action> {
        write(&self.0.actions).remove(key)
    }

    /// The registered action with this key. Resolvers are not asked.
    pub fn get(&self, key: &str) -> Option<Action> {
        read(&self.0.actions).get(key).cloned()
    }

    /// The action of this kind and name. If it is not registered, the resolver of its namespace is
    /// asked, and the result is registered. `None` if neither knows it.
    ///
    /// # Errors
    ///
    /// The error of the resolver, if it fails.
    pub async fn resolve(&self, kind: ActionKind, name: &str) -> Result<Option<Action>> {
        let key = format!("/{kind}/{name}");
        if let Some(action) = self.get(&key) {
            return Ok(Some(action));
        }
        let Some((namespace, _)) = name.split_once('/') else {
            return Ok(None);
        };
        let resolver = read(&self.0.resolvers)
            .iter()
            .find(|resolver| resolver.namespace() == namespace)
            .cloned();
        let Some(resolver) = resolver else {
            return Ok(None);
        };
        let action = resolver.resolve(kind, name).await?;
        if let Some(action) = &action {
            // `replace`, not `register`: two callers may have resolved it at the same time, and
            // that is not a duplicate definition.
            self.replace(action.clone());
        }
        Ok(action)
    }

    /// The action with this key, such as `/flow/greet`. If it is not registered, the resolver of
    /// its namespace is asked.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such action; the error of the resolver, if it fails.
    pub async fn resolve_key(&self, key: &str) -> Result<Action> {
        if let Some(action) = self.get(key) {
            return Ok(action);
        }
        let missing = || Status::not_found(format!("action {key} not found"));
        let (kind, name) =
            key.strip_prefix('/').and_then(|key| key.split_once('/')).ok_or_else(missing)?;
        let kind = kind.parse().map_err(|_| missing())?;
        self.resolve(kind, name).await?.ok_or_else(missing)
    }

    /// Runs the action with this key to its end, and returns the output.
    ///
    /// # Errors
    ///
    /// As [`resolve_key`](Self::resolve_key) and [`Action::run`].
    pub async fn run(&self, key: &str, call: Call) -> Result<Payload> {
        let action = self.resolve_key(key).await?;
        action.run(call.in_registry(self)).await
    }

    /// All registered actions, by key.
    pub fn list(&self) -> Vec<Action> {
        let mut actions: Vec<_> = read(&self.0.actions).values().cloned().collect();
        actions.sort_by(|a, b| a.key().cmp(b.key()));
        actions
    }

    /// Descriptors of all actions, also of those that resolvers could make.
    /// A resolver that fails is left out with a warning.
    pub async fn list_resolvable(&self) -> BTreeMap<String, ActionDescriptor> {
        let mut all = BTreeMap::new();
        let resolvers = read(&self.0.resolvers).clone();
        for resolver in resolvers {
            match resolver.list().await {
                Ok(list) => all.extend(list.into_iter().map(|entry| (entry.key.clone(), entry))),
                Err(status) => {
                    tracing::warn!(namespace = resolver.namespace(), %status, "cannot list actions");
                }
            }
        }
        for action in self.list() {
            all.insert(action.key().to_owned(), action.descriptor().clone());
        }
        all
    }

    /// Adds a resolver. A second one for the same namespace is never asked for an
    /// action, and is [warned](crate::notice) of.
    pub fn add_resolver(&self, resolver: Arc<dyn ActionResolver>) {
        let mut resolvers = write(&self.0.resolvers);
        let namespace = resolver.namespace().to_owned();
        let is_second = resolvers.iter().any(|known| known.namespace() == namespace);
        resolvers.push(resolver);
        drop(resolvers);
        if is_second {
            self.report_duplicate(format!(
                "two plugins for `{namespace}/…`: only the first one is asked; remove one of them"
            ));
        }
    }

    /// Reports that a name was defined twice: a [warning](crate::notice), or an entry of
    /// [`collect_duplicates`](Self::collect_duplicates) while that runs.
    pub fn report_duplicate(&self, message: String) {
        if let Some(collected) = &mut *write(&self.0.duplicates) {
            collected.push(message);
            return;
        }
        notice::warning(message);
    }

    /// Runs `define` and returns what was defined twice meanwhile, instead of warning about
    /// it. An application is made this way, so that such a mistake fails its start.
    ///
    /// ```
    /// use oxikit_core::{Action, ActionKind, Registry};
    ///
    /// let registry = Registry::default();
    /// let ((), duplicates) = registry.collect_duplicates(|| {
    ///     for answer in [1, 2] {
    ///         let action = Action::builder(ActionKind::Flow, "twice");
    ///         registry.register(action.handler(move |_: ()| async move { Ok(answer) }));
    ///     }
    /// });
    /// assert_eq!(duplicates.len(), 1);
    /// ```
    pub fn collect_duplicates<T>(&self, define: impl FnOnce() -> T) -> (T, Vec<String>) {
        *write(&self.0.duplicates) = Some(Vec::new());
        let defined = define();
        let duplicates = write(&self.0.duplicates).take();
        (defined, duplicates.unwrap_or_default())
    }

    /// Keeps a named value that the developer tools list, such as the default
    /// model. It replaces the value of the same kind and name.
    pub fn set_value(&self, kind: &'static str, name: impl Into<String>, value: Value) {
        write(&self.0.values).insert((kind, name.into()), value);
    }

    /// The value of this kind and name.
    pub fn value(&self, kind: &'static str, name: &str) -> Option<Value> {
        read(&self.0.values).get(&(kind, name.to_owned())).cloned()
    }

    /// All values of a kind, by name.
    pub fn values(&self, kind: &str) -> BTreeMap<String, Value> {
        let values = read(&self.0.values);
        let of_kind = values.iter().filter(|((of, _), _)| *of == kind);
        of_kind.map(|((_, name), value)| (name.clone(), value.clone())).collect()
    }

    /// The one value of type `T` of this application, made by `Default` at the first call. Crates
    /// that build on this one keep data of the application here that is not an action.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use oxikit_core::Registry;
    ///
    /// #[derive(Default)]
    /// struct Served(AtomicU32);
    ///
    /// let registry = Registry::default();
    /// registry.state::<Served>().0.fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(registry.clone().state::<Served>().0.load(Ordering::Relaxed), 1);
    /// ```
    #[expect(clippy::missing_panics_doc, reason = "the key is the type of the value")]
    pub fn state<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let known = read(&self.0.states).get(&TypeId::of::<T>()).cloned();
        let state = known.unwrap_or_else(|| {
            write(&self.0.states)
                .entry(TypeId::of::<T>())
                .or_insert_with(|| Arc::new(T::default()))
                .clone()
        });
        state.downcast().expect("the key is the type of the value")
    }

    /// A handle that does not keep the registry alive.
    pub fn downgrade(&self) -> WeakRegistry {
        WeakRegistry(Arc::downgrade(&self.0))
    }

    /// Adds an exporter. All exporters get all spans that begin from now on.
    #[expect(clippy::missing_panics_doc, reason = "only the first call takes the exporter")]
    pub fn add_exporter(&self, exporter: Arc<dyn SpanExporter>) {
        let mut first = Some(exporter);
        let current = self.0.exporter.get_or_init(|| {
            RwLock::new(first.take().expect("the exporter is taken by the first call only"))
        });
        if let Some(another) = first {
            let mut current = write(current);
            *current = Arc::new(Both(current.clone(), another));
        }
    }

    /// Records secrets in spans from now on. By default, values under names such as `password`
    /// and texts that look like keys appear as `<redacted>`. Use it only on a developer's own
    /// machine. The data of the caller ([`ActionContext`](crate::ActionContext)) stays covered.
    pub fn record_secrets(&self) {
        self.0.records_secrets.store(true, Ordering::Relaxed);
    }

    pub(crate) fn secrets(&self) -> Secrets {
        match self.0.records_secrets.load(Ordering::Relaxed) {
            true => Secrets::Shown,
            false => Secrets::Covered,
        }
    }

    /// Sends whole failures to the callers of servers from now on, with their trace ids, also if
    /// the status is not public. For development only: the developer tools call it when they
    /// start. Secrets stay covered.
    pub fn show_failures(&self) {
        self.0.shows_failures.store(true, Ordering::Relaxed);
    }

    /// Whether [`show_failures`](Self::show_failures) was called.
    pub fn shows_failures(&self) -> bool {
        self.0.shows_failures.load(Ordering::Relaxed)
    }

    /// The exporter that all spans go to: all added exporters as one. `None` if there is none.
    pub fn exporter(&self) -> Option<Arc<dyn SpanExporter>> {
        self.0.exporter.get().map(|exporter| read(exporter).clone())
    }
}

/// Two exporters as one.
struct Both(Arc<dyn SpanExporter>, Arc<dyn SpanExporter>);

#[async_trait]
impl SpanExporter for Both {
    fn start(&self, span: &OpenSpan) {
        self.0.start(span);
        self.1.start(span);
    }

    fn end(&self, span: SpanRecord) {
        self.0.end(span.clone());
        self.1.end(span);
    }

    async fn flush(&self) {
        self.0.flush().await;
        self.1.flush().await;
    }
}

impl AsRef<Self> for Registry {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("actions", &read(&self.0.actions).len())
            .finish_non_exhaustive()
    }
}

// The locks guard plain maps that are consistent after every statement, so a lock that was
// poisoned by a panic elsewhere can be used.
fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
