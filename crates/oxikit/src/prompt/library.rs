//! All prompts of an application, and what they share.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use oxikit_core::{Registry, Result, Status, StatusCode, notice};
use oxikit_dotprompt::{Environment, Error, ErrorKind, Prompt};

use super::actions;
use super::builder::PromptBuilder;
use super::definition::Definition;

/// All prompts of an application.
#[derive(Default)]
pub(super) struct Library(Mutex<Shelves>);

#[derive(Default)]
struct Shelves {
    environment: Environment,
    /// What prompts are made of; made anew when what they share changes.
    recipes: BTreeMap<String, Recipe>,
    definitions: HashMap<String, Result<Arc<Definition>>>,
}

/// What a prompt is made of.
pub(super) enum Recipe {
    Code(Box<PromptBuilder>),
    /// The text of a prompt file.
    File(Arc<str>),
}

impl Library {
    /// The prompt of this name, or what is wrong with it.
    pub(super) fn get(&self, name: &str) -> Result<Arc<Definition>> {
        let shelves = self.lock();
        match shelves.definitions.get(name) {
            Some(definition) => definition.clone(),
            None => {
                let names: Vec<_> =
                    shelves.recipes.keys().map(|name| format!("`{name}`")).collect();
                let status = Status::not_found(format!("Prompt '{name}' not found"));
                Err(status.with_hint(format!("there are: {}", names.join(", "))))
            }
        }
    }

    /// Whether there is a prompt of this name, be it broken.
    pub(super) fn has(&self, name: &str) -> bool {
        self.lock().recipes.contains_key(name)
    }

    /// Defines a prompt, or replaces it.
    pub(super) fn define(&self, registry: &Registry, name: String, recipe: Recipe) -> Result<()> {
        let mut shelves = self.lock();
        if shelves.recipes.insert(name.clone(), recipe).is_some() {
            notice::warning(format_args!(
                "two definitions of the prompt `{name}`: the later one replaces the earlier; give one of them another name"
            ));
        }
        shelves.make(registry, &name)
    }

    /// Changes what prompts share, and makes all prompts anew.
    pub(super) fn change_environment(
        &self,
        registry: &Registry,
        change: impl FnOnce(Environment) -> Environment,
    ) {
        let mut shelves = self.lock();
        shelves.environment = change(std::mem::take(&mut shelves.environment));
        shelves.make_all(registry);
    }

    /// Puts new files in the place of old ones, all at once. Answers what is
    /// wrong with which prompt.
    pub(super) fn replace_files(
        &self,
        registry: &Registry,
        gone: impl IntoIterator<Item = String>,
        partials: BTreeMap<String, Arc<str>>,
        prompts: BTreeMap<String, Arc<str>>,
    ) -> BTreeMap<String, Status> {
        let mut shelves = self.lock();
        for name in gone {
            shelves.remove(registry, &name);
        }
        for (name, source) in partials {
            shelves.environment = std::mem::take(&mut shelves.environment).partial(name, source);
        }
        let names: Vec<_> = prompts.keys().cloned().collect();
        shelves
            .recipes
            .extend(prompts.into_iter().map(|(name, source)| (name, Recipe::File(source))));
        shelves.make_all(registry);
        names.into_iter().filter_map(|name| Some((name.clone(), shelves.mistake(&name)?))).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shelves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    fn make_all(&mut self, registry: &Registry) {
        let names: Vec<_> = self.recipes.keys().cloned().collect();
        for name in names {
            // A broken prompt is reported by whoever asks for it.
            let _ = self.make(registry, &name);
        }
    }

    fn make(&mut self, registry: &Registry, name: &str) -> Result<()> {
        let definition = match self.recipes.get(name) {
            Some(Recipe::Code(builder)) => builder.compile(&self.environment),
            Some(Recipe::File(source)) => self.compile_file(name, source),
            None => return Ok(()),
        };
        let definition = definition.map(Arc::new);
        let made = match &definition {
            Ok(definition) => {
                actions::register(registry, definition);
                Ok(())
            }
            Err(status) => {
                actions::remove(registry, name);
                Err(status.clone())
            }
        };
        self.definitions.insert(name.to_owned(), definition);
        made
    }

    fn compile_file(&self, name: &str, source: &str) -> Result<Definition> {
        let prompt = Prompt::parse(source).map_err(|error| broken(name, error))?;
        let compiled = self.environment.compile(&prompt).map_err(|error| broken(name, error))?;
        Definition::of_file(name, prompt.template(), compiled)
    }

    fn remove(&mut self, registry: &Registry, name: &str) {
        self.recipes.remove(name);
        self.definitions.remove(name);
        actions::remove(registry, name);
    }

    fn mistake(&self, name: &str) -> Option<Status> {
        self.definitions.get(name)?.as_ref().err().cloned()
    }
}

/// The text of a prompt is the application's own: what is wrong with it stays
/// inside.
pub(super) fn broken(name: &str, error: Error) -> Status {
    let code = match error.kind() {
        ErrorKind::Limit => StatusCode::ResourceExhausted,
        _ => StatusCode::InvalidArgument,
    };
    Status::new(code, format!("prompt `{name}`: {error}")).caused_by(error)
}
