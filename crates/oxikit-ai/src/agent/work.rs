//! Detached work as it is written down, so that it can be started again after a crash.

use oxikit_core::{ActionContext, Result};
use oxikit_wire::{AgentInput, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The data to restart detached work after its process has died.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Work {
    pub(super) inputs: Vec<AgentInput>,
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub(super) context: JsonObject,
}

impl Work {
    /// These inputs, for this caller. The identity of the caller is kept, since the resumed work
    /// acts for it; its credentials are removed, since they would be readable in the store.
    pub(super) fn new(inputs: Vec<AgentInput>, caller: &ActionContext) -> Self {
        let mut context = JsonObject::new();
        for member in ["auth", "tenant"] {
            if let Some(value) = caller.get(member) {
                let mut value = value.clone();
                if let Value::Object(members) = &mut value {
                    members.retain(|name, value| !(value.is_string() && is_credential(name)));
                }
                context.insert(member.to_owned(), value);
            }
        }
        Self { inputs, context }
    }

    pub(super) fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }
}

/// Whether a member of this name is probably a credential. It rather removes too much: resumed
/// work that misses a member fails, a leaked credential is worse.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "key", "secret", "password", "authorization", "cookie"]
        .iter()
        .any(|word| name.contains(word))
}
