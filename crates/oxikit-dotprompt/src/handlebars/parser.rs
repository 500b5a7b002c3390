//! Builds the tree of a template from tokens, by recursive descent with a limit of nesting.
//!
//! This file parses statements: blocks, `else` chains and partials. The content of tags is parsed
//! in `expressions`.

mod expressions;

use std::sync::Arc;

use super::ast::{
    Block, Call, Inline, Literal, Mustache, Node, Partial, PartialName, Program, Strip, Text,
};
use super::lexer::{Lexer, Token, TokenKind};
use super::whitespace;
use crate::error::{Error, ErrorKind, Position, Result};

/// Maximum nesting of blocks, `else if` branches and subexpressions. Deeper templates are
/// rejected with [`ErrorKind::Limit`], so that neither the parser nor the renderer, which both
/// recurse, overflows the stack.
const MAX_NESTING: usize = 64;

/// Parses a template whose text begins at `start` of its file.
///
/// # Errors
///
/// If the template is malformed or nested too deeply. Names of helpers are not checked here.
pub(crate) fn parse(source: &str, start: Position) -> Result<Program> {
    let mut parser = Parser::new(source, start)?;
    let mut program = parser.program(Vec::new())?;
    if parser.current.kind != TokenKind::End {
        return Err(parser.unexpected());
    }
    whitespace::control(&mut program);
    Ok(program)
}

/// The state of the parser: the current token and one of lookahead, open scopes and the nesting.
struct Parser<'s> {
    lexer: Lexer<'s>,
    /// The token to be parsed next.
    current: Token<'s>,
    /// The token after it.
    next: Token<'s>,
    /// Block parameters in scope, the innermost last.
    scopes: Vec<Vec<String>>,
    nesting: usize,
}

/// `{{else}}…` or `{{else if …}}…` after the first program of a block.
struct InversePart {
    strip: Strip,
    program: Program,
    chained: bool,
}

/// The content of an opening tag.
struct Tag {
    call: Call,
    /// The name as written, which the end tag has to repeat.
    name: Literal,
    block_params: Vec<String>,
    strip: Strip,
}

impl<'s> Parser<'s> {
    /// Reads the first two tokens.
    fn new(source: &'s str, start: Position) -> Result<Self> {
        let mut lexer = Lexer::new(source, start);
        let current = lexer.next_token()?;
        let next = match current.kind {
            TokenKind::End => current.clone(),
            _ => lexer.next_token()?,
        };
        Ok(Self { lexer, current, next, scopes: Vec::new(), nesting: 0 })
    }

