//! `{{> name}}`, `{{#> name}}…{{/name}}` and `{{#*inline "name"}}`.
//!
//! A partial runs with the context of its caller, or with the one that it is given. The body of
//! `{{#> name}}` is available to it as `{{> @partial-block}}`, and is the fallback if there is no
//! partial of the name. Inline partials are visible in the program that defines them and in
//! partials that it calls.

use std::rc::Rc;
use std::sync::Arc;

use super::Renderer;
use crate::error::{Error, Result};
use crate::handlebars::ast::{Expr, Partial, PartialName, Program};
use crate::handlebars::scope::{
    Closure, ClosureKind, Env, Frame, Layer, PartialFn, Scope, Variables,
};
use crate::handlebars::value::Val;

/// Name by which a partial runs the block that it was called with.
const PARTIAL_BLOCK: &str = "@partial-block";

impl<'a> Renderer<'a, '_> {
    /// Runs a partial.
    ///
    /// # Errors
    ///
    /// If there is neither a partial of the name nor a block, if the partial fails, or if a limit
    /// of number or nesting is exceeded.
    pub(crate) fn partial(&mut self, scope: &Scope<'a>, partial: &Partial) -> Result<()> {
        self.count_partial()?;
        let name = self.partial_name(scope, &partial.name)?;
        let context = self.partial_context(scope, partial)?;
        let (block, frame, partials) = self.partial_surroundings(scope, partial)?;
        let found = match self.find_partial(scope, &name)? {
            Some(found) => found,
            None => block.ok_or_else(|| not_found(&name).at(partial.position))?,
        };
        if partial.indent.is_empty() {
            self.invoke(found, context, frame, partials)?;
        } else {
            let before = self.out.set_aside();
            self.invoke(found, context, frame, partials)?;
            self.out.indent(before, &partial.indent)?;
        }
        self.partial_depth -= 1;
        Ok(())
    }

    /// Counts a partial against the limits. Both are needed: a partial that includes itself twice
    /// makes an exponential number of calls long before it is deep.
    fn count_partial(&mut self) -> Result<()> {
        self.partials += 1;
        if self.partials > self.limits.partials {
            return Err(Error::limit(format!(
                "more than {} partials in one render",
                self.limits.partials
            )));
        }
        self.partial_depth += 1;
        if self.partial_depth > self.limits.partial_depth {
            return Err(Error::limit(format!(
                "partials include one another more than {} deep; does one include itself?",
                self.limits.partial_depth
            )));
        }
        Ok(())
    }

    /// The name, which `{{> (expression)}}` computes.
    fn partial_name(&mut self, scope: &Scope<'a>, name: &PartialName) -> Result<String> {
        match name {
            PartialName::Static(name) => Ok(name.clone()),
            PartialName::Dynamic(call) => {
                let value = self.subexpression(scope, call)?;
                Ok(if value.is_truthy() { value.to_key() } else { "undefined".to_owned() })
            }
        }
    }

    /// The context of the partial: its argument or the current context, with the `key=value`
    /// arguments as further members.
    fn partial_context(&mut self, scope: &Scope<'a>, partial: &Partial) -> Result<Val<'a>> {
        let context = match &partial.context {
            Some(expr) => self.expr(scope, expr)?,
            None => scope.context.clone(),
        };
        if partial.hash.is_empty() {
            return Ok(context);
        }
        let mut members = self.hash_values(scope, &partial.hash)?;
        // The reference builds the object from the last argument to the first.
        members.reverse();
        Ok(Val::extended(context, members))
    }

    /// The environment of the partial. If it is called with a block: the block itself, the `@`
    /// variables with it as `@partial-block`, and the partials with the inline partials that the
    /// block defines.
    fn partial_surroundings(
        &mut self,
        scope: &Scope<'a>,
        partial: &Partial,
    ) -> Result<(Option<PartialFn<'a>>, Rc<Frame<'a>>, Rc<Layer<'a>>)> {
        let Some(program) = &partial.program else {
            return Ok((None, scope.frame.clone(), scope.partials.clone()));
        };
        let block = PartialFn::Closure(Rc::new(Closure {
            program: program.clone(),
            env: scope.env.clone(),
            kind: ClosureKind::Block(scope.frame.partial_block()),
        }));
        let frame = Frame::child(&scope.frame, Variables::PartialBlock(Some(block.clone())));
        let partials = self.with_inlines(&scope.env, program, &scope.partials)?;
        Ok((Some(block), frame, partials))
    }

    /// Finds a partial: an inline one first, then the partial block or a registered one.
    fn find_partial(&mut self, scope: &Scope<'a>, name: &str) -> Result<Option<PartialFn<'a>>> {
        // The layer of the caller, without the inline partials of the block: they are visible
        // only inside of the partial.
        if let Some(found) = scope.partials.find(name) {
            return Ok(Some(found));
        }
        if name == PARTIAL_BLOCK {
            return Ok(scope.frame.partial_block());
        }
        let program = self.host.partial(name)?;
        Ok(program.map(|program| PartialFn::Template { name: name.into(), program }))
    }

    /// Runs a partial that was found. A closure keeps the environment of its definition, but gets
    /// context and `@` variables of the call.
    fn invoke(
        &mut self,
        partial: PartialFn<'a>,
        context: Val<'a>,
        frame: Rc<Frame<'a>>,
        partials: Rc<Layer<'a>>,
    ) -> Result<()> {
        match partial {
            PartialFn::Template { name, program } => {
                let env = Env::start(Some(name), partials);
                self.run(&env, &program, context, frame, None)
            }
            PartialFn::Closure(closure) => {
                let frame = match &closure.kind {
                    ClosureKind::Inline => frame,
                    ClosureKind::Block(outer) => {
                        Frame::child(&frame, Variables::PartialBlock(outer.clone()))
                    }
                };
                self.run(&closure.env, &closure.program, context, frame, None)
            }
        }
    }

    /// Defines the inline partials of a program while it runs. Returns the previous layer, which
    /// the caller restores afterwards; `None` if the program has no inline partials.
    pub(crate) fn install_inlines(
        &mut self,
        env: &Env<'a>,
        program: &Arc<Program>,
    ) -> Result<Option<Rc<Layer<'a>>>> {
        if program.inlines.is_empty() {
            return Ok(None);
        }
        let outer = env.container.partials.borrow().clone();
        let layer = self.with_inlines(env, program, &outer)?;
        *env.container.partials.borrow_mut() = layer;
        Ok(Some(outer))
    }

    /// A layer with the inline partials of a program.
    ///
    /// # Errors
    ///
    /// If the name of one is not a literal.
    fn with_inlines(
        &mut self,
        env: &Env<'a>,
        program: &Program,
        partials: &Rc<Layer<'a>>,
    ) -> Result<Rc<Layer<'a>>> {
        if program.inlines.is_empty() {
            return Ok(partials.clone());
        }
        let mut own = Vec::with_capacity(program.inlines.len());
        for inline in &program.inlines {
            let Expr::Literal(name) = &inline.name else {
                return Err(Error::render(
                    inline.position,
                    "an inline partial needs a name in quotes",
                ));
            };
            let closure = Closure {
                program: inline.program.clone(),
                env: env.clone(),
                kind: ClosureKind::Inline,
            };
            own.push((name.to_name(), PartialFn::Closure(Rc::new(closure))));
        }
        Ok(Rc::new(Layer { own, parent: Some(partials.clone()) }))
    }
}

fn not_found(name: &str) -> Error {
    let message = if name == PARTIAL_BLOCK {
        "`{{> @partial-block}}` is used in a partial that was called without a block".to_owned()
    } else {
        format!("there is no partial `{name}`; register it, or check its file name")
    };
    Error::new(crate::ErrorKind::Render, message)
}
