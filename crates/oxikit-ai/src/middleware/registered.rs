//! Middleware that prompts and remote callers name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use oxikit_core::{Registry, Result, Schema, Status};
use oxikit_wire::{MiddlewareDescriptor, MiddlewareRef};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Cache, Fallback, Logging, Middleware, Retry, cache::CacheOptions};
use crate::Oxikit;

type Make = Arc<dyn Fn(Value) -> Result<Arc<dyn Middleware>> + Send + Sync>;

/// Maximum number of instances that are kept so that their state, such as a cache, outlives a
/// call. Beyond it all are dropped and made again when they are named.
const MAX_INSTANCES: usize = 64;

/// The named middleware of an application, and what was made of it: naming a
/// cache twice with the same configuration gives the same cache.
#[derive(Default)]
pub(crate) struct RegisteredMiddleware {
    makers: RwLock<HashMap<String, Make>>,
    made: Mutex<HashMap<String, Arc<dyn Middleware>>>,
}

impl Oxikit {
    /// Defines middleware that prompt files and `/util/generate` name under `use`.
    /// `make` gets the configuration of the place that names it; a configuration that does not
    /// fit the type `C` fails the call with `INVALID_ARGUMENT`. The same name and configuration
    /// get the same instance.
    ///
    /// ```
    /// use oxikit::middleware::TrimHistory;
    /// use oxikit::prelude::*;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Trim {
    ///     messages: usize,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// ai.define_middleware("trim", "Sends the end of a conversation only.", |config: Trim| {
    ///     TrimHistory::to(config.messages)
    /// });
    /// let config = json!({ "messages": 10 });
    /// ai.generate().prompt("Hello").middleware_named("trim", Some(config)).await?;
    /// # Ok(()) }
    /// ```
    pub fn define_middleware<C, M>(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
        make: impl Fn(C) -> M + Send + Sync + 'static,
    ) where
        C: DeserializeOwned + JsonSchema,
        M: Middleware + 'static,
    {
        let name = name.into();
        let schema = Schema::of::<C>();
        let descriptor = MiddlewareDescriptor {
            name: name.clone(),
            description: Some(description.into()),
            config_schema: Some(schema.as_json().clone()),
            metadata: None,
        };
        let make = move |config: Value| -> Result<Arc<dyn Middleware>> {
            schema.validate(&config)?;
            let config = serde_json::from_value(config)
                .map_err(|error| Status::invalid_argument(format!("bad configuration: {error}")))?;
            Ok(Arc::new(make(config)))
        };
        let known = self.registry().state::<RegisteredMiddleware>();
        known
            .makers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.clone(), Arc::new(make));
        self.registry().set_value("middleware", name, json!(descriptor));
    }

    /// `retry`, `fallback`, `logging` and `cache`, for calls that name them.
    pub(crate) fn define_builtin_middleware(&self) {
        self.define_middleware(
            "retry",
            "Tries a model again when it fails for a passing reason.",
            |config: Retry| config,
        );
        self.define_middleware(
            "fallback",
            "Asks other models when one fails.",
            |config: Fallback| config,
        );
        self.define_middleware("logging", "Logs model calls and tool runs.", |config: Logging| {
            config
        });
        self.define_middleware("cache", "Remembers answers.", |config: CacheOptions| {
            Cache::with_options(config)
        });
    }
}

/// Makes the middleware that is named; an unknown name is `NOT_FOUND`.
pub(crate) fn resolve(
    registry: &Registry,
    named: &[MiddlewareRef],
) -> Result<Vec<Arc<dyn Middleware>>> {
    let known = registry.state::<RegisteredMiddleware>();
    let make = |reference: &MiddlewareRef| {
        let make = known
            .makers
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&reference.name)
            .cloned();
        let make = make.ok_or_else(|| {
            let names: Vec<_> = registry.values("middleware").into_keys().collect();
            Status::not_found(format!(
                "Middleware '{}' not found; there are: {}",
                reference.name,
                names.join(", ")
            ))
        })?;
        let config = reference.config.clone().unwrap_or_else(|| json!({}));
        // The text of the configuration is the key, so the order of its members matters: at
        // worst there are two instances.
        known.instance(format!("{} {config}", reference.name), || make(config))
    };
    named.iter().map(make).collect()
}

impl RegisteredMiddleware {
    fn instance(
        &self,
        key: String,
        make: impl FnOnce() -> Result<Arc<dyn Middleware>>,
    ) -> Result<Arc<dyn Middleware>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(instance) = made.get(&key) {
            return Ok(instance.clone());
        }
        let instance = make()?;
        // Remote callers choose configurations, so their number has a limit.
        if made.len() >= MAX_INSTANCES {
            made.clear();
        }
        made.insert(key, instance.clone());
        Ok(instance)
    }
}
