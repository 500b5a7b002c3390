//! Custom states as documents: the whole text, or a JSON Patch to another document.
//!
//! A document never changes once it is written, so any number of snapshots can refer to it.
//! Each patch refers to its base; reading a state starts at a whole text and applies the
//! patches after it. [`MAX_DEPTH`] limits how many there can be.

use std::sync::Arc;

use oxikit_core::json_patch;
use oxikit_wire::JsonPatch;
use serde_json::Value;

/// Maximum number of patches between a document and its whole text. Then a whole text is
/// written again, so that the cost of reading stays bounded.
const MAX_DEPTH: i64 = 32;
/// Size in bytes below which a state is always written as a whole text.
const SMALL: usize = 1024;
/// A patch is stored only if the whole text is at least this many times larger.
const MUCH_SMALLER: usize = 8;

/// The document of a custom state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Custom {
    /// The number of the document: a whole text, or the newest of its patches.
    pub(crate) document: i64,
    /// Number of patches that are applied to a whole text.
    pub(crate) depth: i64,
    /// Bytes of the state as one text.
    pub(crate) bytes: i64,
}

/// The part of a custom state that a write stores.
#[derive(Debug, PartialEq)]
pub(crate) enum NewCustom {
    /// Nothing: the document exists already.
    Same(Custom),
    /// The whole text.
    Whole(String),
    /// A JSON Patch to the document `base`. `bytes` is the size of the state as a whole
    /// text.
    Patch { base: Custom, patch: String, bytes: i64 },
}

impl NewCustom {
    /// Compares with the state of the snapshot before. Nothing is stored if they are equal, a
    /// patch if it is much smaller than the whole text, and otherwise the whole text.
    pub(crate) fn new(
        state: &Arc<Value>,
        base: Option<(Custom, &Arc<Value>)>,
    ) -> Result<Self, serde_json::Error> {
        let Some((base, before)) = base else {
            return Ok(Self::Whole(serde_json::to_string(state)?));
        };
        if Arc::ptr_eq(before, state) {
            return Ok(Self::Same(base));
        }
        let whole = serde_json::to_string(state)?;
        // A JSON Patch cannot express the order of members, which must be kept.
        if !keeps_order(before, state) {
            return Ok(Self::Whole(whole));
        }
        let changes = json_patch::diff(before, state);
        if changes.is_empty() {
            return Ok(Self::Same(base));
        }
        // A patch saves space and makes reading slower, so it has to be much smaller.
        if whole.len() >= SMALL && base.depth < MAX_DEPTH {
            let patch = serde_json::to_string(&changes)?;
            if patch.len() * MUCH_SMALLER <= whole.len() {
                return Ok(Self::Patch { base, patch, bytes: whole.len() as i64 });
            }
        }
        Ok(Self::Whole(whole))
    }

    /// Bytes of the state as one text.
    pub(crate) fn bytes(&self) -> i64 {
        match self {
            Self::Same(custom) => custom.bytes,
            Self::Whole(text) => text.len() as i64,
            Self::Patch { bytes, .. } => *bytes,
        }
    }
}

/// The reason why a stored text is invalid, for the log.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Whether a JSON Patch from one to the other keeps the order of members: in every object that
/// both have, the old names come first, in the same order, and none was removed.
fn keeps_order(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let mut names = after.iter();
            before.iter().all(|(name, before)| {
                names
                    .next()
                    .is_some_and(|(other, after)| name == other && keeps_order(before, after))
            })
        }
        (Value::Array(before), Value::Array(after)) => {
            before.iter().zip(after).all(|(before, after)| keeps_order(before, after))
        }
        _ => true,
    }
}

/// Computes a state from a whole text and the patches after it, the oldest first. Fails if there
/// is no text, or if a patch does not apply: then a row is lost or damaged.
pub(crate) fn read(texts: &[String]) -> Result<Arc<Value>, Fault> {
    let (whole, changes) = texts.split_first().ok_or("the custom state is missing")?;
    let mut state: Value = serde_json::from_str(whole)?;
    for change in changes {
        let change: JsonPatch = serde_json::from_str(change)?;
        json_patch::apply(&mut state, &change).map_err(|status| status.to_string())?;
    }
    Ok(Arc::new(state))
}
