//! The settings of an environment: helpers, partials, schemas, tools and limits.
//!
//! Entries that were added by name have precedence over those of a resolver.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use oxikit_wire::{JsonObject, ToolDefinition};
use serde_json::Value;

use crate::helper::Helper;
use crate::limits::Limits;

/// A function of the application that finds a definition by its name.
type Resolver<T> = Arc<dyn Fn(&str) -> Option<T> + Send + Sync>;

/// The settings of an environment. A compiled prompt keeps a copy, so later changes do not affect it.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    pub(crate) helpers: HashMap<String, Helper>,
    pub(crate) limits: Limits,
    pub(crate) partials: HashMap<String, Arc<str>>,
    pub(crate) partial_resolver: Option<Resolver<String>>,
    pub(crate) schemas: HashMap<String, Value>,
    pub(crate) schema_resolver: Option<Resolver<Value>>,
    pub(crate) tools: HashMap<String, ToolDefinition>,
    pub(crate) tool_resolver: Option<Resolver<ToolDefinition>>,
    /// Only selects one of `model_configs`.
    pub(crate) default_model: Option<String>,
    /// Default configurations by the name of the model.
    pub(crate) model_configs: HashMap<String, JsonObject>,
}

impl Shared {
    /// The source of a partial, by name or from the resolver.
    pub(crate) fn partial_source(&self, name: &str) -> Option<Arc<str>> {
        self.partials
            .get(name)
            .cloned()
            .or_else(|| Some(self.partial_resolver.as_ref()?(name)?.into()))
    }

    pub(crate) fn find_tool(&self, name: &str) -> Option<ToolDefinition> {
        self.tools.get(name).cloned().or_else(|| self.tool_resolver.as_ref()?(name))
    }

    pub(crate) fn find_schema(&self, name: &str) -> Option<Value> {
        self.schemas.get(name).cloned().or_else(|| self.schema_resolver.as_ref()?(name))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("helpers", &self.helpers.keys())
            .field("partials", &self.partials.keys())
            .field("schemas", &self.schemas.keys())
            .field("tools", &self.tools.keys())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
