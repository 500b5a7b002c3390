//! A Handlebars engine with the behaviour of Handlebars.js 4.7 in Dotprompt's configuration:
//! nothing is escaped, and only registered helpers can be called.
//!
//! The renderer writes pieces (text, role changes, media …) instead of one
//! text, so a value can never be mistaken for a role change.
//!
//! The stages, each in a module of its own:
//!
//! 1. `lexer`: source text to tokens.
//! 2. `parser`: tokens to a tree (`ast`).
//! 3. `whitespace`: removes the white space that `~` and standalone tags take away.
//! 4. `facts`: names that a template uses, without running it.
//! 5. `render`: runs the tree in a `scope` and writes to an `output`.
//!
//! "The reference" in comments is Handlebars.js. Its behaviour is kept also where it is
//! surprising, because prompt files are shared between languages; the published test cases of
//! Dotprompt decide.

mod ast;
mod builtin;
mod facts;
mod json;
mod lexer;
mod output;
mod parser;
mod render;
mod scope;
mod text;
mod value;
mod whitespace;

pub(crate) use ast::Program;
pub(crate) use builtin::Builtin;
pub(crate) use facts::Facts;
pub(crate) use output::Piece;
pub(crate) use parser::parse;
pub(crate) use render::{Data, Host, render, unknown_helper};
pub(crate) use text::{is_js_space, js_trim};
pub(crate) use value::Val;
