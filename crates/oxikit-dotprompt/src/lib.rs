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
//! `ifEquals` and `unlessEquals`. The renderer writes roles, media and sections as separate
//! pieces and not as markers in a text, so no input can forge a message.
//!
//! # Steps
//!
//! 1. [`Prompt::parse`] splits a file into front matter and template and reads the front matter.
//! 2. [`Environment::compile`] parses the template and its partials, checks the names of
//!    helpers, expands picoschema and resolves tools.
//! 3. [`Compiled::render`] runs the template with an input and returns messages.
//!
//! A [`Compiled`] is immutable and can be shared between threads. [`write_prompt`] is the
//! opposite direction: it writes a prompt file from front matter and messages.
//!
//! # Front matter
//!
//! The YAML between two lines of `---` becomes [`Metadata`]. All keys are optional.
//!
//! | key | meaning |
//! | --- | --- |
//! | `model`, `config` | the model and its configuration |
//! | `input.schema`, `input.default` | schema of the variables, and values for absent ones |
//! | `output.format`, `output.schema` | format of the answer, such as `json`, and its schema |
//! | `tools`, `toolChoice`, `maxTurns`, `returnToolRequests` | tools and their use |
//! | `use` | middleware of the call, as a list of `{name, config}` |
//! | `name`, `variant`, `version`, `description`, `metadata` | information for people and tools |
//! | `tags`, `type` | information for the prompt manager |
//! | `namespace.key` | an extension, see [`Metadata::ext`] |
//!
//! Schemas are JSON Schema or picoschema, its short form:
//!
//! ```
//! use oxikit_dotprompt::{Environment, Prompt};
//! use serde_json::json;
//!
//! let prompt = Prompt::parse("---
//! output:
//!   schema:
//!     title: string, at most five words
//!     year?: integer
//!     tags(array): string
//!     mood(enum): [happy, sad]
//! ---
//! Describe a film.")?;
//! let output = Environment::new().metadata(&prompt)?.output.unwrap();
//! assert_eq!(output.schema.unwrap(), json!({
//!     "type": "object",
//!     "properties": {
//!         "title": { "type": "string", "description": "at most five words" },
//!         "year": { "type": ["integer", "null"] },
//!         "tags": { "type": "array", "items": { "type": "string" } },
//!         "mood": { "enum": ["happy", "sad"] },
//!     },
//!     "required": ["title", "tags", "mood"],
//!     "additionalProperties": false,
//! }));
//! # Ok::<(), oxikit_dotprompt::Error>(())
//! ```
//!
//! # Templates
//!
//! | template | writes |
//! | --- | --- |
//! | `{{user.name}}`, `{{items.[0]}}` | a variable; nothing if it does not exist |
//! | `{{@auth.email}}` | a value of the context of the call |
//! | `{{#if a}}…{{else if b}}…{{else}}…{{/if}}` | one of the branches |
//! | `{{#each items}}{{@index}} {{this}}{{/each}}` | the block for each item |
//! | `{{#each items as \|item\|}}{{item.name}}{{/each}}` | the same, with a name for the item |
//! | `{{#with user}}{{name}} {{../title}}{{/with}}` | the block in another context; `../` is the outer one |
//! | `{{json value indent=2}}` | a value as JSON |
//! | `{{> name key=value}}` | a partial with arguments |
//! | `{{role "system"}}` | no text: a message of this role starts |
//! | `{{history}}` | no text: the conversation so far is put here |
//! | `{{media url=photo contentType="image/png"}}` | a media part |
//! | `{{! comment }}`, `\{{text}}` | nothing; the text `{{text}}` |
//! | `{{~value~}}` | a variable without the white space around the tag |
//!
//! ```
//! use oxikit_dotprompt::{Environment, RenderInput};
//! use serde_json::json;
//!
//! let source = "
//! {{#each guests as |guest|}}
//!   {{> line guest=guest last=@last}}
//! {{else}}
//!   nobody
//! {{/each}}
//! ";
//! let environment = Environment::new()
//!     .partial("line", "- {{guest.name}}{{#if guest.vip}} (VIP){{/if}}{{#unless last}};{{/unless}}\n");
//! let template = environment.compile_template(source)?;
//! let input = json!({ "guests": [{ "name": "Ann", "vip": true }, { "name": "Bob" }] });
//! let text = template.render_text(&RenderInput::new(input.as_object().unwrap()))?;
//! // Tags that are alone on their line leave no line behind, and the indentation of a partial
//! // is added to each of its lines.
//! assert_eq!(text, "\n  - Ann (VIP);\n  - Bob\n");
//! # Ok::<(), oxikit_dotprompt::Error>(())
//! ```
//!
//! # Differences from the JavaScript implementation
//!
//! - Front matter that is not valid is an error; JavaScript treats it as text.
//! - The file's `input.default` is applied.
//! - A role must be `system`, `user`, `model` or `tool`.
//! - `media` without a URL writes nothing.
//! - Source, nesting, output and work of a render have [`Limits`].
//!
//! The crate reads no files and makes no network calls: the application passes the source of
//! prompts and partials as text.

mod compiled;
mod environment;
mod error;
mod front_matter;
mod handlebars;
mod helper;
mod limits;
mod messages;
mod metadata;
mod picoschema;
mod prompt;
mod shared;
mod write;
mod yaml;

pub use compiled::{Compiled, RenderInput, Rendered};
pub use environment::Environment;
pub use error::{Error, ErrorKind, Result};
pub use front_matter::FrontMatter;
pub use limits::Limits;
pub use metadata::{InputSpec, Metadata, OutputSpec, UnknownKey};
pub use prompt::Prompt;
pub use write::write_prompt;
