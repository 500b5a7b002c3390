//! The helpers every template has: those of Handlebars and those of Dotprompt.

use std::rc::Rc;

use oxikit_wire::Role;

use super::ast::{Block, Call};
use super::json::stringify;
use super::output::Piece;
use super::render::Renderer;
use super::scope::{Frame, Scope, Variables};
use super::value::Val;
use crate::error::{Error, ErrorKind, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    If,
    Unless,
    Each,
    With,
    Lookup,
    Log,
    IfEquals,
    UnlessEquals,
    Json,
    Role,
    History,
    Media,
    Section,
}

impl Builtin {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "if" => Self::If,
            "unless" => Self::Unless,
            "each" => Self::Each,
            "with" => Self::With,
            "lookup" => Self::Lookup,
            "log" => Self::Log,
            "ifEquals" => Self::IfEquals,
            "unlessEquals" => Self::UnlessEquals,
            "json" => Self::Json,
            "role" => Self::Role,
            "history" => Self::History,
            "media" => Self::Media,
            "section" => Self::Section,
            _ => return None,
        })
    }

    /// Whether it writes something that is no text.
    pub(crate) fn writes_pieces(self) -> bool {
        matches!(self, Self::Role | Self::History | Self::Media | Self::Section)
    }

    /// Whether it runs the block it is given with a context of its own.
    pub(crate) fn changes_context(self) -> bool {
        matches!(self, Self::Each | Self::With)
    }
}

