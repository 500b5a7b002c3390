//! A Handlebars engine with the behaviour of Handlebars.js 4.7, as Dotprompt
//! uses it: nothing is escaped, and only registered helpers can be called.
//!
//! The renderer writes pieces (text, role changes, media …) instead of one
//! text, so a value can never pass for a role change.

mod ast;
mod builtin;
mod facts;
mod json;
mod lexer;
mod output;
mod parser;
mod partials;
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
