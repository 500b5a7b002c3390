//! The application: a registry of actions with its plugins and defaults. What can be defined on
//! it is in the modules of its subjects (`flow`, `tool`, `prompt`, …).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use oxikit_core::ports::PromptSource;
use oxikit_core::{Result, Status, StatusCode};
use serde_json::json;

use crate::{Plugin, Registry};

/// An application: flows, tools, prompts and models are defined on it and found by name.
/// Cheap to clone; clones share everything.
///
/// A program usually has one. Two of them in one process, as in tests, do not see each other's
/// definitions.
#[derive(Debug, Clone)]
pub struct Oxikit {
    registry: Registry,
}

impl Oxikit {
    /// Begins an application; [`OxikitBuilder::build`] makes it.
    ///
    /// ```
    /// use oxikit::prelude::*;
    ///
    /// # fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// # assert_eq!(ai.default_model().as_deref(), Some("offline/demo"));
    /// # Ok(()) }
    /// ```
    pub fn builder() -> OxikitBuilder {
        OxikitBuilder::default()
    }

    /// The registry with all actions of the application, for code that works with actions of
    /// every kind, such as a server.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The application that an action was called through.
    pub(crate) fn of(registry: &Registry) -> Self {
        Self { registry: registry.clone() }
    }

    /// The name of the model that generate calls use if they name none; `None` if such calls
    /// fail.
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

/// Sets up an [`Oxikit`]; see [`Oxikit::builder`].
///
/// ```no_run
/// use oxikit::prelude::*;
///
/// # fn main() -> Result<()> {
/// let ai = Oxikit::builder()
///     .plugin(Offline)
///     .default_model("offline/demo")
///     .prompt_dir("prompts")
///     .build()?;
/// # Ok(()) }
/// ```
#[derive(Default)]
pub struct OxikitBuilder {
    plugins: Vec<Box<dyn Plugin>>,
    default_model: Option<String>,
    prompt_dir: Option<PathBuf>,
    prompt_sources: Vec<Arc<dyn PromptSource>>,
}

impl OxikitBuilder {
    /// Adds a plugin, such as a model provider. Plugins are installed by
    /// [`build`](Self::build), in the order in which they were added.
    #[must_use]
    pub fn plugin(mut self, plugin: impl Plugin + 'static) -> Self {
        self.plugins.push(Box::new(plugin));
        self
    }

    /// Sets the model that generate calls use if they name none. It is looked up when a call
    /// needs it, so an unknown name fails calls and not [`build`](Self::build).
    #[must_use]
    pub fn default_model(mut self, name: impl Into<String>) -> Self {
        self.default_model = Some(name.into());
        self
    }

    /// Loads the prompt files below this directory, and again when one changes;
    /// see [`Oxikit::load_prompts`]. A relative path is looked for where the program
    /// runs.
    ///
    /// A directory that is missing and a file that is broken fail [`build`](Self::build).
    /// A file that becomes broken later, while the application runs, is logged and only
    /// that prompt fails. An application that must start with broken files too calls
    /// [`Oxikit::load_prompts`] after `build` instead.
    #[must_use]
    pub fn prompt_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.prompt_dir = Some(directory.into());
        self
    }

    /// Loads the prompts of a source, such as a prompt manager, and again when they change; see
    /// [`Oxikit::load_prompts_from`]. They are loaded in the background: the application starts
    /// also while the source cannot be reached, and a call of a prompt that is not known yet
    /// waits for the first load. It fails with `UNAVAILABLE` if the source cannot be reached.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # use oxikit::{PromptSource, PromptText};
    /// # #[derive(Debug)] struct Fixed;
    /// # #[oxikit::async_trait]
    /// # impl PromptSource for Fixed {
    /// #     async fn load(&self) -> Result<Vec<PromptText>> {
    /// #         Ok(vec![PromptText::prompt("greet", "Hello {{name}}!")])
    /// #     }
    /// #     async fn changed(&self) -> Result<()> { std::future::pending().await }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let source = Fixed;
    /// // Such as `oxikit::client::PromptManager::new("http://127.0.0.1:8081")?`.
    /// let ai = Oxikit::builder().prompts_from(source).build()?;
    /// let greeting = ai.prompt("greet", json!({ "name": "Ada" })).render().await?;
    /// # assert_eq!(greeting.messages[0].text(), "Hello Ada!");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn prompts_from(mut self, source: impl PromptSource + 'static) -> Self {
        self.prompt_sources.push(Arc::new(source));
        self
    }

    /// Makes the application.
    ///
    /// A prompt file that names a helper, partial or schema which nothing has defined yet is
    /// not an error here, because the application may define it after this call.
    ///
    /// # Errors
    ///
    /// - `INVALID_ARGUMENT` if the prompt directory cannot be read or holds a broken file.
    /// - `ALREADY_EXISTS` if plugins or prompt files define two actions of one name, or two
    ///   plugins have the same namespace.
    /// - `FAILED_PRECONDITION` if a source of prompts is set and no Tokio runtime is running.
    /// - The code of the plugin's own error if a plugin cannot be installed.
    ///
    /// After `build`, a second definition of a name replaces the first with a warning in the
    /// log: programs that define actions while they run replace them on purpose.
    pub fn build(self) -> Result<Oxikit> {
        let ai = Oxikit { registry: Registry::default() };
        let (defined, duplicates) = ai.registry.collect_duplicates(|| self.define_everything(&ai));
        defined?;
        if !duplicates.is_empty() {
            return Err(Status::new(StatusCode::AlreadyExists, duplicates.join("; ")));
        }
        Ok(ai)
    }

    fn define_everything(self, ai: &Oxikit) -> Result<()> {
        ai.define_util_generate();
        ai.define_builtin_middleware();
        for plugin in &self.plugins {
            plugin.install(ai).map_err(|status| {
                let message = format!("the plugin `{}` cannot be installed", plugin.name());
                Status::new(status.code(), message).caused_by(status)
            })?;
        }
        if let Some(name) = self.default_model {
            ai.registry.set_value("defaultModel", "defaultModel", json!({ "name": name }));
        }
        if let Some(directory) = self.prompt_dir {
            ai.load_correct_prompts(&directory)?;
        }
        for source in self.prompt_sources {
            ai.load_prompts_later(source)?;
        }
        Ok(())
    }
}

impl fmt::Debug for OxikitBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OxikitBuilder")
            .field("plugins", &self.plugins.len())
            .field("default_model", &self.default_model)
            .field("prompt_dir", &self.prompt_dir)
            .field("prompt_sources", &self.prompt_sources)
            .finish()
    }
}
