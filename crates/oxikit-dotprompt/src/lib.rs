//! Prompt files: front matter, picoschema and Handlebars templates that render
//! to messages.
//!
//! ```
//! use oxikit_dotprompt::{Environment, Prompt, RenderInput};
//! use serde_json::json;
//!
//! let prompt = Prompt::parse(r#"---
//! model: googleai/gemini-2.5-flash
//! input:
//!   schema:
//!     topic: string, what to joke about
//!   default:
//!     topic: tea
//! ---
//! {{role "system"}}You tell short jokes.
//! {{role "user"}}Tell me a joke about {{topic}}.
//! "#)?;
//! let compiled = Environment::new().compile(&prompt)?;
//!
//! let input = json!({ "topic": "Rust" });
//! let rendered = compiled.render(&RenderInput::new(input.as_object().unwrap()))?;
//! assert_eq!(rendered.messages[1].text(), "Tell me a joke about Rust.");
//! # Ok::<(), oxikit_dotprompt::Error>(())
//! ```
//!
//! The template language is that of Handlebars.js 4.7 without HTML escaping,
//! and with Dotprompt's helpers `role`, `history`, `media`, `section`, `json`,
//! `ifEquals` and `unlessEquals`. Roles, media and the rest are no marks in a
//! text but pieces of their own, so nothing in the input can forge a message.
//!
//! Where this crate means to differ from the JavaScript one: broken front
//! matter is an error instead of text, the file's `input.default` is applied,
//! a role must be one of the four there are, `media` without a URL writes
//! nothing, and everything has a limit.

mod compiled;
mod environment;
mod error;
mod handlebars;
mod helper;
mod limits;
mod messages;
mod metadata;
mod picoschema;
mod prompt;
mod write;
mod yaml;

pub use compiled::{Compiled, RenderInput, Rendered};
pub use environment::Environment;
pub use error::{Error, ErrorKind, Result};
pub use limits::Limits;
pub use metadata::{InputSpec, Metadata, OutputSpec, UnknownKey};
pub use prompt::Prompt;
pub use write::write_prompt;
