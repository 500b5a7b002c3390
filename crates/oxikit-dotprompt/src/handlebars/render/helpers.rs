//! The built-in helpers.
//!
//! They are methods of the renderer and not functions of values like custom helpers, because they
//! run blocks with other contexts and write pieces.

use std::rc::Rc;

use oxikit_wire::Role;

use super::Renderer;
use crate::error::{Error, ErrorKind, Result};
use crate::handlebars::ast::{Block, Call};
use crate::handlebars::builtin::Builtin;
use crate::handlebars::json::stringify;
use crate::handlebars::output::Piece;
use crate::handlebars::scope::{Frame, Scope, Variables};
use crate::handlebars::value::Val;

impl<'a> Renderer<'a, '_> {
    /// The value of a helper in `{{helper}}` or `(helper)`.
    ///
    /// # Errors
    ///
    /// If the helper needs a block or has no value, or its arguments are wrong.
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

    /// Runs a helper with a block.
    ///
    /// # Errors
    ///
    /// If the helper takes no block, its arguments are wrong, or the block fails.
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

    /// Evaluates the positional arguments, which have to be `N`.
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

    /// The condition of `if` and `unless`: empty lists are false, and 0 is true with
    /// `includeZero=true`.
    fn condition(&mut self, scope: &Scope<'a>, call: &Call) -> Result<bool> {
        let [value] = self.arguments(scope, call)?;
        let include_zero = self.hash(scope, call, "includeZero")?.is_truthy();
        Ok((include_zero || value.is_truthy()) && !value.is_empty())
    }

    /// Runs the block for each item of a list or member of an object, else its `{{else}}`.
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

    /// One iteration, with the item as context and the `@` variables of `each`.
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

    /// Runs the block with the argument as context, or `{{else}}` if it is empty.
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

    /// A member by a computed name. A falsy value is returned unchanged, as in the reference.
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

    /// The JSON text of a value. `indent` is a number of spaces or a text, of which at most ten
    /// count, as in `JSON.stringify`.
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

    /// Runs a helper that writes a piece: `role`, `history`, `media` or `section`.
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
                    // A missing value prints nothing, as in `{{value}}`.
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

/// The role of this name. Only exact names count: a role from the input must not be guessed.
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

/// An error without a position, which the caller adds.
fn failed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Render, message)
}
