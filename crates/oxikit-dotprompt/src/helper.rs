//! Helpers of the application.

use std::sync::Arc;

use oxikit_wire::JsonObject;
use serde_json::Value;

/// A custom helper: its arguments and its `key=value` arguments to a value.
pub(crate) type Helper = Arc<dyn Fn(&[Value], &JsonObject) -> Result<Value, String> + Send + Sync>;
