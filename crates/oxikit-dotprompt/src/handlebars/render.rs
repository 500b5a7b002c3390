//! Runs a parsed template.
//!
//! The renderer walks the tree recursively and writes pieces. All work is counted, and depth and
//! output are limited, so that a template ends soon whatever its input is. A value is never
//! parsed as a template.

mod helpers;
mod partials;

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::ast::{Block, Call, Expr, Hash, Literal, Mustache, Node, Path, Program};
use super::builtin::Builtin;
use super::output::{Output, Piece};
use super::scope::{Env, Frame, Layer, Scope, Variables};
use super::value::Val;
use crate::error::{Error, Position, Result};
use crate::helper::Helper;
use crate::limits::Limits;

/// Access of a template to the environment: helpers, partials and limits.
pub(crate) trait Host {
    /// A custom helper. It has precedence over a built-in one.
    fn helper(&self, name: &str) -> Option<&Helper>;
    /// A partial; `None` if there is none of the name, `Err` if it cannot be parsed.
    fn partial(&self, name: &str) -> Result<Option<Arc<Program>>>;
    fn limits(&self) -> &Limits;
}

/// The arguments of rendering a template.
#[derive(Debug)]
pub(crate) struct Data<'a> {
    pub(crate) input: Val<'a>,
    /// The `@` variables.
    pub(crate) context: Option<&'a Map<String, Value>>,
    /// The value of `@metadata`; null for templates that do not read it.
    pub(crate) metadata: Val<'a>,
}

/// Runs a template and returns its pieces.
///
/// # Errors
///
/// If a partial does not exist, a helper fails or is used wrongly, or a limit is exceeded.
pub(crate) fn render(
    host: &dyn Host,
    program: &Arc<Program>,
    data: Data<'_>,
) -> Result<Vec<Piece>> {
    let mut renderer = Renderer {
        host,
        limits: host.limits(),
        out: Output::new(host.limits().output_bytes),
        steps: 0,
        depth: 0,
        partial_depth: 0,
        partials: 0,
        null_context: Val::extended(Val::Undefined, Vec::new()),
    };
    let given = Rc::new(Frame {
        variables: Variables::Given { context: data.context, metadata: data.metadata },
        parent: None,
    });
    let root = Frame::child(&given, Variables::Root(data.input.clone()));
    let env = Env::start(None, Rc::new(Layer::default()));
    renderer.run(&env, program, data.input, root, None)?;
    Ok(renderer.out.into_pieces())
}

/// The state of one render. `'a` is the lifetime of the input, `'h` that of the environment.
pub(crate) struct Renderer<'a, 'h> {
    pub(crate) host: &'h dyn Host,
    pub(crate) limits: &'h Limits,
    pub(crate) out: Output,
    /// Number of partials that are running.
    pub(crate) partial_depth: usize,
    /// Number of partials that were started.
    pub(crate) partials: usize,
    steps: usize,
    /// Number of programs that are running.
    depth: usize,
    /// The value of `this` for helpers in a context that is null: one empty object, always the
    /// same, so that it is equal to itself.
    null_context: Val<'a>,
}

