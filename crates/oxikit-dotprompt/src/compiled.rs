//! A prompt that is parsed and checked, and can be rendered.
//!
//! Partials with fixed names are loaded at compile time, with all partials that they name.
//! Partials whose names are expressions are loaded while rendering, once per render.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use oxikit_wire::{Document, JsonObject, Message};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Position, Result};
use crate::handlebars::{self, Builtin, Data, Facts, Host, Piece, Program, Val, unknown_helper};
use crate::helper::Helper;
use crate::limits::Limits;
use crate::messages;
use crate::metadata::Metadata;
use crate::shared::Shared;

/// A parsed prompt with its partials: compile once, render often, from any
/// thread. Cheap to clone.
///
/// [`Environment::compile`](crate::Environment::compile) makes one. It keeps the environment as
/// it was then: later changes of the environment do not affect it.
#[derive(Clone)]
pub struct Compiled {
    shared: Arc<Shared>,
    template: Arc<Parsed>,
    /// The partials the template names, and those that they name.
    partials: Arc<HashMap<String, Arc<Parsed>>>,
    metadata: Arc<Metadata>,
}

/// The arguments of rendering a prompt.
///
/// ```
/// use oxikit_dotprompt::{Environment, RenderInput};
/// use serde_json::json;
///
/// let template = Environment::new().compile_template("{{greeting}} {{@auth.name}}")?;
/// let defaults = json!({ "greeting": "Hello" });
/// let context = json!({ "auth": { "name": "Ann" } });
/// let input = RenderInput::default()
///     .with_defaults(defaults.as_object().unwrap())
///     .with_context(context.as_object().unwrap());
/// assert_eq!(template.render_text(&input)?, "Hello Ann");
/// # Ok::<(), oxikit_dotprompt::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RenderInput<'a> {
    /// The variables of the template.
    pub input: Option<&'a JsonObject>,
    /// Values for variables that `input` lacks. They have precedence over the `input.default` of
    /// the file.
    pub defaults: Option<&'a JsonObject>,
    /// The `@` variables, such as `auth` for `@auth.email`.
    pub context: Option<&'a JsonObject>,
    /// The conversation so far. It is put at `{{history}}`, else before a last user message, else
    /// at the end.
    pub messages: &'a [Arc<Message>],
    /// Documents, for `@metadata.docs`.
    pub docs: &'a [Document],
}

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rendered {
    /// The messages, with the conversation so far in its place.
    pub messages: Vec<Arc<Message>>,
    /// The prompt's resolved metadata.
    pub metadata: Arc<Metadata>,
}

/// A parsed template or partial.
#[derive(Debug)]
struct Parsed {
    program: Arc<Program>,
    facts: Facts,
}

impl<'a> RenderInput<'a> {
    /// Only variables: no defaults, context, conversation or documents.
    pub fn new(input: &'a JsonObject) -> Self {
        Self { input: Some(input), ..Self::default() }
    }

    /// Sets values for variables that the input lacks.
    #[must_use]
    pub fn with_defaults(self, defaults: &'a JsonObject) -> Self {
        Self { defaults: Some(defaults), ..self }
    }

