//! `{{> name}}`, `{{#> name}}…{{/name}}` and `{{#*inline "name"}}`.

use std::rc::Rc;
use std::sync::Arc;

use super::ast::{Expr, Partial, PartialName, Program};
use super::render::Renderer;
use super::scope::{Closure, ClosureKind, Env, Frame, Layer, PartialFn, Scope, Variables};
use super::value::Val;
use crate::error::{Error, Result};

const PARTIAL_BLOCK: &str = "@partial-block";

impl<'a> Renderer<'a, '_> {
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

    fn partial_name(&mut self, scope: &Scope<'a>, name: &PartialName) -> Result<String> {
        match name {
            PartialName::Static(name) => Ok(name.clone()),
            PartialName::Dynamic(call) => {
                let value = self.subexpression(scope, call)?;
                Ok(if value.is_truthy() { value.to_key() } else { "undefined".to_owned() })
            }
        }
    }

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

    /// For a partial with a block: the block itself, and `@` variables and
    /// partials that include it and the inline partials inside it.
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

    fn find_partial(&mut self, scope: &Scope<'a>, name: &str) -> Result<Option<PartialFn<'a>>> {
        // Not in the layer of the block's own inline partials: they only count
        // inside of the partial.
        if let Some(found) = scope.partials.find(name) {
            return Ok(Some(found));
        }
        if name == PARTIAL_BLOCK {
            return Ok(scope.frame.partial_block());
        }
        let program = self.host.partial(name)?;
        Ok(program.map(|program| PartialFn::Template { name: name.into(), program }))
    }

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

    /// Makes a program's inline partials known for as long as it runs; returns
    /// what is to be put back afterwards.
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
        "`{{> @partial-block}}` stands in a partial that was called without a block".to_owned()
    } else {
        format!("there is no partial `{name}`; register it, or check its file name")
    };
    Error::new(crate::ErrorKind::Render, message)
}
