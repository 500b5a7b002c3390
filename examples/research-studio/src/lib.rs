//! The research studio: eight agents that call each other over A2A, twelve flows over HTTP, web and
//! file tools, and the tools of a database.
//!
//! It uses only the public API of the crate `oxikit`. `agents/` has one folder per agent, with its
//! definition, its prompt and its tests; `README.md` explains how to run it.

pub mod agents;
pub mod app;
pub mod database;
pub mod delegation;
pub mod error;
pub mod flows;
pub mod mcp;
pub mod offline;
pub mod records;
pub mod research;
pub mod sample_site;
pub mod serverless;
pub mod settings;
pub mod stores;
pub mod studio;
pub mod tools;
pub mod words;

pub use app::App;
pub use error::UserError;
pub use settings::Settings;
pub use studio::Studio;