    /// Returns the current token and moves to the next one. The end token stays.
    fn advance(&mut self) -> Result<Token<'s>> {
        let following = match self.next.kind {
            TokenKind::End => self.next.clone(),
            _ => self.lexer.next_token()?,
        };
        let next = std::mem::replace(&mut self.next, following);
        Ok(std::mem::replace(&mut self.current, next))
    }

    /// Moves over a token that has to be of this kind.
    fn expect(&mut self, kind: TokenKind) -> Result<Token<'s>> {
        if self.current.kind != kind {
            return Err(self.unexpected());
        }
        self.advance()
    }

    /// The error for a current token that the grammar does not allow here.
    fn unexpected(&self) -> Error {
        let Token { text, position, .. } = &self.current;
        let message = match self.current.kind {
            TokenKind::End => "the template ends inside a tag or block; close it".to_owned(),
            TokenKind::OpenEndBlock => "this closes a block that is not open".to_owned(),
            TokenKind::Inverse | TokenKind::OpenInverseChain => {
                "this `else` does not belong to a block".to_owned()
            }
            TokenKind::CloseUnescaped | TokenKind::CloseRawBlock | TokenKind::Close => {
                format!("`{text}` does not match the opening braces")
            }
            _ => format!("`{text}` does not belong here"),
        };
        Error::parse(*position, message)
    }

    /// Enters a level of nesting. The caller leaves it by decrementing `nesting`; after an error
    /// parsing ends, so that it need not.
    fn enter(&mut self) -> Result<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("blocks or subexpressions are nested more than {MAX_NESTING} deep"),
            )
            .at(self.current.position));
        }
        Ok(())
    }

    /// Statements up to a token that begins none: an end tag, `else` or the end.
    fn program(&mut self, block_params: Vec<String>) -> Result<Program> {
        self.enter()?;
        let mut program = Program::default();
        self.scopes.push(block_params);
        while let Some(node) = self.statement(&mut program.inlines)? {
            program.body.push(node);
        }
        program.block_params = self.scopes.pop().unwrap_or_default();
        self.nesting -= 1;
        Ok(program)
    }

    /// One statement; `None` if the current token begins none. Inline partials are put into
    /// `inlines`.
    fn statement(&mut self, inlines: &mut Vec<Inline>) -> Result<Option<Node>> {
        Ok(Some(match self.current.kind {
            TokenKind::Content => Node::Text(Text::new(self.advance()?.text.into_owned())),
            TokenKind::Comment => {
                let token = self.advance()?;
                Node::Comment(strip(&token, &token))
            }
            TokenKind::Open => self.mustache(TokenKind::Close)?,
            TokenKind::OpenUnescaped => self.mustache(TokenKind::CloseUnescaped)?,
            TokenKind::OpenBlock | TokenKind::OpenInverse => self.block()?,
            TokenKind::OpenDecoratorBlock => {
                inlines.push(self.inline()?);
                Node::Inline(inlines.len() - 1)
            }
            TokenKind::OpenRawBlock => self.raw_block()?,
            TokenKind::OpenPartial => self.partial()?,
            TokenKind::OpenPartialBlock => self.partial_block()?,
            TokenKind::OpenDecorator => {
                return Err(Error::parse(
                    self.current.position,
                    "the only decorator is `{{#*inline \"name\"}}…{{/inline}}`",
                ));
            }
            _ => return Ok(None),
        }))
    }

    fn mustache(&mut self, close: TokenKind) -> Result<Node> {
        let tag = self.tag(close, false)?;
        Ok(Node::Mustache(Mustache { call: tag.call, strip: tag.strip }))
    }

    /// An opening tag from its braces to its closing braces.
    fn tag(&mut self, close: TokenKind, with_block_params: bool) -> Result<Tag> {
        let open = self.advance()?;
        let name = self.name()?;
        let original = name.original();
        let (params, hash) = self.arguments()?;
        let block_params = if with_block_params { self.block_params()? } else { Vec::new() };
        let close = self.expect(close)?;
        Ok(Tag {
            call: Call { path: self.callee(name), params, hash, position: open.position },
            name: original,
            block_params,
            strip: strip(&open, &close),
        })
    }

    /// `{{#name}}…{{else}}…{{/name}}`, or `{{^name}}…{{/name}}`, whose programs are exchanged.
    fn block(&mut self) -> Result<Node> {
        let inverted = self.current.kind == TokenKind::OpenInverse;
        let tag = self.tag(TokenKind::Close, true)?;
        let first = self.program(tag.block_params)?;
        let mut second = self.inverse_part(!inverted)?;
        let close_strip = self.close_block(&tag.name, tag.call.position)?;
        if let Some(part) = second.as_mut() {
            part.set_close_strip(close_strip);
        }
        Ok(Node::Block(Box::new(make_block(
            tag.call,
            first,
            second,
            inverted,
            tag.strip,
            close_strip,
        ))))
    }

    /// `{{else}}` or `{{else if}}` with its program; `None` if an end tag follows.
    fn inverse_part(&mut self, allow_chain: bool) -> Result<Option<InversePart>> {
        match self.current.kind {
            TokenKind::Inverse => {
                let token = self.advance()?;
                Ok(Some(InversePart {
                    strip: strip(&token, &token),
                    program: self.program(Vec::new())?,
                    chained: false,
                }))
            }
            TokenKind::OpenInverseChain if allow_chain => {
                self.enter()?;
                let part = self.chained_part()?;
                self.nesting -= 1;
                Ok(Some(part))
            }
            _ => Ok(None),
        }
    }

    /// `{{else if x}}…`, which becomes a block that is the only statement of the inverse.
    fn chained_part(&mut self) -> Result<InversePart> {
        // An empty scope for the program of the inverse, which has no block parameters.
        self.scopes.push(Vec::new());
        let tag = self.tag(TokenKind::Close, true)?;
        let first = self.program(tag.block_params)?;
        let mut rest = self.inverse_part(true)?;
        self.scopes.pop();
        // A chained block has no end tag; for white space the next `else` takes its place.
        let close_strip = rest.as_ref().map(|part| part.strip).unwrap_or_default();
        if let Some(part) = rest.as_mut() {
            part.set_close_strip(close_strip);
        }
        let block = make_block(tag.call, first, rest, false, tag.strip, close_strip);
        Ok(InversePart {
            strip: tag.strip,
            program: Program { body: vec![Node::Block(Box::new(block))], ..Program::default() },
            chained: true,
        })
    }

    /// The end tag, which has to repeat the name. A block that is never closed is reported at its
    /// opening tag, where the author has to look.
    fn close_block(&mut self, name: &Literal, opened_at: Position) -> Result<Strip> {
        if self.current.kind == TokenKind::End {
            return Err(Error::parse(
                opened_at,
                format!("this block is not closed; add `{{{{/{}}}}}`", name.to_name()),
            ));
        }
        let open = self.expect(TokenKind::OpenEndBlock)?;
        let closing = self.name()?.original();
        let close = self.expect(TokenKind::Close)?;
        if !same_name(name, &closing) {
            return Err(Error::parse(
                open.position,
                format!(
                    "`{{{{/{}}}}}` closes a block opened as `{}`",
                    closing.to_name(),
                    name.to_name()
                ),
            ));
        }
        Ok(strip(&open, &close))
    }

    /// `{{#*inline "name"}}…{{/inline}}`, the only decorator.
    fn inline(&mut self) -> Result<Inline> {
        let position = self.current.position;
        let tag = self.tag(TokenKind::Close, true)?;
        let program = self.program(tag.block_params)?;
        if matches!(self.current.kind, TokenKind::Inverse | TokenKind::OpenInverseChain) {
            return Err(self.unexpected());
        }
        let close_strip = self.close_block(&tag.name, position)?;
        let name = tag.call.params.into_iter().next();
        match name {
            Some(name) if tag.call.path.original == "inline" => Ok(Inline {
                name,
                program: Arc::new(program),
                open_strip: tag.strip,
                close_strip,
                position,
            }),
            _ => Err(Error::parse(
                position,
                "write inline partials as `{{#*inline \"name\"}}…{{/inline}}`",
            )),
        }
    }

    /// `{{{{name}}}}…{{{{/name}}}}`, whose content is text.
    fn raw_block(&mut self) -> Result<Node> {
        let tag = self.tag(TokenKind::CloseRawBlock, false)?;
        let mut program = Program::default();
        while self.current.kind == TokenKind::Content {
            let text = self.advance()?.text.into_owned();
            program.body.push(Node::Text(Text::new(text)));
        }
        let end = self.expect(TokenKind::EndRawBlock)?;
        if !same_name(&tag.name, &Literal::Text(end.text.to_string())) {
            return Err(Error::parse(
                end.position,
                format!("this closes a raw block opened as `{}`", tag.name.to_name()),
            ));
        }
        let none = Strip::default();
        Ok(Node::Block(Box::new(make_block(tag.call, program, None, false, none, none))))
    }

    fn partial(&mut self) -> Result<Node> {
        let (partial, _) = self.partial_tag()?;
        Ok(Node::Partial(Box::new(partial)))
    }

    fn partial_block(&mut self) -> Result<Node> {
        let (mut partial, name) = self.partial_tag()?;
        let program = self.program(Vec::new())?;
        partial.close_strip = self.close_block(&name, partial.position)?;
        partial.program = Some(Arc::new(program));
        Ok(Node::Partial(Box::new(partial)))
    }

    /// The tag of a partial, and its name for the end tag of a block.
    fn partial_tag(&mut self) -> Result<(Partial, Literal)> {
        let open = self.advance()?;
        let (name, original) = if self.current.kind == TokenKind::OpenSubexpression {
            (PartialName::Dynamic(self.subexpression()?), Literal::Undefined)
        } else {
            let original = self.name()?.original();
            (PartialName::Static(original.to_name()), original)
        };
        let (params, hash) = self.arguments()?;
        let close = self.expect(TokenKind::Close)?;
        if params.len() > 1 {
            return Err(Error::parse(
                open.position,
                "a partial takes one context and `key=value` arguments",
            ));
        }
        let partial = Partial {
            name,
            context: params.into_iter().next(),
            hash,
            program: None,
            indent: String::new(),
            open_strip: strip(&open, &close),
            close_strip: strip(&open, &close),
            position: open.position,
        };
        Ok((partial, original))
    }
}

