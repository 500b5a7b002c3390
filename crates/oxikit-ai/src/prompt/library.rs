//! All prompts of an application, and the partials, helpers and schemas that they share.
//!
//! A prompt keeps its source, because a change of a shared part compiles all prompts again. A
//! prompt that does not compile stays in the library with its error, so that a call of it tells
//! what is wrong.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use oxikit_core::ports::PromptOrigin;
use oxikit_core::{Registry, Result, Status};
use oxikit_dotprompt::{Compiled, Environment, Prompt};

use super::actions;
use super::builder::PromptBuilder;
use super::definition::{Definition, broken};
use super::partials::Partials;
use super::texts::{Owner, SourceText, Texts};

/// All prompts of an application.
#[derive(Default)]
pub(super) struct Library(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    environment: Environment,
    partials: Partials,
    /// The sources of prompts. They are compiled again when shared parts change.
    recipes: BTreeMap<String, Recipe>,
    definitions: HashMap<String, Result<Arc<Definition>>>,
    owners: u64,
}

/// The source of a prompt.
#[derive(Clone)]
pub(super) enum Recipe {
    Code(Box<PromptBuilder>),
    /// The text of a prompt file.
    Text(Owner, SourceText),
}

impl Library {
    /// The prompt of this name, or the error of a broken one.
    pub(super) fn get(&self, name: &str) -> Result<Arc<Definition>> {
        let contents = self.lock();
        match contents.definitions.get(name) {
            Some(definition) => definition.clone(),
            None => {
                let names: Vec<_> =
                    contents.recipes.keys().map(|name| format!("`{name}`")).collect();
                let status = Status::not_found(format!("Prompt '{name}' not found"));
                Err(status.with_hint(format!("there are: {}", names.join(", "))))
            }
        }
    }

    /// Whether there is a prompt of this name, working or broken.
    pub(super) fn has(&self, name: &str) -> bool {
        self.lock().recipes.contains_key(name)
    }

    /// An owner for the texts of one directory or source.
    pub(super) fn new_owner(&self) -> Owner {
        let mut contents = self.lock();
        contents.owners += 1;
        Owner::numbered(contents.owners)
    }

    /// Defines a prompt in code, or replaces it.
    pub(super) fn define(
        &self,
        registry: &Registry,
        name: String,
        prompt: PromptBuilder,
    ) -> Result<()> {
        let mut contents = self.lock();
        let recipe = Recipe::Code(Box::new(prompt));
        if contents.recipes.insert(name.clone(), recipe).is_some() {
            registry.report_duplicate(format!(
                "two definitions of the prompt `{name}`: the later one replaces the earlier; give one of them another name"
            ));
        }
        contents.make(registry, &name)
    }

    /// Defines a prompt by the text of a prompt file, or replaces it.
    pub(super) fn define_text(
        &self,
        registry: &Registry,
        name: String,
        text: Arc<str>,
    ) -> Result<()> {
        let mut contents = self.lock();
        contents.recipes.insert(name.clone(), Recipe::Text(Owner::CODE, text.into()));
        contents.make(registry, &name)
    }

    /// Defines a partial in code, or replaces it, and compiles all prompts again.
    pub(super) fn define_partial(&self, registry: &Registry, name: String, text: Arc<str>) {
        let mut contents = self.lock();
        contents.partials.set(Owner::CODE, name.clone(), text.into());
        contents.apply_partial(&name);
        contents.make_all(registry);
    }

    /// Changes the shared parts other than partials, and compiles all prompts again.
    pub(super) fn change_environment(
        &self,
        registry: &Registry,
        change: impl FnOnce(Environment) -> Environment,
    ) {
        let mut contents = self.lock();
        contents.environment = change(std::mem::take(&mut contents.environment));
        contents.make_all(registry);
    }

    /// Replaces all prompts and partials of an owner under one lock, so that no call sees a
    /// mixture of old and new texts. Those that the owner no longer has are removed. Returns the
    /// errors of broken prompts.
    pub(super) fn replace(
        &self,
        registry: &Registry,
        owner: Owner,
        texts: Texts,
    ) -> BTreeMap<String, Status> {
        let mut contents = self.lock();
        contents.replace(registry, owner, texts)
    }

