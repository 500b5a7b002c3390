//! The scope of a running program: its context and the enclosing ones, `@`
//! variables, block parameters and partials.
//!
//! The parts are immutable linked lists, each element with an `Rc` to its parent. A block that is
//! passed to a partial therefore keeps its own scope by cloning a few pointers. The one exception
//! is the set of partials of a running template ([`Container`]), which changes while a program
//! with inline partials runs.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::ast::Program;
use super::value::Val;

/// Everything visible to the statements of one program.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    pub(crate) context: Val<'a>,
    pub(crate) frame: Rc<Frame<'a>>,
    /// The partials that were defined when the program began.
    pub(crate) partials: Rc<Layer<'a>>,
    pub(crate) env: Env<'a>,
}

/// The part of a scope that a block keeps when it runs later, as a partial block or an inline
/// partial.
#[derive(Clone)]
pub(crate) struct Env<'a> {
    /// For `../`.
    pub(crate) depths: Depths<'a>,
    /// For block parameters.
    pub(crate) levels: Levels<'a>,
    /// The template that the code is written in, for inline partials and errors.
    pub(crate) container: Rc<Container<'a>>,
}

/// Contexts for `../`, the current one first.
pub(crate) type Depths<'a> = Option<Rc<Depth<'a>>>;

/// One context and the enclosing ones.
pub(crate) struct Depth<'a> {
    pub(crate) value: Val<'a>,
    pub(crate) parent: Depths<'a>,
}

/// Block parameters, the innermost first.
pub(crate) type Levels<'a> = Option<Rc<Level<'a>>>;

/// The block parameters of one program and those of the enclosing ones.
pub(crate) struct Level<'a> {
    /// Has the names.
    pub(crate) program: Arc<Program>,
    /// The values in the order of the names; `None` if the helper passed none.
    pub(crate) values: Option<Vec<Val<'a>>>,
    pub(crate) parent: Levels<'a>,
}

/// `@` variables. A name that a frame does not have is looked up in its parents.
pub(crate) struct Frame<'a> {
    pub(crate) variables: Variables<'a>,
    pub(crate) parent: Option<Rc<Frame<'a>>>,
}

/// The variables that one frame adds.
pub(crate) enum Variables<'a> {
    /// The context of the caller. A member `metadata` of it has precedence over the metadata of
    /// the prompt.
    Given { context: Option<&'a Map<String, Value>>, metadata: Val<'a> },
    /// `@root`: the input.
    Root(Val<'a>),
    /// `@key`, `@index`, `@first` and `@last` of an iteration.
    Each { key: Val<'a>, index: usize, is_last: bool },
    /// `@partial-block`; `None` hides the one of an enclosing frame.
    PartialBlock(Option<PartialFn<'a>>),
}

/// One running template: the prompt, or a partial.
pub(crate) struct Container<'a> {
    /// The partial's name; `None` for the prompt.
    pub(crate) name: Option<Rc<str>>,
    /// The partials that are defined at the moment. The renderer restores the previous layer at
    /// the end of a program with inline partials.
    pub(crate) partials: RefCell<Rc<Layer<'a>>>,
}

/// Inline partials of one program, and the layer of the enclosing one.
#[derive(Default)]
pub(crate) struct Layer<'a> {
    pub(crate) own: Vec<(String, PartialFn<'a>)>,
    pub(crate) parent: Option<Rc<Layer<'a>>>,
}

/// The target of `{{> name}}`.
#[derive(Clone)]
pub(crate) enum PartialFn<'a> {
    /// A registered partial, which runs in an environment of its own.
    Template { name: Rc<str>, program: Arc<Program> },
    /// An inline partial or a partial block, which runs in the environment of its definition.
    Closure(Rc<Closure<'a>>),
}

/// A program with the environment in which it was defined.
pub(crate) struct Closure<'a> {
    pub(crate) program: Arc<Program>,
    pub(crate) env: Env<'a>,
    pub(crate) kind: ClosureKind<'a>,
}

/// The two kinds of closures, which differ in their `@partial-block`.
pub(crate) enum ClosureKind<'a> {
    /// The body of `{{#*inline "name"}}`, which sees the `@partial-block` of its caller.
    Inline,
    /// The body of `{{#> name}}`, which sees the `@partial-block` at the place where it is
    /// written. Otherwise it would be its own partial block and run until a limit ends it.
    Block(Option<PartialFn<'a>>),
}

impl<'a> Frame<'a> {
    /// A frame inside of `parent`.
    pub(crate) fn child(parent: &Rc<Self>, variables: Variables<'a>) -> Rc<Self> {
        Rc::new(Self { variables, parent: Some(parent.clone()) })
    }

