//! Facts about a template that are known without rendering it: the names of helpers, variables
//! and partials that it uses.
//!
//! The compiler checks helpers and loads partials by them, and `Compiled::variables` lists the
//! variables. The analysis does not follow contexts that depend on values, so it may miss
//! variables that only a render would show.

use super::ast::{Block, Call, Expr, Inline, Literal, Node, Partial, PartialName, Path, Program};
use super::builtin::Builtin;
use crate::error::Position;

/// The names that one template uses. Partials are listed by name and not followed.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Names with arguments: they have to be helpers.
    pub(crate) helpers: Vec<(String, Position)>,
    /// Names that are looked up in the input, unless they are helpers.
    pub(crate) variables: Vec<String>,
    pub(crate) partials: Vec<PartialUse>,
    /// Names of partials that the template defines itself by `{{#*inline "name"}}`.
    pub(crate) inlines: Vec<String>,
    /// Whether a partial's name is only known while rendering.
    pub(crate) has_dynamic_partial: bool,
    /// Whether the template reads `@metadata`, which is costly to build.
    pub(crate) uses_metadata: bool,
}

/// One use of a partial with a fixed name.
#[derive(Debug)]
pub(crate) struct PartialUse {
    pub(crate) name: String,
    /// The names of its `key=value` arguments, if its context is the input; `None` if it runs in
    /// another context, where its variables are not those of the input.
    pub(crate) given: Option<Vec<String>>,
    /// Whether the tag is a block, whose body replaces a missing partial.
    pub(crate) has_fallback: bool,
}

/// Number of contexts between the current place and the input; `None` if unknown. A path with
/// as many `../` refers to the input.
type Level = Option<usize>;

impl Facts {
    /// The facts about a template.
    pub(crate) fn of(program: &Program) -> Self {
        let mut facts = Self::default();
        facts.program(program, Some(0));
        facts
    }

    /// Inline partials run where they are called, so their level is unknown.
    fn program(&mut self, program: &Program, level: Level) {
        for Inline { name, program, .. } in &program.inlines {
            if let Expr::Literal(Literal::Text(name)) = name {
                self.inlines.push(name.clone());
            }
            self.expr(name, level);
            self.program(program, None);
        }
        for node in &program.body {
            match node {
                Node::Text(_) | Node::Comment(_) | Node::Inline(_) => {}
                Node::Mustache(mustache) => self.call(&mustache.call, level, false),
                Node::Block(block) => self.block(block, level),
                Node::Partial(partial) => self.partial(partial, level),
            }
        }
    }

    /// Sections, `each` and `with` add a context for their program, but not for `{{else}}`.
    fn block(&mut self, block: &Block, level: Level) {
        self.call(&block.call, level, false);
        let is_section = !block.call.must_be_helper();
        let changes = Builtin::named(block.call.name()).is_some_and(Builtin::changes_context);
        let inner = if is_section || changes { level.map(|level| level + 1) } else { level };
        if let Some(program) = &block.program {
            self.program(program, inner);
        }
        if let Some(inverse) = &block.inverse {
            self.program(inverse, level);
        }
    }

    fn partial(&mut self, partial: &Partial, level: Level) {
        if let Some(expr) = &partial.context {
            self.expr(expr, level);
        }
        for (_, expr) in &partial.hash {
            self.expr(expr, level);
        }
        let keeps_context = partial.context.is_none();
        match &partial.name {
            PartialName::Dynamic(call) => {
                self.has_dynamic_partial = true;
                self.call(call, level, true);
            }
            PartialName::Static(name) => self.partials.push(PartialUse {
                name: name.clone(),
                given: (keeps_context && level == Some(0))
                    .then(|| partial.hash.iter().map(|(key, _)| key.clone()).collect()),
                has_fallback: partial.program.is_some(),
            }),
        }
        if let Some(program) = &partial.program {
            self.program(program, if keeps_context { level } else { None });
        }
    }

    fn call(&mut self, call: &Call, level: Level, is_subexpression: bool) {
        let must_be_helper = call.must_be_helper() || (is_subexpression && !call.is_block_param());
        if must_be_helper {
            self.helpers.push((call.name().to_owned(), call.position));
        } else if !(call.path.simple && Builtin::named(call.name()).is_some()) {
            self.path(&call.path, level);
        }
        for expr in &call.params {
            self.expr(expr, level);
        }
        for (_, expr) in &call.hash {
            self.expr(expr, level);
        }
    }

    fn expr(&mut self, expr: &Expr, level: Level) {
        match expr {
            Expr::Path(path) => self.path(path, level),
            Expr::Call(call) => self.call(call, level, true),
            Expr::Literal(_) => {}
        }
    }

    /// Adds the variable of a path: by `@root.name`, or by a name in the context of the input.
    fn path(&mut self, path: &Path, level: Level) {
        if path.block_param {
            return;
        }
        let name = match path.parts.as_slice() {
            [first, ..] if path.data && first == "metadata" => {
                self.uses_metadata = true;
                return;
            }
            [first, second, ..] if path.data && first == "root" => second,
            [first, ..] if !path.data && level == Some(path.depth) => first,
            _ => return,
        };
        if !self.variables.contains(name) {
            self.variables.push(name.clone());
        }
    }
}
