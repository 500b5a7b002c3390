//! The application: the registry and its defaults.

use std::fmt;
use std::path::PathBuf;

use oxikit_core::notice;
use serde_json::json;

use crate::{Plugin, Registry};

/// An application: where flows, tools, prompts and models are defined and found.
/// Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Oxikit {
    registry: Registry,
}

impl Oxikit {
    /// Begins an application.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// All actions of the application.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The application that an action was called through.
    pub(crate) fn of(registry: &Registry) -> Self {
        Self { registry: registry.clone() }
    }

    /// The model that is used where none is named.
    pub fn default_model(&self) -> Option<String> {
        let value = self.registry.value("defaultModel", "defaultModel")?;
        Some(value.get("name")?.as_str()?.to_owned())
    }
}

impl AsRef<Registry> for Oxikit {
    fn as_ref(&self) -> &Registry {
        &self.registry
    }
}

/// Begins an [`Oxikit`].
#[derive(Default)]
pub struct Builder {
    plugins: Vec<Box<dyn Plugin>>,
    default_model: Option<String>,
    prompt_dir: Option<PathBuf>,
}

impl Builder {
    /// Adds a plugin, such as a model provider.
    #[must_use]
    pub fn plugin(mut self, plugin: impl Plugin + 'static) -> Self {
        self.plugins.push(Box::new(plugin));
        self
    }

    /// The model to use where none is named.
    #[must_use]
    pub fn default_model(mut self, name: impl Into<String>) -> Self {
        self.default_model = Some(name.into());
        self
    }

    /// Loads the prompt files below this directory, and again when one changes;
    /// see [`Oxikit::load_prompts`]. A relative path is looked for where the program
    /// runs.
    ///
    /// A directory that is missing and files that are broken are told in the log, or on
    /// the standard error if no log is set up. An application that must not run without
    /// its prompts calls [`Oxikit::load_prompts`] itself, which returns the mistakes.
    #[must_use]
    pub fn prompt_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.prompt_dir = Some(directory.into());
        self
    }

    /// Makes the application.
    pub fn build(self) -> Oxikit {
        let ai = Oxikit { registry: Registry::default() };
        ai.define_util_generate();
        ai.define_builtin_middleware();
        for plugin in &self.plugins {
            plugin.install(&ai);
        }
        if let Some(name) = self.default_model {
            ai.registry.set_value("defaultModel", "defaultModel", json!({ "name": name }));
        }
        if let Some(directory) = self.prompt_dir
            && let Err(status) = ai.load_prompts(directory)
        {
            notice::error(format_args!("no prompts are loaded: {status}"));
        }
        ai
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("plugins", &self.plugins.len())
            .field("default_model", &self.default_model)
            .field("prompt_dir", &self.prompt_dir)
            .finish()
    }
}
