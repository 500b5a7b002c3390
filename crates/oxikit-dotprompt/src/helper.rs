//! The type of helpers that an application registers. Built-in helpers are not of this type:
//! they write pieces and change contexts, which functions of values cannot do.

use std::sync::Arc;

use oxikit_wire::JsonObject;
use serde_json::Value;

/// A custom helper: a function from positional and `key=value` arguments to a value. The error
/// is the message without name and position, which the renderer adds.
pub(crate) type Helper = Arc<dyn Fn(&[Value], &JsonObject) -> Result<Value, String> + Send + Sync>;
