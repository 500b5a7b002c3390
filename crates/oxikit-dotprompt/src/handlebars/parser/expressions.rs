//! Parses the content of tags: paths, literals, arguments, subexpressions.
//!
//! The parser looks one token ahead, which is needed to tell the argument `key` from
//! `key=value`.

use serde_json::Number;

use super::Parser;
use crate::error::{Error, Position, Result};
use crate::handlebars::ast::{Call, Expr, Hash, Literal, Path, is_scoped};
use crate::handlebars::lexer::TokenKind;

/// The first word of a tag. A literal there is a name, elsewhere a value.
pub(super) enum Name {
    Path(Path),
    Literal(Literal, Position),
}

impl Parser<'_> {
    /// Positional arguments, then `key=value` arguments. The grammar does not allow a positional
    /// argument after a `key=value`.
    pub(super) fn arguments(&mut self) -> Result<(Vec<Expr>, Hash)> {
        let (mut params, mut hash) = (Vec::new(), Vec::new());
        while !self.at_hash() && self.at_expression() {
            params.push(self.expression()?);
        }
        while self.at_hash() {
            let key = self.advance()?.text.into_owned();
            self.advance()?;
            hash.push((key, self.expression()?));
        }
        Ok((params, hash))
    }

    /// Whether `key=` follows.
    fn at_hash(&self) -> bool {
        matches!(self.current.kind, TokenKind::Id | TokenKind::BracketId)
            && self.next.kind == TokenKind::Equals
    }

    fn at_expression(&self) -> bool {
        matches!(
            self.current.kind,
            TokenKind::Id
                | TokenKind::BracketId
                | TokenKind::Data
                | TokenKind::String
                | TokenKind::Number
                | TokenKind::True
                | TokenKind::False
                | TokenKind::Undefined
                | TokenKind::Null
                | TokenKind::OpenSubexpression
        )
    }

    fn expression(&mut self) -> Result<Expr> {
        if self.current.kind == TokenKind::OpenSubexpression {
            return Ok(Expr::Call(Box::new(self.subexpression()?)));
        }
        Ok(match self.name()? {
            Name::Path(path) => Expr::Path(path),
            Name::Literal(literal, _) => Expr::Literal(literal),
        })
    }

    /// `(helper arguments)`. It counts as a level of nesting.
    pub(super) fn subexpression(&mut self) -> Result<Call> {
        self.enter()?;
        let open = self.advance()?;
        let name = self.name()?;
        let (params, hash) = self.arguments()?;
        self.expect(TokenKind::CloseSubexpression)?;
        self.nesting -= 1;
        Ok(Call { path: self.callee(name), params, hash, position: open.position })
    }

    /// `as |item index|` at the end of an opening tag; no names if it is absent.
    pub(super) fn block_params(&mut self) -> Result<Vec<String>> {
        if self.current.kind != TokenKind::OpenBlockParams {
            return Ok(Vec::new());
        }
        self.advance()?;
        let mut names = Vec::new();
        while matches!(self.current.kind, TokenKind::Id | TokenKind::BracketId) {
            names.push(self.advance()?.text.into_owned());
        }
        if names.is_empty() {
            return Err(self.unexpected());
        }
        self.expect(TokenKind::Pipe)?;
        Ok(names)
    }

    /// A literal or a path.
    pub(super) fn name(&mut self) -> Result<Name> {
        let position = self.current.position;
        let literal = match self.current.kind {
            TokenKind::String => Literal::Text(self.current.text.to_string()),
            TokenKind::Number => Literal::Number(number(&self.current.text)),
            TokenKind::True => Literal::Bool(true),
            TokenKind::False => Literal::Bool(false),
            TokenKind::Undefined => Literal::Undefined,
            TokenKind::Null => Literal::Null,
            _ => return self.path().map(Name::Path),
        };
        self.advance()?;
        Ok(Name::Literal(literal, position))
    }

    /// Names with separators between them, after an optional `@`. `..`, `.` and `this` may only
    /// stand at the start.
    fn path(&mut self) -> Result<Path> {
        let position = self.current.position;
        let data = self.current.kind == TokenKind::Data;
        if data {
            self.advance()?;
        }
        let mut original = String::from(if data { "@" } else { "" });
        let (mut depth, mut parts) = (0, Vec::new());
        loop {
            let is_operator = match self.current.kind {
                TokenKind::Id => matches!(&*self.current.text, ".." | "." | "this"),
                TokenKind::BracketId => false,
                _ => return Err(self.unexpected()),
            };
            let part = self.advance()?.text;
            original.push_str(&part);
            if !is_operator {
                parts.push(part.into_owned());
            } else if !parts.is_empty() {
                return Err(Error::parse(
                    position,
                    format!("`{part}` may only stand at the start of a path, as in `../name`"),
                ));
            } else if part == ".." {
                depth += 1;
            }
            if self.current.kind != TokenKind::Separator {
                break;
            }
            original.push_str(&self.advance()?.text);
        }
        let unscoped = depth == 0 && !is_scoped(&original);
        Ok(Path {
            simple: unscoped && parts.len() == 1,
            block_param: unscoped && self.is_block_param(parts.first()),
            data,
            depth,
            parts,
            original,
            position,
        })
    }

    /// The path of the first word of a tag. A literal in this place is a name.
    pub(super) fn callee(&self, name: Name) -> Path {
        match name {
            Name::Path(path) => path,
            Name::Literal(literal, position) => {
                let name = literal.to_name();
                Path {
                    data: false,
                    depth: 0,
                    simple: !is_scoped(&name),
                    block_param: !is_scoped(&name) && self.is_block_param(Some(&name)),
                    parts: vec![name.clone()],
                    original: name,
                    position,
                }
            }
        }
    }

    /// Whether an enclosing block declares a parameter of this name.
    fn is_block_param(&self, name: Option<&String>) -> bool {
        name.is_some_and(|name| self.scopes.iter().any(|scope| scope.contains(name)))
    }
}

impl Name {
    /// The name as written, to be compared with that of the end tag.
    pub(super) fn original(&self) -> Literal {
        match self {
            Self::Path(path) => Literal::Text(path.original.clone()),
            Self::Literal(literal, _) => literal.clone(),
        }
    }
}

/// A number literal. Integers stay exact up to 64 bits.
fn number(text: &str) -> Number {
    match text.parse::<i64>() {
        Ok(integer) => integer.into(),
        // A number that is too large for a float becomes the largest float, because JSON has no
        // infinity.
        Err(_) => Number::from_f64(text.parse().unwrap_or(f64::MAX))
            .or_else(|| Number::from_f64(f64::MAX))
            .unwrap_or_else(|| 0.into()),
    }
}
