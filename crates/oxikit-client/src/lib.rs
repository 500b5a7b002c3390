//! Runs and streams the actions of any Genkit server from Rust.
//!
//! ```no_run
//! use oxikit_client::RemoteAction;
//!
//! # async fn example() -> oxikit_client::Result<()> {
//! let greet = RemoteAction::new("http://127.0.0.1:3400/greet")?;
//! let text: String = greet.run("Ada").await?;
//!
//! let mut stream = greet.stream::<String, String>("Ada").await?;
//! while let Some(word) = stream.next().await {
//!     println!("{}", word?);
//! }
//! let text = stream.finish().await?;
//! # Ok(()) }
//! ```
//!
//! A [`Chat`] is a conversation with an agent:
//!
//! ```no_run
//! use oxikit_client::RemoteAgent;
//!
//! # async fn example() -> oxikit_client::Result<()> {
//! let mut chat = RemoteAgent::new("http://127.0.0.1:3400/guide")?.chat();
//! println!("{}", chat.send("Where is the library?").await?.text());
//! println!("{}", chat.send("And when is it open?").await?.text());
//! # Ok(()) }
//! ```
//!
//! Servers written with Genkit for JavaScript, Go and Python, and with oxikit,
//! differ in how they write blocks and errors; all of them are understood. An error
//! of the server is a [`Status`] with its code, message and details:
//!
//! ```no_run
//! use oxikit_client::{RemoteAction, StatusCode};
//!
//! # async fn example() -> oxikit_client::Result<()> {
//! let order = RemoteAction::new("http://127.0.0.1:3400/order")?;
//! match order.run::<String>("42").await {
//!     Ok(text) => println!("{text}"),
//!     Err(status) if status.code() == StatusCode::NotFound => println!("no such order"),
//!     Err(status) => return Err(status),
//! }
//! # Ok(()) }
//! ```
//!
//! Such a status is not public: if an oxikit server calls another one, its own callers do not
//! read the message unless the code makes a public status of it.
//!
//! Dropping a call or a stream closes its connection, and the server cancels the action. The
//! stream of a durable action is different: the action goes on without its reader, the stream
//! reconnects by itself when its connection breaks, and [`RemoteAction::resume`] reads it again.
//!
//! A [`PromptManager`] is a source of prompts: an application that is written with `oxikit` loads
//! its prompts from it and follows their changes.
//!
//! Requests are repeated only where that is safe: a call that never reached the server, and
//! the reading of a durable stream. A call that may have reached its action is
//! never repeated.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod a2a;
mod action;
mod agent;
mod blocks;
mod card_cache;
mod client;
mod event;
mod exchange;
mod failure;
mod prompt_manager;
mod pull;
mod stream;

pub use action::RemoteAction;
pub use agent::RemoteAgent;
pub use client::{Client, ClientBuilder};
pub use oxikit_core::chat::{Chat, ChatReply, ChatTurn, DetachedTurn, ToolInterrupt};
pub use oxikit_core::ports::{PromptSource, PromptText};
pub use oxikit_core::{Result, Status, StatusCode};
pub use prompt_manager::PromptManager;
pub use stream::RemoteStream;
