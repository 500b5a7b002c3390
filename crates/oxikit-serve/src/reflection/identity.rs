//! Who this runtime says it is, the same in every protocol.

use std::collections::BTreeMap;

use oxikit_core::Registry;
use oxikit_wire::rpc::{REFLECTION_API_SPEC_VERSION, RegisterParams};
use oxikit_wire::{ActionDescriptor, JsonObject};
use serde_json::Value;

/// Language and version.
pub(crate) const GENKIT_VERSION: &str = concat!("rust/", env!("CARGO_PKG_VERSION"));

/// Who this runtime says it is.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) pid: u32,
    /// The application.
    pub(crate) name: String,
}

impl Identity {
    pub(crate) fn register_params(&self) -> RegisterParams {
        RegisterParams {
            id: self.id.clone(),
            pid: self.pid,
            name: Some(self.name.clone()),
            genkit_version: Some(GENKIT_VERSION.to_owned()),
            reflection_api_spec_version: Some(REFLECTION_API_SPEC_VERSION),
            envs: Some(vec!["dev".to_owned()]),
        }
    }
}

/// All actions, in a form that the official manager does not refuse: one member
/// of a metadata that it cannot read costs it the whole list.
pub(crate) async fn actions(registry: &Registry) -> BTreeMap<String, ActionDescriptor> {
    let mut actions = registry.list_resolvable().await;
    for action in actions.values_mut() {
        if let Some(metadata) = &mut action.metadata {
            retain_readable(metadata);
        }
    }
    actions
}

fn retain_readable(metadata: &mut JsonObject) {
    let is_plain = |value: &Value| !value.is_null() && !value.is_array();
    metadata.retain(|_, value| match value {
        Value::Array(items) => items.iter().all(is_plain),
        other => is_plain(other),
    });
}

/// The values of this type, or `None` if the tools do not list such.
pub(crate) fn values(registry: &Registry, kind: &str) -> Option<BTreeMap<String, Value>> {
    matches!(kind, "defaultModel" | "middleware").then(|| registry.values(kind))
}
