//! Work that is started now and asked about later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;
use crate::part::present;

/// A piece of long-running work and how far it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// Key of the action that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The provider's name for the work.
    pub id: String,
    /// Whether it has ended, well or badly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
    /// The result of work that ended well.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it ended badly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<OperationError>,
    /// Notes of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Operation {
    /// Work that has begun, by the provider's name for it.
    pub fn started(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// The same work, ended well.
    #[must_use]
    pub fn finished(mut self, output: impl Into<Value>) -> Self {
        self.done = Some(true);
        self.output = Some(output.into());
        self.error = None;
        self
    }

    /// The same work, ended badly.
    #[must_use]
    pub fn failed(mut self, message: impl Into<String>) -> Self {
        self.done = Some(true);
        self.output = None;
        self.error = Some(OperationError { message: message.into() });
        self
    }

    /// Whether it has ended, well or badly.
    pub fn is_done(&self) -> bool {
        self.done == Some(true)
    }
}

/// Why an operation ended badly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationError {
    /// What went wrong.
    pub message: String,
}