    /// As [`replace`](Self::replace), but a prompt that worked before and is broken now stays as
    /// it was: a text that somebody is editing at this moment is often broken.
    pub(super) fn replace_working(
        &self,
        registry: &Registry,
        owner: Owner,
        texts: Texts,
    ) -> BTreeMap<String, Status> {
        let mut contents = self.lock();
        let working = contents.working_recipes(owner);
        let broken = contents.replace(registry, owner, texts);
        for name in broken.keys() {
            if let Some(recipe) = working.get(name) {
                contents.recipes.insert(name.clone(), recipe.clone());
                // A partial may have changed too, so the previous text may be broken as well. Its
                // error is reported by the next call.
                let _ = contents.make(registry, name);
            }
        }
        broken
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn replace(
        &mut self,
        registry: &Registry,
        owner: Owner,
        texts: Texts,
    ) -> BTreeMap<String, Status> {
        let is_gone = |(name, recipe): (&String, &Recipe)| match recipe {
            Recipe::Text(of, _) if *of == owner && !texts.prompts.contains_key(name) => {
                Some(name.clone())
            }
            _ => None,
        };
        let gone: Vec<_> = self.recipes.iter().filter_map(is_gone).collect();
        for name in gone {
            self.remove(registry, &name);
        }
        for name in self.partials.replace(owner, texts.partials) {
            self.apply_partial(&name);
        }
        let names: Vec<_> = texts.prompts.keys().cloned().collect();
        let recipe = |(name, text)| (name, Recipe::Text(owner, text));
        self.recipes.extend(texts.prompts.into_iter().map(recipe));
        self.make_all(registry);
        names.into_iter().filter_map(|name| Some((name.clone(), self.mistake(&name)?))).collect()
    }

    /// Passes the current text of a partial, or its absence, to the environment.
    fn apply_partial(&mut self, name: &str) {
        let environment = std::mem::take(&mut self.environment);
        self.environment = match self.partials.get(name) {
            Some(partial) => environment.partial(name, partial.text.clone()),
            None => environment.without_partial(name),
        };
    }

    fn make_all(&mut self, registry: &Registry) {
        let names: Vec<_> = self.recipes.keys().cloned().collect();
        for name in names {
            // A broken prompt is reported when it is asked for.
            let _ = self.make(registry, &name);
        }
    }

    fn make(&mut self, registry: &Registry, name: &str) -> Result<()> {
        let definition = match self.recipes.get(name) {
            Some(Recipe::Code(builder)) => builder.compile(&self.environment),
            Some(Recipe::Text(_, source)) => self.compile_text(name, source),
            None => return Ok(()),
        };
        let definition = definition.map(|mut definition| {
            self.add_fragments(&mut definition);
            Arc::new(definition)
        });
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

    fn compile_text(&self, name: &str, source: &SourceText) -> Result<Definition> {
        let prompt = Prompt::parse(&source.text).map_err(|error| broken(name, error))?;
        let compiled = self.environment.compile(&prompt).map_err(|error| broken(name, error))?;
        let origin = source.origin.clone().unwrap_or_else(|| PromptOrigin::new(name));
        Definition::of_file(origin, name, prompt.template(), compiled)
    }

    /// Notes the partials that are part of a prompt and have a revision.
    fn add_fragments(&self, definition: &mut Definition) {
        let Definition { templates, origin, .. } = definition;
        for name in templates.all().flat_map(Compiled::partials) {
            if let Some(partial) = self.partials.get(name).and_then(|it| it.origin.as_ref()) {
                origin.fragments.extend(partial.fragments.clone());
                origin.fragments.extend(partial.revision.map(|it| (partial.id.clone(), it)));
            }
        }
    }

    fn remove(&mut self, registry: &Registry, name: &str) {
        self.recipes.remove(name);
        self.definitions.remove(name);
        actions::remove(registry, name);
    }

    /// The recipes of an owner whose prompts can be called.
    fn working_recipes(&self, owner: Owner) -> BTreeMap<String, Recipe> {
        let is_working = |(name, recipe): &(&String, &Recipe)| {
            matches!(recipe, Recipe::Text(of, _) if *of == owner)
                && matches!(self.definitions.get(*name), Some(Ok(_)))
        };
        let working = self.recipes.iter().filter(is_working);
        working.map(|(name, recipe)| (name.clone(), recipe.clone())).collect()
    }

    fn mistake(&self, name: &str) -> Option<Status> {
        self.definitions.get(name)?.as_ref().err().cloned()
    }
}
