//! Prompts: templates with all that a generate call needs, defined in code or
//! loaded from files.

mod actions;
mod builder;
mod definition;
mod directory;
mod files;
mod library;

use std::path::Path;
use std::sync::Arc;

use oxikit_core::{ActionContext, Result, Schema, Status, Step, StepKind};
use oxikit_wire::{GenerateActionOptions, JsonObject, Message};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{Context, Generate, Oxikit};

pub use builder::PromptBuilder;
pub use directory::PromptDirectory;
use library::{Library, Recipe};

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

    /// Begins a generate call with this prompt.
    pub fn call(&self, input: impl Serialize) -> Generate {
        self.ai.prompt(&self.name, input)
    }
}

impl Oxikit {
    /// Defines a prompt. What is wrong with it is reported here. A prompt of the same
    /// name is replaced, with a warning.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();
    /// let joke = ai.define_prompt(
    ///     Prompt::builder("joke").system("You tell short jokes.").prompt("A joke about {{topic}}, please."),
    /// )?;
    /// println!("{}", joke.call(json!({"topic": "tea"})).await?.text());
    /// # Ok(()) }
    /// ```
    pub fn define_prompt(&self, prompt: PromptBuilder) -> Result<Prompt> {
        let name = prompt.full_name();
        self.library().define(self.registry(), name.clone(), Recipe::Code(Box::new(prompt)))?;
        Ok(Prompt { name, ai: self.clone() })
    }

    /// Begins a generate call with a defined prompt. A variant stands behind a
    /// dot: `greeting.formal`. What is set on the call goes on top of what the
    /// prompt says, and [`messages`](Generate::messages) are the history that the
    /// prompt puts in its place.
    pub fn prompt(&self, name: impl Into<String>, input: impl Serialize) -> Generate {
        let input = serde_json::to_value(input).map_err(Status::from);
        Generate::from_prompt(self.clone(), PromptSource { name: name.into(), input })
    }

    /// Loads all `.prompt` files below a directory, and again whenever one of
    /// them changes. `sub/hello.formal.prompt` is the variant `formal` of the
    /// prompt `sub/hello`; `_footer.prompt` is the partial `footer`.
    ///
    /// A broken file does not stop the others: it is listed in what is returned,
    /// told in the log (on the standard error if no log is set up), and reported by
    /// whoever calls that prompt. So are keys of the front matter that nothing reads,
    /// as warnings.
    ///
    /// ```no_run
    /// # use oxikit::prelude::*;
    /// # fn main() -> Result<()> {
    /// let ai = Oxikit::builder().build();
    /// let prompts = ai.load_prompts("prompts")?;
    /// assert!(prompts.broken.is_empty(), "{:?}", prompts.broken);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the directory cannot be read, such as one that does not exist.
    pub fn load_prompts(&self, directory: impl AsRef<Path>) -> Result<PromptDirectory> {
        PromptDirectory::load(self, directory.as_ref())
    }

    /// Defines a partial for `{{> name}}`.
    pub fn define_partial(&self, name: impl Into<String>, source: impl Into<Arc<str>>) {
        let (name, source) = (name.into(), source.into());
        self.library().change_environment(self.registry(), |env| env.partial(name, source));
    }

    /// Defines a helper for `{{name argument key=value}}`.
    pub fn define_helper<F, V>(&self, name: impl Into<String>, helper: F)
    where
        F: Fn(&[Value], &JsonObject) -> Result<V> + Send + Sync + 'static,
        V: Into<Value>,
    {
        let name = name.into();
        self.library().change_environment(self.registry(), |env| env.helper(name, helper));
    }

    /// Defines a schema that prompt files name instead of writing it out.
    pub fn define_schema<T: JsonSchema>(&self, name: impl Into<String>) {
        let (name, schema) = (name.into(), Schema::of::<T>().as_json().clone());
        self.library().change_environment(self.registry(), |env| env.schema(name, schema));
    }

    fn library(&self) -> Arc<Library> {
        self.registry().state::<Library>()
    }
}

/// What an action's code can call from its [`Context`].
pub trait PromptExt {
    /// Begins a generate call with a defined prompt.
    fn prompt(&self, name: impl Into<String>, input: impl Serialize) -> Generate;
}

impl PromptExt for Context {
    fn prompt(&self, name: impl Into<String>, input: impl Serialize) -> Generate {
        Oxikit::of(self.registry()).prompt(name, input)
    }
}

/// A prompt that a generate call begins with.
pub(crate) struct PromptSource {
    pub(crate) name: String,
    input: Result<Value>,
}

impl PromptSource {
    /// Renders the prompt, as a step of the trace.
    pub(crate) async fn render(
        self,
        ai: &Oxikit,
        context: ActionContext,
        history: Vec<Arc<Message>>,
    ) -> Result<GenerateActionOptions> {
        let input = self.input?;
        let definition = ai.library().get(&self.name)?;
        let step =
            Step::new(StepKind::PromptTemplate, "render").in_registry(ai.registry()).input(&input);
        step.run(|ctx| async move {
            ctx.set_attribute("genkit:metadata:promptName", self.name);
            definition.render(input, &context, history)
        })
        .await
    }
}
