//! Prompts: templates with all that a generate call needs, defined in code, or loaded from files
//! or from a prompt manager.
//!
//! The template language is that of `oxikit-dotprompt`. Every prompt is also two actions,
//! `/prompt/<name>` and `/executable-prompt/<name>`, for the developer tools and for models that
//! use a prompt as a tool.

mod actions;
mod builder;
mod definition;
mod directory;
mod files;
mod library;
mod loaded;
mod partials;
mod remote;
mod sources;
mod texts;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit_core::ports::PromptSource;
use oxikit_core::{ActionContext, Result, Schema, Status, StatusCode, Step, StepKind};
use oxikit_wire::{JsonObject, Message, attribute};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::generate::{PromptTemplate, RenderedPrompt};
use crate::{Context, Generate, Oxikit};

pub use builder::PromptBuilder;
use definition::Definition;
use library::Library;
pub use loaded::LoadedPrompts;
use sources::Sources;

/// A prompt that was defined. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Prompt {
    name: String,
    ai: Oxikit,
}

impl Prompt {
    /// Begins the definition of a prompt.
    pub fn builder(name: impl Into<String>) -> PromptBuilder {
        PromptBuilder::new(name)
    }

    /// The name, with the variant behind a dot if there is one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Begins a generate call with this prompt and this input; see [`Oxikit::prompt`].
    pub fn call(&self, input: impl Serialize) -> Generate {
        self.ai.prompt(&self.name, input)
    }
}

impl Oxikit {
    /// Defines a prompt. A mistake in its templates is reported here. A prompt of the same
    /// name is replaced, with a warning.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let joke = ai.define_prompt(
    ///     Prompt::builder("joke").system("You tell short jokes.").prompt("A joke about {{topic}}, please."),
    /// )?;
    /// println!("{}", joke.call(json!({"topic": "tea"})).await?.text());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if a template does not parse or names a helper, partial or schema
    /// that is not defined.
    pub fn define_prompt(&self, prompt: PromptBuilder) -> Result<Prompt> {
        let name = prompt.full_name();
        self.library().define(self.registry(), name.clone(), prompt)?;
        Ok(Prompt { name, ai: self.clone() })
    }

    /// Defines a prompt by the text of a prompt file, front matter and template: for files that are
    /// part of the program, by `include_str!`. A prompt of the same name is replaced.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let joke = ai.define_prompt_text("joke", "---\nconfig: {temperature: 1}\n---\nA joke about {{topic}}.")?;
    /// println!("{}", joke.call(json!({"topic": "tea"})).await?.text());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`define_prompt`](Self::define_prompt).
    pub fn define_prompt_text(
        &self,
        name: impl Into<String>,
        source: impl Into<Arc<str>>,
    ) -> Result<Prompt> {
        let name = name.into();
        self.library().define_text(self.registry(), name.clone(), source.into())?;
        Ok(Prompt { name, ai: self.clone() })
    }

    /// Begins a generate call with a defined prompt. A variant is named after a
    /// dot: `greeting.formal`. Options that are set on the call override those of the
    /// prompt, and [`messages`](Generate::messages) are the history, which stands where the
    /// prompt says `{{history}}`. An unknown name fails the call with `NOT_FOUND`.
    pub fn prompt(&self, name: impl Into<String>, input: impl Serialize) -> Generate {
        let input = serde_json::to_value(input).map_err(Status::from);
        Generate::from_prompt(self.clone(), PromptCall { name: name.into(), input })
    }

    /// Loads all `.prompt` files below a directory, and again whenever one of
    /// them changes. `sub/hello.formal.prompt` is the variant `formal` of the
    /// prompt `sub/hello`; `_footer.prompt` is the partial `footer`.
    ///
    /// A broken file does not stop the others: it is listed in what is returned, logged
    /// (on the standard error if no log is set up), and a call of that prompt fails. Keys of
    /// the front matter that nothing reads are warnings. With
    /// [`OxikitBuilder::prompt_dir`](crate::OxikitBuilder::prompt_dir) the application does
    /// not start with a broken file.
    ///
    /// ```no_run
    /// # use oxikit::prelude::*;
    /// # fn main() -> Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// let prompts = ai.load_prompts("prompts")?;
    /// assert!(prompts.broken.is_empty(), "{:?}", prompts.broken);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the directory cannot be read, such as one that does not exist.
    pub fn load_prompts(&self, directory: impl AsRef<Path>) -> Result<LoadedPrompts> {
        directory::load(self, directory.as_ref())
    }

    /// As [`load_prompts`](Self::load_prompts), but a broken file is an error.
    pub(crate) fn load_correct_prompts(&self, directory: &Path) -> Result<()> {
        directory::load_correct(self, directory)
    }

