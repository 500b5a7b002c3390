//! Signatures of cards without the feature `jwt`: no server makes them.

use oxikit_core::Result;
use oxikit_wire::a2a::AgentCardSignature;
use serde_json::Value;

/// There is no value of this type.
pub(crate) enum CardSigner {}

impl CardSigner {
    pub(super) fn sign(&self, _: &Value) -> Result<Vec<AgentCardSignature>> {
        match *self {}
    }
}
