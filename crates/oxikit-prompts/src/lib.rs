//! Prompts as Markdown and Dotprompt files that several people edit at the same time.
//!
//! [`text`] merges edits, [`source`] reads and changes the front matter of a file without touching
//! anything else, and [`expand`] replaces `[[name]]` with the documents of that name. These three
//! do no input or output.
//!
//! ```
//! use oxikit_prompts::text::merge;
//!
//! let merged = merge("Tell a joke.", "Tell a short joke.", "Tell a joke about tea.");
//! assert_eq!(merged.text, "Tell a short joke about tea.");
//! assert!(merged.conflicts.is_empty());
//! ```

mod changes;
mod directories;
mod document;
mod error;
pub mod expand;
mod files;
mod http;
mod index;
mod library;
mod lint;
mod names;
mod options;
mod partials;
mod project;
mod requests;
mod room;
mod server;
pub mod source;
mod state;
mod task;
pub mod text;
mod watch;
mod wire_form;

pub use changes::Changes;
pub use directories::{Completion, Directory, DirectoryUpdate};
pub use document::{Document, Kind};
pub use error::PromptsError;
pub use http::{
    PromptRoutes, RouteOptions, is_page_path, openapi, page_routes, prompt_route_table,
};
pub use library::{JoinOptions, Member, Prompts};
pub use options::{DEFAULT_MAX_CONTENT, DirectorySpec, PromptsOptions};
pub use project::{project_directories, project_options};
pub use requests::{
    Base, Content, Created, NewDocument, OnConflict, PastRevision, Preview, Problem, Reference,
    Rename, Renamed, RevisionName, Submission, Submitted,
};
pub use room::Outgoing;
pub use server::{PromptServer, PromptServerOptions, prompt_server_route_table};
