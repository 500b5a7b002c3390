//! Long-running operations: started by one call and checked by later ones.
//!
//! ```
//! use oxikit_wire::Operation;
//!
//! let operation = Operation::started("job-1");
//! assert!(!operation.is_done());
//! assert!(operation.finished("video.mp4").is_done());
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;
use crate::part::present;

/// A long-running operation and its state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// Key of the action that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The provider's id of the operation.
    pub id: String,
    /// Whether the operation has ended, with success or with failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
    /// The result after success; `null` is a result.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<OperationError>,
    /// Members that the provider adds, such as progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Operation {
    /// An operation that runs, with the provider's id.
    pub fn started(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Marks the operation as ended with this output. An earlier error is removed.
    #[must_use]
    pub fn finished(mut self, output: impl Into<Value>) -> Self {
        self.done = Some(true);
        self.output = Some(output.into());
        self.error = None;
        self
    }

    /// Marks the operation as failed with this message. An earlier output is removed.
    #[must_use]
    pub fn failed(mut self, message: impl Into<String>) -> Self {
        self.done = Some(true);
        self.output = None;
        self.error = Some(OperationError { message: message.into() });
        self
    }

    /// Whether the operation has ended, with success or with failure.
    pub fn is_done(&self) -> bool {
        self.done == Some(true)
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationError {
    /// Description of the failure.
    pub message: String,
}