    /// The value of an `@` variable, from the innermost frame that has it.
    pub(crate) fn get(&self, name: &str) -> Val<'a> {
        let mut frame = Some(self);
        while let Some(current) = frame {
            if let Some(value) = current.variables.get(name) {
                return value;
            }
            frame = current.parent.as_deref();
        }
        Val::Undefined
    }

    /// The frame that `@../` leads to.
    pub(crate) fn up(self: &Rc<Self>, depth: usize) -> Option<Rc<Self>> {
        let mut frame = self.clone();
        for _ in 0..depth {
            frame = frame.parent.clone()?;
        }
        Some(frame)
    }

    /// The current `@partial-block`.
    pub(crate) fn partial_block(&self) -> Option<PartialFn<'a>> {
        let mut frame = Some(self);
        while let Some(current) = frame {
            if let Variables::PartialBlock(block) = &current.variables {
                return block.clone();
            }
            frame = current.parent.as_deref();
        }
        None
    }
}

impl<'a> Variables<'a> {
    /// A variable of this frame alone.
    fn get(&self, name: &str) -> Option<Val<'a>> {
        match (self, name) {
            (Self::Given { context, metadata }, _) => {
                let given = context.and_then(|context| context.get(name)).map(Val::json);
                given.or_else(|| (name == "metadata").then(|| metadata.clone()))
            }
            (Self::Root(root), "root") => Some(root.clone()),
            (Self::Each { key, .. }, "key") => Some(key.clone()),
            (Self::Each { index, .. }, "index") => Some(Val::index(*index)),
            (Self::Each { index, .. }, "first") => Some(Val::Bool(*index == 0)),
            (Self::Each { is_last, .. }, "last") => Some(Val::Bool(*is_last)),
            _ => None,
        }
    }
}

impl<'a> Env<'a> {
    /// The environment of a template at its start: without enclosing contexts and block parameters.
    pub(crate) fn start(name: Option<Rc<str>>, partials: Rc<Layer<'a>>) -> Self {
        Self {
            depths: None,
            levels: None,
            container: Rc::new(Container { name, partials: RefCell::new(partials) }),
        }
    }

    /// The context `n` levels out; 0 is the current one. `undefined` beyond the outermost.
    pub(crate) fn context_at(&self, n: usize) -> Val<'a> {
        let mut depth = self.depths.as_ref();
        for _ in 0..n {
            depth = depth.and_then(|current| current.parent.as_ref());
        }
        depth.map_or(Val::Undefined, |found| found.value.clone())
    }

    /// The contexts for a program that runs with `context`.
    ///
    /// A context that equals the current one adds no level for `../`: inside of `{{#if}}`, `../`
    /// still refers to the context outside of the enclosing `each`. The reference compares with
    /// `!=`, which is why equality is loose here, and replaces a null context by an empty object,
    /// which counts as the same context.
    pub(crate) fn enter_context(&self, context: &Val<'a>, null_context: &Val<'a>) -> Depths<'a> {
        let current = self.context_at(0);
        let stands_for_null = matches!(current, Val::Null) && context.strictly_equals(null_context);
        if stands_for_null || context.loosely_equals(&current) {
            return self.depths.clone();
        }
        Some(Rc::new(Depth { value: context.clone(), parent: self.depths.clone() }))
    }

    /// The block parameters for a program, which adds its own if it declares any.
    pub(crate) fn enter_params(
        &self,
        program: &Arc<Program>,
        values: Option<Vec<Val<'a>>>,
    ) -> Levels<'a> {
        if program.block_params.is_empty() {
            return self.levels.clone();
        }
        Some(Rc::new(Level { program: program.clone(), values, parent: self.levels.clone() }))
    }

    /// The value of a block parameter; `None` if the helper passed no values.
    pub(crate) fn block_param(&self, name: &str) -> Option<Val<'a>> {
        let mut level = self.levels.as_deref();
        while let Some(current) = level {
            let names = &current.program.block_params;
            if let Some(index) = names.iter().position(|param| param == name) {
                let values = current.values.as_ref()?;
                return Some(values.get(index).cloned().unwrap_or(Val::Undefined));
            }
            level = current.parent.as_deref();
        }
        None
    }
}

impl<'a> Layer<'a> {
    /// The inline partial of this name, from the innermost layer that has it.
    pub(crate) fn find(&self, name: &str) -> Option<PartialFn<'a>> {
        let mut layer = Some(self);
        while let Some(current) = layer {
            // The last definition of a name replaces the earlier ones.
            if let Some((_, found)) = current.own.iter().rev().find(|(own, _)| own == name) {
                return Some(found.clone());
            }
            layer = current.parent.as_deref();
        }
        None
    }
}
