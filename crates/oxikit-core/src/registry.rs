//! All actions of an application, by key.

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

/// Finds actions that are made on demand, such as the models of a provider.
#[async_trait]
pub trait ActionResolver: Send + Sync {
    /// What the names of its actions begin with, before the `/`.
    fn namespace(&self) -> &str;

    /// Makes the action, or answers `None` if there is no such. `name` includes
    /// the namespace. May be called again for the same name.
    async fn resolve(&self, kind: ActionKind, name: &str) -> Result<Option<Action>>;

    /// What could be resolved, for the developer tools.
    async fn list(&self) -> Result<Vec<ActionDescriptor>> {
        Ok(Vec::new())
    }
}

/// All actions of an application. Cheap to clone; clones share everything.
#[derive(Clone, Default)]
pub struct Registry(Arc<Inner>);

/// A [`Registry`] that is not kept alive by this handle.
#[derive(Clone)]
pub struct WeakRegistry(Weak<Inner>);

impl WeakRegistry {
    /// The registry, while somebody else holds it.
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
    /// Empty until the first is added, so that nobody who traces nothing pays.
    exporter: OnceLock<RwLock<Arc<dyn SpanExporter>>>,
    records_secrets: AtomicBool,
    shows_failures: AtomicBool,
    states: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
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
        let former = self.replace(action.clone());
        if former.is_some_and(|former| !former.is_same(&action)) {
            let (kind, name) = (action.kind(), action.name());
            notice::warning(format_args!(
                "two definitions of the {kind} `{name}`: the later one replaces the earlier; give one of them another name"
            ));
        }
    }

    /// Adds an action, in the place of the one with the same key if there is one.
    /// Returns that one.
    pub fn replace(&self, action: Action) -> Option<Action> {
        write(&self.0.actions).insert(action.key().to_owned(), action)
    }

    /// Takes an action out.
    pub fn remove(&self, key: &str) -> Option<Action> {
        write(&self.0.actions).remove(key)
    }

    /// The action with this key, if it is there already.
    pub fn get(&self, key: &str) -> Option<Action> {
        read(&self.0.actions).get(key).cloned()
    }

    /// The action of this kind and name; resolvers are asked if it is not there.
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
            // Two callers may have resolved it at the same time.
            self.replace(action.clone());
        }
        Ok(action)
    }

    /// The action with this key; a missing one is `NOT_FOUND`.
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

    /// Runs the action with this key.
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
            notice::warning(format_args!(
                "two plugins for `{namespace}/…`: only the first one is asked; remove one of them"
            ));
        }
    }

    /// Keeps a named value that the developer tools list, such as the default
    /// model.
    pub fn set_value(&self, kind: &'static str, name: impl Into<String>, value: Value) {
        write(&self.0.values).insert((kind, name.into()), value);
    }

    /// One named value.
    pub fn value(&self, kind: &'static str, name: &str) -> Option<Value> {
        read(&self.0.values).get(&(kind, name.to_owned())).cloned()
    }

    /// All named values of a kind.
    pub fn values(&self, kind: &str) -> BTreeMap<String, Value> {
        let values = read(&self.0.values);
        let of_kind = values.iter().filter(|((of, _), _)| *of == kind);
        of_kind.map(|((_, name), value)| (name.clone(), value.clone())).collect()
    }

    /// The one `T` of this application, made when it is first asked for. Crates
    /// above keep here what belongs to the application and is no action.
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

    /// A handle that does not keep the application alive.
    pub fn downgrade(&self) -> WeakRegistry {
        WeakRegistry(Arc::downgrade(&self.0))
    }

    /// Sends all spans there too from now on.
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

    /// From now on spans show what they would otherwise cover as `<redacted>`:
    /// what stands under names such as `password`, and what looks like a key. For
    /// a machine of one's own only; what a caller brings along stays covered.
    pub fn record_secrets(&self) {
        self.0.records_secrets.store(true, Ordering::Relaxed);
    }

    pub(crate) fn secrets(&self) -> Secrets {
        match self.0.records_secrets.load(Ordering::Relaxed) {
            true => Secrets::Shown,
            false => Secrets::Covered,
        }
    }

    /// From now on callers of servers read the whole of a failure, with its trace id,
    /// also where its status is not public. For development only: the developer tools
    /// turn it on when they start. Secrets stay covered.
    pub fn show_failures(&self) {
        self.0.shows_failures.store(true, Ordering::Relaxed);
    }

    /// Whether [`show_failures`](Self::show_failures) was called.
    pub fn shows_failures(&self) -> bool {
        self.0.shows_failures.load(Ordering::Relaxed)
    }

    /// Where spans go, if anywhere.
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

// The locks guard plain maps that are whole after every statement, so a panic
// elsewhere does not spoil them.
fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
