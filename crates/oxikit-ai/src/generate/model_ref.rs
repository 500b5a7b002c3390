//! Names the model of a call.

use oxikit_wire::JsonObject;
use serde_json::Value;

use crate::Model;

/// A model by name, with a configuration that belongs to it. A plain name is converted to one.
///
/// ```
/// # use oxikit::prelude::*;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// # let ai = Oxikit::builder().plugin(Offline).build()?;
/// use oxikit::ModelRef;
///
/// let precise = ModelRef::new("offline/demo").option("temperature", 0.0);
/// ai.generate().model(precise.clone()).prompt("What is 2 + 2?").await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ModelRef {
    name: String,
    config: Option<JsonObject>,
}

impl ModelRef {
    /// The model of this name, without a configuration. It is looked up when a call uses it.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), config: None }
    }

    /// Sets the version of the model, as the member `version` of the configuration.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.option("version", version.into())
    }

    pub(crate) fn into_parts(self) -> (String, Option<JsonObject>) {
        (self.name, self.config)
    }

    /// Sets one member of the configuration. Members that a call sets by
    /// [`Generate::config`](crate::Generate::config) take precedence.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.config.get_or_insert_default().insert(key.into(), value.into());
        self
    }
}

impl From<&str> for ModelRef {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for ModelRef {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<&Model> for ModelRef {
    fn from(model: &Model) -> Self {
        Self::new(model.name())
    }
}