    /// Sets the `@` variables.
    #[must_use]
    pub fn with_context(self, context: &'a JsonObject) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Sets the conversation so far.
    #[must_use]
    pub fn with_messages(self, messages: &'a [Arc<Message>]) -> Self {
        Self { messages, ..self }
    }

    /// Sets the documents for `@metadata.docs`.
    #[must_use]
    pub fn with_docs(self, docs: &'a [Document]) -> Self {
        Self { docs, ..self }
    }

    /// The root context: the input over the caller's defaults over the file's defaults. Each layer
    /// refers to the one below, so no value is copied.
    fn root(&self, file_defaults: Option<&'a JsonObject>) -> Val<'a> {
        let mut root: Option<Val<'a>> = None;
        for layer in [file_defaults, self.defaults, self.input] {
            let Some(layer) = layer.filter(|layer| !layer.is_empty()) else {
                continue;
            };
            root = Some(match root {
                None => Val::Object(layer),
                Some(below) => Val::extended(
                    below,
                    layer
                        .iter()
                        .map(|(key, value)| (key.as_str().into(), Val::json(value)))
                        .collect(),
                ),
            });
        }
        root.unwrap_or_else(|| Val::extended(Val::Undefined, Vec::new()))
    }
}

impl Compiled {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        template: &str,
        start: Position,
        metadata: Metadata,
    ) -> Result<Self> {
        let template = Arc::new(Parsed::new(template, start, shared)?);
        let mut partials = HashMap::new();
        load_partials(shared, &template.facts, &mut partials)?;
        Ok(Self {
            shared: shared.clone(),
            template,
            partials: Arc::new(partials),
            metadata: Arc::new(metadata),
        })
    }

    /// The prompt's metadata with schemas expanded and known tools resolved.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The variables that the template and its partials look up in the input, as far as they are
    /// known without rendering. Names inside of `each`, `with` and sections belong to their items
    /// and are left out.
    ///
    /// ```
    /// use oxikit_dotprompt::Environment;
    ///
    /// let source = "{{title}} {{#each items}}{{price}}{{/each}}";
    /// let template = Environment::new().compile_template(source)?;
    /// assert_eq!(Vec::from_iter(template.variables()), ["items", "title"]);
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    pub fn variables(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        self.collect_variables(&self.template.facts, &[], 0, &mut found);
        found
    }

    /// The names of the partials that the template includes, directly or through other partials,
    /// as far as they are known without rendering. Names that are expressions are left out, and
    /// so are [missing](Self::missing_partials) partials.
    ///
    /// ```
    /// use oxikit_dotprompt::Environment;
    ///
    /// let environment = Environment::new().partial("outer", "{{> inner}}").partial("inner", "x");
    /// let template = environment.compile_template("{{> outer}} {{> absent}}")?;
    /// assert_eq!(Vec::from_iter(template.partials()), ["inner", "outer"]);
    /// assert_eq!(Vec::from_iter(template.missing_partials()), ["absent"]);
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    pub fn partials(&self) -> BTreeSet<&str> {
        self.partials.keys().map(String::as_str).collect()
    }

    /// The names of the partials that the template or one of its partials includes and that do
    /// not exist. A render that reaches one of them fails. Partials that a template defines
    /// itself (`{{#*inline "name"}}`), and those with a body in their place (`{{#> name}}`), are
    /// not missing.
    pub fn missing_partials(&self) -> BTreeSet<&str> {
        let all = || self.partials.values().chain([&self.template]).map(|parsed| &parsed.facts);
        let is_defined = |name: &str| {
            self.partials.contains_key(name)
                || name == "@partial-block"
                || all().any(|facts| facts.inlines.iter().any(|inline| inline == name))
        };
        let used = all().flat_map(|facts| &facts.partials).filter(|used| !used.has_fallback);
        used.map(|used| used.name.as_str()).filter(|name| !is_defined(name)).collect()
    }

    /// Adds the variables of one template. `given` are names that the callers of a partial pass as
    /// arguments, which are no variables of the input inside of it.
    fn collect_variables<'s>(
        &'s self,
        facts: &'s Facts,
        given: &[&str],
        depth: usize,
        found: &mut BTreeSet<&'s str>,
    ) {
        let is_variable =
            |name: &&str| !given.contains(name) && !self.shared.helpers.contains_key(*name);
        found.extend(facts.variables.iter().map(String::as_str).filter(is_variable));
        if depth > self.shared.limits.partial_depth {
            return;
        }
        for partial in &facts.partials {
            if let (Some(names), Some(parsed)) = (&partial.given, self.partials.get(&partial.name))
            {
                let mut given = given.to_vec();
                given.extend(names.iter().map(String::as_str));
                self.collect_variables(&parsed.facts, &given, depth + 1, found);
            }
        }
    }

    /// Renders the prompt to messages.
    ///
    /// ```
    /// use oxikit_dotprompt::{Environment, RenderInput};
    /// use oxikit_wire::Role;
    ///
    /// let source = "{{role 'system'}}Be brief.{{role 'user'}}Hello";
    /// let template = Environment::new().compile_template(source)?;
    /// let rendered = template.render(&RenderInput::default())?;
    /// assert_eq!(rendered.messages[0].role, Role::System);
    /// assert_eq!(rendered.messages[1].text(), "Hello");
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a partial does not exist, a helper fails or is used wrongly, or a
    /// limit is passed.
    pub fn render(&self, input: &RenderInput<'_>) -> Result<Rendered> {
        let pieces = self.pieces(input)?;
        Ok(Rendered {
            messages: messages::assemble(pieces, input.messages),
            metadata: self.metadata.clone(),
        })
    }

    /// Renders a template that only writes text, such as a `system` text in code.
    ///
    /// # Errors
    ///
    /// As [`render`](Self::render), and when the template uses `role`, `history`,
    /// `media` or `section`.
    pub fn render_text(&self, input: &RenderInput<'_>) -> Result<String> {
        let mut text = String::new();
        for piece in self.pieces(input)? {
            let Piece::Text(piece) = piece else {
                return Err(Error::new(
                    ErrorKind::Render,
                    "this template has to be plain text and cannot use `role`, `history`, \
                     `media` or `section`",
                ));
            };
            text.push_str(&piece);
        }
        Ok(text)
    }

