//! The providers against local servers that speak each one's language.

#![expect(clippy::unwrap_used, reason = "a test may panic, and its helpers with it")]

mod anthropic;
mod compatible;
mod failures;
mod generate;
mod google_ai;
mod listing;
mod ollama;
mod open_ai;
mod secrets;
mod server;
mod support;
mod timeouts;
