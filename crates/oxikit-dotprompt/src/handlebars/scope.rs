//! What a running program can see: its context and those around it, `@`
//! variables, block parameters and partials.
//!
//! All of it is immutable and shared, so that a block handed to a partial
//! simply keeps what it needs. The one exception is the set of partials of a
//! running template, which grows while a program with inline partials runs.

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
    /// The partials there were when the program began.
    pub(crate) partials: Rc<Layer<'a>>,
    pub(crate) env: Env<'a>,
}

/// The part of a scope that a block takes along when it runs later.
#[derive(Clone)]
pub(crate) struct Env<'a> {
    pub(crate) depths: Depths<'a>,
    pub(crate) levels: Levels<'a>,
    pub(crate) container: Rc<Container<'a>>,
}

/// Contexts for `../`, the current one first.
pub(crate) type Depths<'a> = Option<Rc<Depth<'a>>>;

pub(crate) struct Depth<'a> {
    pub(crate) value: Val<'a>,
    pub(crate) parent: Depths<'a>,
}

/// Block parameters, the innermost first.
pub(crate) type Levels<'a> = Option<Rc<Level<'a>>>;

pub(crate) struct Level<'a> {
    pub(crate) program: Arc<Program>,
    /// `None` when the helper passed none.
    pub(crate) values: Option<Vec<Val<'a>>>,
    pub(crate) parent: Levels<'a>,
}

/// `@` variables; a frame also shows those of its parents.
pub(crate) struct Frame<'a> {
    pub(crate) variables: Variables<'a>,
    pub(crate) parent: Option<Rc<Frame<'a>>>,
}

pub(crate) enum Variables<'a> {
    /// What the caller gave; its own `metadata` hides ours.
    Given {
        context: Option<&'a Map<String, Value>>,
        metadata: Val<'a>,
    },
    Root(Val<'a>),
    Each {
        key: Val<'a>,
        index: usize,
        is_last: bool,
    },
    PartialBlock(Option<PartialFn<'a>>),
}

/// One running template: the prompt, or a partial.
pub(crate) struct Container<'a> {
    /// The partial's name; `None` for the prompt.
    pub(crate) name: Option<Rc<str>>,
    pub(crate) partials: RefCell<Rc<Layer<'a>>>,
}

/// Inline partials on top of others.
#[derive(Default)]
pub(crate) struct Layer<'a> {
    pub(crate) own: Vec<(String, PartialFn<'a>)>,
    pub(crate) parent: Option<Rc<Layer<'a>>>,
}

/// Something that `{{> name}}` can run.
#[derive(Clone)]
pub(crate) enum PartialFn<'a> {
    Template { name: Rc<str>, program: Arc<Program> },
    Closure(Rc<Closure<'a>>),
}

pub(crate) struct Closure<'a> {
    pub(crate) program: Arc<Program>,
    pub(crate) env: Env<'a>,
    pub(crate) kind: ClosureKind<'a>,
}

pub(crate) enum ClosureKind<'a> {
    Inline,
    /// The body of `{{#> name}}`, which sees the `@partial-block` of its own
    /// surroundings.
    Block(Option<PartialFn<'a>>),
}

impl<'a> Frame<'a> {
    pub(crate) fn child(parent: &Rc<Self>, variables: Variables<'a>) -> Rc<Self> {
        Rc::new(Self { variables, parent: Some(parent.clone()) })
    }

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
    /// The environment of a template that begins: nothing around it.
    pub(crate) fn start(name: Option<Rc<str>>, partials: Rc<Layer<'a>>) -> Self {
        Self {
            depths: None,
            levels: None,
            container: Rc::new(Container { name, partials: RefCell::new(partials) }),
        }
    }

    /// The `n`th context around; 0 is the current one.
    pub(crate) fn context_at(&self, n: usize) -> Val<'a> {
        let mut depth = self.depths.as_ref();
        for _ in 0..n {
            depth = depth.and_then(|current| current.parent.as_ref());
        }
        depth.map_or(Val::Undefined, |found| found.value.clone())
    }

    /// A block that keeps its context adds no level for `../`.
    pub(crate) fn enter_context(&self, context: &Val<'a>, null_context: &Val<'a>) -> Depths<'a> {
        let current = self.context_at(0);
        let stands_for_null = matches!(current, Val::Null) && context.strictly_equals(null_context);
        if stands_for_null || context.loosely_equals(&current) {
            return self.depths.clone();
        }
        Some(Rc::new(Depth { value: context.clone(), parent: self.depths.clone() }))
    }

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

    /// The value of a block parameter; `None` when no helper gave it one.
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
    pub(crate) fn find(&self, name: &str) -> Option<PartialFn<'a>> {
        let mut layer = Some(self);
        while let Some(current) = layer {
            // The last definition of a name counts.
            if let Some((_, found)) = current.own.iter().rev().find(|(own, _)| own == name) {
                return Some(found.clone());
            }
            layer = current.parent.as_deref();
        }
        None
    }
}