    /// Runs the template.
    fn pieces(&self, input: &RenderInput<'_>) -> Result<Vec<Piece>> {
        let metadata = if self.uses_metadata() {
            json!({ "prompt": &*self.metadata, "docs": input.docs, "messages": input.messages })
        } else {
            Value::Null
        };
        let host = RenderHost { compiled: self, loaded: RefCell::default() };
        let data = Data {
            input: input.root(self.metadata.default_input()),
            context: input.context,
            metadata: Val::json(&metadata),
        };
        handlebars::render(&host, &self.template.program, data)
    }

    /// Whether the template may read `@metadata`, for which the conversation is copied to JSON. A
    /// partial that is only known while rendering may read it too.
    fn uses_metadata(&self) -> bool {
        let mut all = self.partials.values().chain([&self.template]);
        all.any(|parsed| parsed.facts.uses_metadata || parsed.facts.has_dynamic_partial)
    }
}

impl Parsed {
    /// Parses a source and checks that all names with arguments are helpers, so that a typo is
    /// found before the first render.
    fn new(source: &str, start: Position, shared: &Shared) -> Result<Self> {
        if source.len() > shared.limits.source_bytes {
            return Err(Error::limit(format!(
                "the template is longer than {} bytes",
                shared.limits.source_bytes
            )));
        }
        let program = handlebars::parse(source, start)?;
        let facts = Facts::of(&program);
        for (name, position) in &facts.helpers {
            if Builtin::named(name).is_none() && !shared.helpers.contains_key(name) {
                return Err(unknown_helper(name, *position));
            }
        }
        Ok(Self { program: Arc::new(program), facts })
    }

    /// Parses a partial; `None` if there is none of the name.
    fn partial(shared: &Shared, name: &str) -> Result<Option<Arc<Self>>> {
        let Some(source) = shared.partial_source(name) else {
            return Ok(None);
        };
        Self::new(&source, Position::START, shared)
            .map(|parsed| Some(Arc::new(parsed)))
            .map_err(|error| error.in_partial(Some(name)))
    }
}

/// Loads all partials that are reachable by fixed names. Each is loaded once, so partials that
/// include each other do not loop. A name without a partial is skipped: it is an error only if
/// it is rendered.
fn load_partials(
    shared: &Shared,
    facts: &Facts,
    loaded: &mut HashMap<String, Arc<Parsed>>,
) -> Result<()> {
    let names = |facts: &Facts| -> Vec<String> {
        facts.partials.iter().map(|used| used.name.clone()).collect()
    };
    let mut wanted = names(facts);
    while let Some(name) = wanted.pop() {
        if loaded.contains_key(&name) {
            continue;
        }
        if let Some(parsed) = Parsed::partial(shared, &name)? {
            wanted.extend(names(&parsed.facts));
            loaded.insert(name, parsed);
        }
        if loaded.len() > shared.limits.partials {
            return Err(Error::limit(format!(
                "the prompt uses more than {} partials",
                shared.limits.partials
            )));
        }
    }
    Ok(())
}

/// The access of one render to helpers and partials.
struct RenderHost<'c> {
    compiled: &'c Compiled,
    /// Partials that were loaded by this render; `None` for names without a partial, so that the
    /// resolver is asked once per name.
    loaded: RefCell<HashMap<String, Option<Arc<Parsed>>>>,
}

impl Host for RenderHost<'_> {
    fn helper(&self, name: &str) -> Option<&Helper> {
        self.compiled.shared.helpers.get(name)
    }

    fn partial(&self, name: &str) -> Result<Option<Arc<Program>>> {
        if let Some(parsed) = self.compiled.partials.get(name) {
            return Ok(Some(parsed.program.clone()));
        }
        if let Some(known) = self.loaded.borrow().get(name) {
            return Ok(known.as_ref().map(|parsed| parsed.program.clone()));
        }
        let parsed = Parsed::partial(&self.compiled.shared, name)?;
        let program = parsed.as_ref().map(|parsed| parsed.program.clone());
        self.loaded.borrow_mut().insert(name.to_owned(), parsed);
        Ok(program)
    }

    fn limits(&self) -> &Limits {
        &self.compiled.shared.limits
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("metadata", &self.metadata)
            .field("partials", &self.partials.keys())
            .finish_non_exhaustive()
    }
}