impl InversePart {
    /// An `else if` block ends where the block around it ends.
    fn set_close_strip(&mut self, close_strip: Strip) {
        if let (true, Some(Node::Block(block))) = (self.chained, self.program.body.first_mut()) {
            block.close_strip = close_strip;
        }
    }
}

/// Puts a block together; the two programs of `{{^name}}` are exchanged.
fn make_block(
    call: Call,
    first: Program,
    second: Option<InversePart>,
    inverted: bool,
    open_strip: Strip,
    close_strip: Strip,
) -> Block {
    let inverse_strip = second.as_ref().map(|part| part.strip).unwrap_or_default();
    let chained = second.as_ref().is_some_and(|part| part.chained);
    let first = Some(Arc::new(first));
    let second = second.map(|part| Arc::new(part.program));
    let (program, inverse) = if inverted { (second, first) } else { (first, second) };
    Block { call, program, inverse, chained, open_strip, inverse_strip, close_strip }
}

/// The `~` at the outer ends of a tag.
fn strip(open: &Token<'_>, close: &Token<'_>) -> Strip {
    Strip { open: open.strip_left, close: close.strip_right }
}

/// Whether an end tag repeats the name. Numbers are compared as in JavaScript: `1` and `1.0` are
/// the same.
fn same_name(open: &Literal, close: &Literal) -> bool {
    match (open, close) {
        (Literal::Number(open), Literal::Number(close)) => open.as_f64() == close.as_f64(),
        _ => open == close,
    }
}
