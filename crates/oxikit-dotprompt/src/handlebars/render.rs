//! Runs a parsed template.

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

/// What a template can reach beyond its own text.
pub(crate) trait Host {
    fn helper(&self, name: &str) -> Option<&Helper>;
    fn partial(&self, name: &str) -> Result<Option<Arc<Program>>>;
    fn limits(&self) -> &Limits;
}

/// What a template is rendered with.
#[derive(Debug)]
pub(crate) struct Data<'a> {
    pub(crate) input: Val<'a>,
    /// The `@` variables.
    pub(crate) context: Option<&'a Map<String, Value>>,
    pub(crate) metadata: Val<'a>,
}

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

pub(crate) struct Renderer<'a, 'h> {
    pub(crate) host: &'h dyn Host,
    pub(crate) limits: &'h Limits,
    pub(crate) out: Output,
    pub(crate) partial_depth: usize,
    pub(crate) partials: usize,
    steps: usize,
    depth: usize,
    /// What helpers see as `this` in a context that is null.
    null_context: Val<'a>,
}

impl<'a> Renderer<'a, '_> {
    /// Runs a program with a context of its own.
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

    /// Counts work, so that no template runs for ever.
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

    /// Making long text is work even if it is not printed.
    pub(crate) fn step_over(&mut self, bytes: usize) -> Result<()> {
        self.step(bytes / 64)
    }

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

    pub(crate) fn write(&mut self, value: &Val<'a>) -> Result<()> {
        match value.as_str() {
            Some(text) => self.out.text(text),
            None => self.out.text(&value.to_text()),
        }
    }

    fn block(&mut self, scope: &Scope<'a>, block: &Block) -> Result<()> {
        let call = &block.call;
        if !self.is_helper(call) {
            let value = self.path(scope, &call.path)?;
            return self.section(scope, block, value);
        }
        if self.host.helper(call.name()).is_some() {
            // The body of a custom helper depends on the value it returns.
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

    /// `{{#name}}`: a list is repeated, a value becomes the context.
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

    /// One of the two programs of a block, in the context it stands in.
    pub(crate) fn branch(&mut self, scope: &Scope<'a>, block: &Block, holds: bool) -> Result<()> {
        let this = self.this(scope);
        self.run_branch(scope, block, holds, this)
    }

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

    /// The context as helpers get it.
    pub(crate) fn this(&self, scope: &Scope<'a>) -> Val<'a> {
        if scope.context.is_nullish() { self.null_context.clone() } else { scope.context.clone() }
    }

    /// Whether the path is called or looked up.
    fn is_helper(&self, call: &Call) -> bool {
        call.must_be_helper()
            || (call.path.simple && !call.path.block_param && self.knows(call.name()))
    }

    fn knows(&self, name: &str) -> bool {
        self.host.helper(name).is_some() || Builtin::named(name).is_some()
    }

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

    pub(crate) fn subexpression(&mut self, scope: &Scope<'a>, call: &Call) -> Result<Val<'a>> {
        self.step(1)?;
        if call.is_block_param() {
            return self.path(scope, &call.path);
        }
        self.helper_value(scope, call)
    }

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

    /// `key=value` arguments: the first of a name counts, and a literal
    /// `undefined` is as good as none.
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

    /// Looks a path up; what is missing is undefined.
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

    fn context_at(&self, scope: &Scope<'a>, depth: usize) -> Val<'a> {
        match depth {
            0 => scope.context.clone(),
            _ => scope.env.context_at(depth),
        }
    }
}

fn members<'a>(mut value: Val<'a>, names: &[String]) -> Val<'a> {
    for name in names {
        if value.is_nullish() {
            break;
        }
        value = value.get(name);
    }
    value
}

/// In `@` paths the reference stops at anything false, not only at null.
fn data_members<'a>(mut value: Val<'a>, names: &[String]) -> Val<'a> {
    for name in names {
        if !value.is_truthy() {
            break;
        }
        value = value.get(name);
    }
    value
}

/// How much work it is to copy a value, in steps.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / 64,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + items.len(),
        Value::Object(members) => members.values().map(weight).sum::<usize>() + members.len(),
        _ => 0,
    }
}

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