impl<'a> Renderer<'a, '_> {
    /// A helper whose value is printed or passed on.
    pub(crate) fn builtin_value(
        &mut self,
        scope: &Scope<'a>,
        builtin: Builtin,
        call: &Call,
    ) -> Result<Val<'a>> {
        match builtin {
            Builtin::Lookup => self.lookup(scope, call),
            Builtin::Json => self.json(scope, call),
            Builtin::Log => {
                for param in &call.params {
                    self.expr(scope, param)?;
                }
                Ok(Val::Undefined)
            }
            _ if builtin.writes_pieces() => Err(failed(format!(
                "`{}` writes into the prompt and has no value to pass on",
                call.name()
            ))),
            _ => Err(failed(format!(
                "`{0}` needs a block: `{{{{#{0} …}}}}…{{{{/{0}}}}}`",
                call.name()
            ))),
        }
    }

    pub(crate) fn builtin_block(
        &mut self,
        scope: &Scope<'a>,
        builtin: Builtin,
        block: &Block,
    ) -> Result<()> {
        let call = &block.call;
        match builtin {
            Builtin::If | Builtin::Unless => {
                let holds = self.condition(scope, call)?;
                self.branch(scope, block, holds == (builtin == Builtin::If))
            }
            Builtin::IfEquals | Builtin::UnlessEquals => {
                let [left, right] = self.arguments(scope, call)?;
                let holds = left.strictly_equals(&right);
                self.branch(scope, block, holds == (builtin == Builtin::IfEquals))
            }
            Builtin::Each => {
                let [items] = self.arguments(scope, call)?;
                self.each(scope, block, &items)
            }
            Builtin::With => self.with(scope, block),
            Builtin::Lookup | Builtin::Json | Builtin::Log => {
                let value = self.builtin_value(scope, builtin, call)?;
                self.write(&value)
            }
            Builtin::Role | Builtin::History | Builtin::Media | Builtin::Section => {
                Err(failed(format!("`{0}` takes no block; write `{{{{{0} …}}}}`", call.name())))
            }
        }
    }

    /// Exactly `N` arguments.
    fn arguments<const N: usize>(
        &mut self,
        scope: &Scope<'a>,
        call: &Call,
    ) -> Result<[Val<'a>; N]> {
        let mut values = Vec::with_capacity(N);
        for param in &call.params {
            values.push(self.expr(scope, param)?);
        }
        let count = values.len();
        values.try_into().map_err(|_| {
            failed(format!(
                "`{}` takes {N} argument{}, not {count}",
                call.name(),
                if N == 1 { "" } else { "s" }
            ))
        })
    }

    /// The value of a `key=value` argument; undefined if it is not given.
    fn hash(&mut self, scope: &Scope<'a>, call: &Call, key: &str) -> Result<Val<'a>> {
        match call.hash.iter().find(|(name, _)| name == key) {
            Some((_, expr)) => self.expr(scope, expr),
            None => Ok(Val::Undefined),
        }
    }

    fn condition(&mut self, scope: &Scope<'a>, call: &Call) -> Result<bool> {
        let [value] = self.arguments(scope, call)?;
        let include_zero = self.hash(scope, call, "includeZero")?.is_truthy();
        Ok((include_zero || value.is_truthy()) && !value.is_empty())
    }

    pub(crate) fn each(&mut self, scope: &Scope<'a>, block: &Block, items: &Val<'a>) -> Result<()> {
        if let Some(count) = items.list_len() {
            for index in 0..count {
                let key = Val::index(index);
                self.iterate(scope, block, items.item(index), key, index, count)?;
            }
            if count > 0 {
                return Ok(());
            }
        } else if items.is_object() {
            let keys = items.keys();
            for (index, key) in keys.iter().enumerate() {
                let value = items.get(key);
                let key = Val::MadeText(key.clone());
                self.iterate(scope, block, value, key, index, keys.len())?;
            }
            if !keys.is_empty() {
                return Ok(());
            }
        }
        self.branch(scope, block, false)
    }

    fn iterate(
        &mut self,
        scope: &Scope<'a>,
        block: &Block,
        item: Val<'a>,
        key: Val<'a>,
        index: usize,
        count: usize,
    ) -> Result<()> {
        self.step(1)?;
        let Some(program) = &block.program else {
            return Ok(());
        };
        let variables = Variables::Each { key: key.clone(), index, is_last: index + 1 == count };
        let frame: Rc<Frame<'a>> = Frame::child(&scope.frame, variables);
        let params = vec![item.clone(), key];
        self.run(&scope.env, program, item, frame, Some(params))
    }

    fn with(&mut self, scope: &Scope<'a>, block: &Block) -> Result<()> {
        let [value] = self.arguments(scope, &block.call)?;
        if value.is_empty() {
            return self.branch(scope, block, false);
        }
        let Some(program) = &block.program else {
            return Ok(());
        };
        let params = vec![value.clone()];
        self.run(&scope.env, program, value, scope.frame.clone(), Some(params))
    }

    fn lookup(&mut self, scope: &Scope<'a>, call: &Call) -> Result<Val<'a>> {
        let mut values = Vec::with_capacity(2);
        for param in &call.params {
            values.push(self.expr(scope, param)?);
        }
        match values.as_slice() {
            [object, ..] if !object.is_truthy() => Ok(object.clone()),
            [object, key] => {
                let key = key.to_key();
                self.step_over(key.len())?;
                Ok(object.get(&key))
            }
            _ => Err(failed("`lookup` takes 2 arguments: a value and a name or number")),
        }
    }

    fn json(&mut self, scope: &Scope<'a>, call: &Call) -> Result<Val<'a>> {
        let [value] = self.arguments(scope, call)?;
        let indent = match self.hash(scope, call, "indent")? {
            Val::Number(number) => {
                let spaces = number.as_f64().unwrap_or(0.0).clamp(0.0, 10.0);
                " ".repeat(spaces as usize)
            }
            other => other.as_str().map_or(String::new(), |text| text.chars().take(10).collect()),
        };
        let text = stringify(&value, &indent, self.limits.output_bytes);
        if text.len() > self.limits.output_bytes {
            return Err(Error::limit(format!(
                "`json` makes more than {} bytes",
                self.limits.output_bytes
            )));
        }
        self.step_over(text.len())?;
        Ok(Val::MadeText(text.into()))
    }

    pub(crate) fn write_piece(
        &mut self,
        scope: &Scope<'a>,
        builtin: Builtin,
        call: &Call,
    ) -> Result<()> {
        let piece = match builtin {
            Builtin::Role => {
                let [name] = self.arguments(scope, call)?;
                Piece::Role(role(&name)?)
            }
            Builtin::Section => {
                let [name] = self.arguments(scope, call)?;
                Piece::Section(name.to_text())
            }
            Builtin::Media => {
                let url = self.hash(scope, call, "url")?.to_text();
                if url.is_empty() {
                    // A missing value prints nothing, here as elsewhere.
                    return Ok(());
                }
                let content_type = self.hash(scope, call, "contentType")?.to_text();
                Piece::Media {
                    url,
                    content_type: (!content_type.is_empty()).then_some(content_type),
                }
            }
            _ => Piece::History,
        };
        self.out.piece(piece)
    }
}

fn role(name: &Val<'_>) -> Result<Role> {
    let roles = [Role::System, Role::User, Role::Model, Role::Tool];
    let found = roles.into_iter().find(|role| name.as_str() == Some(role.as_str()));
    found.ok_or_else(|| {
        failed(format!(
            "there is no role `{}`; use `system`, `user`, `model` or `tool`",
            name.to_text()
        ))
    })
}

fn failed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Render, message)
}