    /// Loads all prompts of a source, such as a prompt manager, and again whenever the source
    /// reports a change. They are called as those of files: `sub/hello.formal` is the variant
    /// `formal` of the prompt `sub/hello`. Prompts that the source no longer has are removed.
    ///
    /// While the source cannot be reached, the prompts that were loaded before stay in use; the
    /// outage is logged once, and the application tries again at growing intervals of up to 30
    /// seconds. A new version of a prompt that is broken is logged, and the version before it
    /// stays in use. The spans of model calls record the revisions of the prompt and of the
    /// fragments that it includes.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # use oxikit::{PromptSource, PromptText};
    /// # #[derive(Debug)] struct Fixed;
    /// # #[oxikit::async_trait]
    /// # impl PromptSource for Fixed {
    /// #     async fn load(&self) -> Result<Vec<PromptText>> {
    /// #         Ok(vec![PromptText::prompt("greet", "Hello {{name}}!").with_revision(7)])
    /// #     }
    /// #     async fn changed(&self) -> Result<()> { std::future::pending().await }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let source = Fixed;
    /// let ai = Oxikit::builder().build()?;
    /// // Such as `oxikit::client::PromptManager::new("http://127.0.0.1:8081")?.label("production")`.
    /// let prompts = ai.load_prompts_from(source).await?;
    /// assert!(prompts.broken.is_empty(), "{:?}", prompts.broken);
    /// let greeting = ai.prompt("greet", json!({ "name": "Ada" })).render().await?;
    /// assert_eq!(greeting.messages[0].text(), "Hello Ada!");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the source cannot be reached now. An application that has to start nevertheless uses
    /// [`OxikitBuilder::prompts_from`](crate::OxikitBuilder::prompts_from).
    pub async fn load_prompts_from(
        &self,
        source: impl PromptSource + 'static,
    ) -> Result<LoadedPrompts> {
        remote::load(self, Arc::new(source)).await
    }

    /// As [`load_prompts_from`](Self::load_prompts_from), but in the background.
    pub(crate) fn load_prompts_later(&self, source: Arc<dyn PromptSource>) -> Result<()> {
        remote::load_later(self, source)
    }

    /// Defines a partial: a template that others include by `{{> name}}`. All prompts are
    /// compiled again, also those of files.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// ai.define_partial("tone", "Be {{mood}}.");
    /// ai.define_prompt(Prompt::builder("hi").prompt("{{> tone}} Greet {{name}}."))?;
    /// let rendered = ai.prompt("hi", json!({ "mood": "brief", "name": "Ada" })).render().await?;
    /// assert_eq!(rendered.messages[0].text(), "Be brief. Greet Ada.");
    /// # Ok(()) }
    /// ```
    pub fn define_partial(&self, name: impl Into<String>, source: impl Into<Arc<str>>) {
        self.library().define_partial(self.registry(), name.into(), source.into());
    }

    /// Defines a helper: a function that templates call by `{{name argument key=value}}`. It
    /// gets the positional arguments and the named ones. An error of it fails the rendering.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// ai.define_helper("upper", |args, _| Ok(args[0].as_str().unwrap_or_default().to_uppercase()));
    /// ai.define_prompt(Prompt::builder("shout").prompt("{{upper text}}"))?;
    /// let rendered = ai.prompt("shout", json!({ "text": "hello" })).render().await?;
    /// assert_eq!(rendered.messages[0].text(), "HELLO");
    /// # Ok(()) }
    /// ```
    pub fn define_helper<F, V>(&self, name: impl Into<String>, helper: F)
    where
        F: Fn(&[Value], &JsonObject) -> Result<V> + Send + Sync + 'static,
        V: Into<Value>,
    {
        let name = name.into();
        self.library().change_environment(self.registry(), |env| env.helper(name, helper));
    }

    /// Defines a schema that prompt files refer to by name, for example `schema: Recipe` below
    /// `output`, in place of the whole schema. All prompts are compiled again.
    pub fn define_schema<T: JsonSchema>(&self, name: impl Into<String>) {
        let (name, schema) = (name.into(), Schema::of::<T>().as_json().clone());
        self.library().change_environment(self.registry(), |env| env.schema(name, schema));
    }

    fn library(&self) -> Arc<Library> {
        self.registry().state::<Library>()
    }

    /// The prompt of this name. If it is unknown, the first load of all sources is awaited.
    async fn find_prompt(&self, name: &str) -> Result<Arc<Definition>> {
        match self.library().get(name) {
            Err(status) if status.code() == StatusCode::NotFound => {
                match self.registry().state::<Sources>().first_loads().await? {
                    true => self.library().get(name),
                    false => Err(status),
                }
            }
            found => found,
        }
    }
}

/// Calls prompts from the [`Context`] of an action.
///
/// ```
/// use oxikit::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
/// ai.define_prompt(Prompt::builder("joke").prompt("A joke about {{topic}}."))?;
/// let tell = ai.define_flow("tellJoke", |topic: String, ctx: Context| async move {
///     Ok(ctx.prompt("joke", json!({ "topic": topic })).await?.text())
/// });
/// tell.run("tea").await?;
/// # Ok(()) }
/// ```
pub trait PromptExt {
    /// Begins a generate call with a defined prompt of the application that the action belongs
    /// to; see [`Oxikit::prompt`].
    fn prompt(&self, name: impl Into<String>, input: impl Serialize) -> Generate;
}

impl PromptExt for Context {
    fn prompt(&self, name: impl Into<String>, input: impl Serialize) -> Generate {
        Oxikit::of(self.registry()).prompt(name, input)
    }
}

/// A prompt that a generate call begins with, and the input for it.
struct PromptCall {
    name: String,
    input: Result<Value>,
}

#[async_trait]
impl PromptTemplate for PromptCall {
    fn name(&self) -> &str {
        &self.name
    }

    async fn render(
        self: Box<Self>,
        ai: &Oxikit,
        context: ActionContext,
        history: Vec<Arc<Message>>,
    ) -> Result<RenderedPrompt> {
        let Self { name, input } = *self;
        let input = input?;
        let definition = ai.find_prompt(&name).await?;
        let origin = definition.origin.clone();
        let step =
            Step::new(StepKind::PromptTemplate, "render").in_registry(ai.registry()).input(&input);
        let options = step.run(|ctx| async move {
            ctx.set_attribute(attribute::PROMPT_NAME, name);
            definition.record_origin(&ctx);
            definition.render(input, &context, history)
        });
        Ok(RenderedPrompt { options: options.await?, origin })
    }
}
