//! The identity and the lists of a runtime, which are the same in both protocols.

use std::collections::BTreeMap;

use oxikit_core::Registry;
use oxikit_wire::rpc::{REFLECTION_API_SPEC_VERSION, RegisterParams};
use oxikit_wire::{ActionDescriptor, JsonObject};
use serde_json::Value;

/// Language and version of this runtime.
pub(crate) const GENKIT_VERSION: &str = concat!("rust/", env!("CARGO_PKG_VERSION"));

/// The identity that the runtime registers with.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) pid: u32,
    /// The name of the application.
    pub(crate) name: String,
}

impl Identity {
    /// The parameters of the `register` request (V2).
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

/// All actions, in a form that the official manager accepts: it rejects the whole list for one
/// member of metadata that it cannot parse.
pub(crate) async fn actions(registry: &Registry) -> BTreeMap<String, ActionDescriptor> {
    let mut actions = registry.list_resolvable().await;
    for action in actions.values_mut() {
        if let Some(metadata) = &mut action.metadata {
            retain_readable(metadata);
        }
    }
    actions
}

/// Removes members that the schema of the official manager rejects: `null`, arrays in arrays, and
/// arrays that contain `null`.
fn retain_readable(metadata: &mut JsonObject) {
    let is_plain = |value: &Value| !value.is_null() && !value.is_array();
    metadata.retain(|_, value| match value {
        Value::Array(items) => items.iter().all(is_plain),
        other => is_plain(other),
    });
}

/// The values of this kind; `None` if the protocol does not define the kind.
pub(crate) fn values(registry: &Registry, kind: &str) -> Option<BTreeMap<String, Value>> {
    matches!(kind, "defaultModel" | "middleware").then(|| registry.values(kind))
}
