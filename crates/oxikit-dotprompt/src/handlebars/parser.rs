//! Tokens to a tree, by recursive descent with a bound on nesting.

mod expressions;

use std::sync::Arc;

use super::ast::{
    Block, Call, Inline, Literal, Mustache, Node, Partial, PartialName, Program, Strip, Text,
};
use super::lexer::{Lexer, Token, TokenKind};
use super::whitespace;
use crate::error::{Error, ErrorKind, Position, Result};

/// Blocks, `else if` branches and subexpressions inside one another.
const MAX_NESTING: usize = 64;

/// Parses a template whose text begins at `start` of its file.
pub(crate) fn parse(source: &str, start: Position) -> Result<Program> {
    let mut parser = Parser::new(source, start)?;
    let mut program = parser.program(Vec::new())?;
    if parser.current.kind != TokenKind::End {
        return Err(parser.unexpected());
    }
    whitespace::control(&mut program);
    Ok(program)
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    current: Token<'s>,
    next: Token<'s>,
    /// Block parameters in scope, the innermost last.
    scopes: Vec<Vec<String>>,
    nesting: usize,
}

/// `{{else}}…` or `{{else if …}}…` as it follows a block's first program.
struct InversePart {
    strip: Strip,
    program: Program,
    chained: bool,
}

/// What stands between the braces of an opening tag.
struct Tag {
    call: Call,
    name: Literal,
    block_params: Vec<String>,
    strip: Strip,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, start: Position) -> Result<Self> {
        let mut lexer = Lexer::new(source, start);
        let current = lexer.next_token()?;
        let next = match current.kind {
            TokenKind::End => current.clone(),
            _ => lexer.next_token()?,
        };
        Ok(Self { lexer, current, next, scopes: Vec::new(), nesting: 0 })
    }

    fn advance(&mut self) -> Result<Token<'s>> {
        let following = match self.next.kind {
            TokenKind::End => self.next.clone(),
            _ => self.lexer.next_token()?,
        };
        let next = std::mem::replace(&mut self.next, following);
        Ok(std::mem::replace(&mut self.current, next))
    }

    fn expect(&mut self, kind: TokenKind) -> Result<Token<'s>> {
        if self.current.kind != kind {
            return Err(self.unexpected());
        }
        self.advance()
    }

    fn unexpected(&self) -> Error {
        let Token { text, position, .. } = &self.current;
        let message = match self.current.kind {
            TokenKind::End => "the template ends inside a tag or block; close it".to_owned(),
            TokenKind::OpenEndBlock => "this closes a block that is not open".to_owned(),
            TokenKind::Inverse | TokenKind::OpenInverseChain => {
                "this `else` belongs to no block".to_owned()
            }
            TokenKind::CloseUnescaped | TokenKind::CloseRawBlock | TokenKind::Close => {
                format!("`{text}` does not match the opening braces")
            }
            _ => format!("`{text}` does not belong here"),
        };
        Error::parse(*position, message)
    }

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
                    "there are no decorators but `{{#*inline \"name\"}}…{{/inline}}`",
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

    /// `{{else if x}}…`, which is a block of its own inside the inverse.
    fn chained_part(&mut self) -> Result<InversePart> {
        // The chained block is the only statement of a program of its own.
        self.scopes.push(Vec::new());
        let tag = self.tag(TokenKind::Close, true)?;
        let first = self.program(tag.block_params)?;
        let mut rest = self.inverse_part(true)?;
        self.scopes.pop();
        // The tag that follows stands in for the missing end tag.
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

fn strip(open: &Token<'_>, close: &Token<'_>) -> Strip {
    Strip { open: open.strip_left, close: close.strip_right }
}

fn same_name(open: &Literal, close: &Literal) -> bool {
    match (open, close) {
        (Literal::Number(open), Literal::Number(close)) => open.as_f64() == close.as_f64(),
        _ => open == close,
    }
}
