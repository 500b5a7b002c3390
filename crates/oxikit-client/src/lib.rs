//! Runs and streams the actions of any Genkit server from Rust.
//!
//! ```no_run
//! use oxikit_client::RemoteAction;
//!
//! # async fn example() -> oxikit_client::Result<()> {
//! let greet = RemoteAction::new("http://127.0.0.1:3400/greet")?;
//! let text: String = greet.run(&"Ada").await?;
//!
//! let mut stream = greet.stream::<String, String>(&"Ada").await?;
//! while let Some(word) = stream.next().await {
//!     println!("{word}");
//! }
//! let text = stream.output().await?;
//! # Ok(()) }
//! ```
//!
//! An agent is talked to by a [`Chat`]:
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
//! differ in how they write blocks and errors; all of them are understood. What
//! a server reports arrives as a [`Status`] with its code, message and details.
//!
//! Dropping a call or a stream closes its connection, by which a server learns
//! that nobody waits any more. The stream of a durable action is different: it
//! goes on without its reader, reconnects by itself when its connection breaks,
//! and is read again by [`RemoteAction::resume`].
//!
//! Only what is safe is tried again: a call that never reached the server, and
//! the reading of a durable stream. A call that may have reached its action is
//! never repeated.

mod action;
mod agent;
mod blocks;
mod client;
mod event;
mod exchange;
mod failure;
mod stream;

pub use action::RemoteAction;
pub use agent::RemoteAgent;
pub use client::{Client, ClientBuilder};
pub use oxikit_core::chat::{Chat, ChatReply, ChatTurn, DetachedTurn, ToolInterrupt};
pub use oxikit_core::{Result, Status, StatusCode};
pub use stream::RemoteStream;