impl<'a> Renderer<'a, '_> {
    /// Runs a program with a context. `values` are those of its block parameters.
    ///
    /// # Errors
    ///
    /// Those of its statements, and if the nesting exceeds its limit.
    pub(crate) fn run(
        &mut self,
        env: &Env<'a>,
        program: &Arc<Program>,
        context: Val<'a>,
        frame: Rc<Frame<'a>>,
        values: Option<Vec<Val<'a>>>,
    ) -> Result<()> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            return Err(Error::limit(format!(
                "blocks and partials are more than {} deep while rendering",
                self.limits.depth
            )));
        }
        let container = env.container.clone();
        let outer_partials = self.install_inlines(env, program)?;
        let scope = Scope {
            frame,
            partials: container.partials.borrow().clone(),
            env: Env {
                depths: env.enter_context(&context, &self.null_context),
                levels: env.enter_params(program, values),
                container: container.clone(),
            },
            context,
        };
        let result = self.body(&scope, program);
        if let Some(outer) = outer_partials {
            *container.partials.borrow_mut() = outer;
        }
        self.depth -= 1;
        result.map_err(|error| error.in_partial(container.name.as_deref()))
    }

    /// Runs the statements of a program.
    fn body(&mut self, scope: &Scope<'a>, program: &Program) -> Result<()> {
        for node in &program.body {
            self.step(1)?;
            match node {
                Node::Text(text) => self.out.text(text.value())?,
                Node::Comment(_) | Node::Inline(_) => {}
                Node::Mustache(mustache) => self.mustache(scope, mustache)?,
                Node::Block(block) => self.block(scope, block)?,
                Node::Partial(partial) => {
                    self.partial(scope, partial).map_err(|error| error.at(partial.position))?
                }
            }
        }
        Ok(())
    }

    /// Counts work.
    ///
    /// # Errors
    ///
    /// If the render exceeds its number of steps.
    pub(crate) fn step(&mut self, steps: usize) -> Result<()> {
        self.steps += steps;
        if self.steps > self.limits.steps {
            return Err(Error::limit(format!(
                "the template takes more than {} steps; does it repeat itself?",
                self.limits.steps
            )));
        }
        Ok(())
    }

    /// Counts the work of making a text, also if it is not printed: one step for 64 bytes.
    pub(crate) fn step_over(&mut self, bytes: usize) -> Result<()> {
        self.step(bytes / 64)
    }

    /// `{{path}}` or `{{helper …}}`: writes a value, or the piece of a built-in helper.
    fn mustache(&mut self, scope: &Scope<'a>, mustache: &Mustache) -> Result<()> {
        let call = &mustache.call;
        let at = |error: Error| error.at(call.position);
        if !self.is_helper(call) {
            let value = self.path(scope, &call.path)?;
            return self.write(&value).map_err(at);
        }
        if self.host.helper(call.name()).is_none()
            && let Some(builtin) = Builtin::named(call.name())
            && builtin.writes_pieces()
        {
            return self.write_piece(scope, builtin, call).map_err(at);
        }
        let value = self.helper_value(scope, call)?;
        self.write(&value).map_err(at)
    }

    /// Writes a value as text.
    pub(crate) fn write(&mut self, value: &Val<'a>) -> Result<()> {
        match value.as_str() {
            Some(text) => self.out.text(text),
            None => self.out.text(&value.to_text()),
        }
    }

    /// `{{#…}}`: a section, a custom helper or a built-in helper, in this order of precedence.
    fn block(&mut self, scope: &Scope<'a>, block: &Block) -> Result<()> {
        let call = &block.call;
        if !self.is_helper(call) {
            let value = self.path(scope, &call.path)?;
            return self.section(scope, block, value);
        }
        if self.host.helper(call.name()).is_some() {
            // Custom helpers cannot run blocks themselves; the value that they return selects the
            // branch.
            let value = self.helper_value(scope, call)?;
            let holds = value.is_truthy() && !value.is_empty();
            return self.branch(scope, block, holds);
        }
        match Builtin::named(call.name()) {
            Some(builtin) => {
                self.builtin_block(scope, builtin, block).map_err(|error| error.at(call.position))
            }
            None => Err(unknown_helper(call.name(), call.position)),
        }
    }

    /// `{{#name}}` for a variable: a list is iterated, `true` runs the block in the same context,
    /// another value becomes the context.
    fn section(&mut self, scope: &Scope<'a>, block: &Block, value: Val<'a>) -> Result<()> {
        match value {
            Val::Undefined | Val::Null | Val::Bool(_) => {
                let holds = matches!(value, Val::Bool(true));
                self.run_branch(scope, block, holds, scope.context.clone())
            }
            Val::List(_) | Val::MadeList(_) => {
                if value.list_len() == Some(0) {
                    return self.run_branch(scope, block, false, scope.context.clone());
                }
                self.each(scope, block, &value)
            }
            _ => self.run_branch(scope, block, true, value),
        }
    }

    /// Runs one of the two programs of a block in the current context.
    pub(crate) fn branch(&mut self, scope: &Scope<'a>, block: &Block, holds: bool) -> Result<()> {
        let this = self.this(scope);
        self.run_branch(scope, block, holds, this)
    }

    /// Runs one of the two programs of a block, if it has it.
    fn run_branch(
        &mut self,
        scope: &Scope<'a>,
        block: &Block,
        holds: bool,
        context: Val<'a>,
    ) -> Result<()> {
        let program = if holds { &block.program } else { &block.inverse };
        match program {
            Some(program) => self.run(&scope.env, program, context, scope.frame.clone(), None),
            None => Ok(()),
        }
    }

    /// The context as helpers get it: never null, because `this` of a JavaScript function is an
    /// object.
    pub(crate) fn this(&self, scope: &Scope<'a>) -> Val<'a> {
        if scope.context.is_nullish() { self.null_context.clone() } else { scope.context.clone() }
    }

    /// Whether the path is a helper and not a variable.
    fn is_helper(&self, call: &Call) -> bool {
        call.must_be_helper()
            || (call.path.simple && !call.path.block_param && self.knows(call.name()))
    }

    fn knows(&self, name: &str) -> bool {
        self.host.helper(name).is_some() || Builtin::named(name).is_some()
    }

    /// Evaluates an argument.
    pub(crate) fn expr(&mut self, scope: &Scope<'a>, expr: &Expr) -> Result<Val<'a>> {
        match expr {
            Expr::Path(path) => self.path(scope, path),
            Expr::Call(call) => self.subexpression(scope, call),
            Expr::Literal(literal) => Ok(match literal {
                Literal::Text(text) => Val::text(text),
                Literal::Number(number) => Val::Number(number.clone()),
                Literal::Bool(value) => Val::Bool(*value),
                Literal::Undefined => Val::Undefined,
                Literal::Null => Val::Null,
            }),
        }
    }

    /// Evaluates `(helper …)`. A subexpression is always a helper, unless it is a block parameter.
    pub(crate) fn subexpression(&mut self, scope: &Scope<'a>, call: &Call) -> Result<Val<'a>> {
        self.step(1)?;
        if call.is_block_param() {
            return self.path(scope, &call.path);
        }
        self.helper_value(scope, call)
    }

    /// Calls a helper, a custom one before a built-in one.
    fn helper_value(&mut self, scope: &Scope<'a>, call: &Call) -> Result<Val<'a>> {
        let at = |error: Error| error.at(call.position);
        let host = self.host;
        let Some(helper) = host.helper(call.name()) else {
            return match Builtin::named(call.name()) {
                Some(builtin) => self.builtin_value(scope, builtin, call).map_err(at),
                None => Err(unknown_helper(call.name(), call.position)),
            };
        };
        let mut args = Vec::with_capacity(call.params.len());
        for param in &call.params {
            args.push(self.expr(scope, param)?.to_json());
        }
        // Arguments are copied to JSON, so large ones cost steps: a loop over helpers with the whole
        // input as argument ends at the limit too.
        for arg in &args {
            self.step(weight(arg))?;
        }
        let hash: Map<String, Value> = self
            .hash_values(scope, &call.hash)?
            .into_iter()
            .map(|(key, value)| (key.to_string(), value.to_json()))
            .collect();
        let made = helper(&args, &hash).map_err(|message| {
            let message = format!("helper `{}` failed: {message}", call.name());
            Error::render(call.position, message)
        })?;
        Ok(Val::made(made))
    }

    /// Evaluates `key=value` arguments. Of several with one name the first counts, and a literal
    /// `undefined` is left out.
    pub(crate) fn hash_values(
        &mut self,
        scope: &Scope<'a>,
        hash: &Hash,
    ) -> Result<Vec<(Rc<str>, Val<'a>)>> {
        let mut values: Vec<(Rc<str>, Val<'a>)> = Vec::with_capacity(hash.len());
        for (index, (key, expr)) in hash.iter().enumerate() {
            let is_repeated = hash[..index].iter().any(|(earlier, _)| earlier == key);
            if !is_repeated && !matches!(expr, Expr::Literal(Literal::Undefined)) {
                values.push((key.as_str().into(), self.expr(scope, expr)?));
            }
        }
        Ok(values)
    }

    /// Looks up a path. A member that does not exist is undefined and not an error.
    ///
    /// # Errors
    ///
    /// If a block parameter has no value, because the helper passed none.
    pub(crate) fn path(&mut self, scope: &Scope<'a>, path: &Path) -> Result<Val<'a>> {
        let (first, rest) = match path.parts.split_first() {
            Some((first, rest)) if !first.is_empty() => (first, rest),
            // `this`, `..` and, to the reference, also `[]`.
            _ => return Ok(self.context_at(scope, path.depth)),
        };
        if path.block_param {
            let value = scope.env.block_param(first).ok_or_else(|| {
                let message = format!("the block gives its parameter `{first}` no value");
                Error::render(path.position, message)
            })?;
            return Ok(members(value, rest));
        }
        if path.data {
            let Some(frame) = scope.frame.up(path.depth) else {
                return Ok(Val::Undefined);
            };
            return Ok(data_members(frame.get(first), rest));
        }
        Ok(members(self.context_at(scope, path.depth), &path.parts))
    }

    /// The context `depth` levels out.
    fn context_at(&self, scope: &Scope<'a>, depth: usize) -> Val<'a> {
        match depth {
            0 => scope.context.clone(),
            _ => scope.env.context_at(depth),
        }
    }
}

/// Follows names from a value; stops at null and undefined.
fn members<'a>(mut value: Val<'a>, names: &[String]) -> Val<'a> {
    for name in names {
        if value.is_nullish() {
            break;
        }
        value = value.get(name);
    }
    value
}

/// Follows names of an `@` path. There the reference stops at any falsy value.
fn data_members<'a>(mut value: Val<'a>, names: &[String]) -> Val<'a> {
    for name in names {
        if !value.is_truthy() {
            break;
        }
        value = value.get(name);
    }
    value
}

/// The work of copying a value, in steps: one for each item or member and each 64 bytes of text.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / 64,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + items.len(),
        Value::Object(members) => members.values().map(weight).sum::<usize>() + members.len(),
        _ => 0,
    }
}

/// The error for a call of a helper that does not exist. The compiler reports it for all calls
/// with arguments, the renderer for partials that are loaded late.
pub(crate) fn unknown_helper(name: &str, position: Position) -> Error {
    Error::parse(
        position,
        format!(
            "there is no helper `{name}`; a variable takes no arguments, \
             and custom helpers are registered on the environment"
        ),
    )
    .missing_definition()
}
