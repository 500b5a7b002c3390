//! An SQLite file with one writer and many readers, as the stores of oxikit use it. The crate
//! defines no tables.
//!
//! All writes of a process go through one [`Writer`], which executes waiting writes in one
//! transaction: a commit waits for the disk, and sharing that wait makes small writes fast.
//! Reads go to a pool of [`Readers`] and never wait for the writer. A file is opened with a
//! [`Schema`], whose steps bring its tables up to date. Damaged pages are found while reading
//! ([`Damage`]) and left out, and [`repair`] saves the readable rows.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use oxikit_core::ports::LocalNotifier;
//! use oxikit_sqlite::file_check::OpenFile;
//! use oxikit_sqlite::writer::{Durability, Txn, WriterOptions};
//! use oxikit_sqlite::{FileOptions, Readers, Schema, Writer, connection};
//!
//! const SCHEMA: Schema = Schema {
//!     application: 0x6e6f_7465,
//!     tables: &["notes"],
//!     unreleased: 0,
//!     steps: &["CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL)"],
//! };
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("notes.db");
//! let options = FileOptions::default();
//! let connection = connection::writer(&path, &options, &SCHEMA)?;
//! let of_writer = WriterOptions { timeout: Duration::from_secs(5), expects_failures: false };
//! let notifier = Arc::new(LocalNotifier::default());
//! let writer = Writer::start(connection, OpenFile::at(&path), notifier, of_writer)?;
//! let readers = Readers::new(path, &options);
//!
//! let insert = |txn: &Txn<'_>| Ok(txn.sql("INSERT INTO notes (text) VALUES ('tea')")?.execute([])?);
//! assert_eq!(writer.run(Durability::Synced, insert).await.unwrap(), 1);
//! let read = |connection: &rusqlite::Connection| {
//!     Ok(connection.query_row("SELECT text FROM notes", [], |row| row.get::<_, String>(0))?)
//! };
//! assert_eq!(readers.run(read).await.unwrap(), "tea");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The stores in `oxikit-sql` (sessions, streams, projects) and `oxikit-traces` are built on
//! this crate. Applications use those stores and not this crate.

mod clock;
pub mod connection;
pub mod damage;
pub mod failure;
pub mod file_check;
mod first_pages;
mod options;
mod readers;
pub mod repair;
mod vacuum;
pub mod walk;
pub mod writer;

pub use clock::now_ms;
pub use connection::{OpenError, Schema};
pub use damage::Damage;
pub use failure::{Failure, Outcome};
pub use options::FileOptions;
pub use readers::{Readers, at_once};
pub use vacuum::vacuum;
pub use writer::Writer;
