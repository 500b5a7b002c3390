//! Custom state as documents: whole, or as the change of another one.

use std::sync::Arc;

use oxikit_core::json_patch;
use oxikit_wire::JsonPatch;
use serde_json::Value;

use crate::known::{Custom, Fault};

/// After so many changes a whole text is written again, so that reading one is
/// never long.
const MAX_DEPTH: i64 = 32;
/// A smaller state is always written whole.
const SMALL: usize = 1024;
/// A change is stored as one if the whole is at least so many times larger.
const MUCH_SMALLER: usize = 8;

/// What a write stores of a custom state.
#[derive(Debug, PartialEq)]
pub(crate) enum NewCustom {
    /// The document that is there already.
    Same(Custom),
    /// The whole text.
    Whole(String),
    /// What to change in the document `base`, as JSON Patch; the state would have
    /// `bytes` as a whole.
    Patch { base: Custom, patch: String, bytes: i64 },
}

impl NewCustom {
    /// Compares with the state of the snapshot before.
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
        // A patch does not tell the order of names.
        if !keeps_order(before, state) {
            return Ok(Self::Whole(whole));
        }
        let changes = json_patch::diff(before, state);
        if changes.is_empty() {
            return Ok(Self::Same(base));
        }
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

/// Whether the names of every object that is in both stand in the same order, none
/// was taken out, and new ones follow the others.
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

/// Makes the state of a whole text and the changes after it.
pub(crate) fn read(texts: &[String]) -> Result<Arc<Value>, Fault> {
    let (whole, changes) = texts.split_first().ok_or("the custom state is missing")?;
    let mut state: Value = serde_json::from_str(whole)?;
    for change in changes {
        let change: JsonPatch = serde_json::from_str(change)?;
        json_patch::apply(&mut state, &change).map_err(|status| status.to_string())?;
    }
    Ok(Arc::new(state))
}
