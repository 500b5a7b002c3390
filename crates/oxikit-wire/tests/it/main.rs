//! Every wire type against samples of the protocol, and against the published
//! schemas and recordings where the specification is at hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod a2a;
mod agents_api;
mod documents;
mod evaluators;
mod frames;
mod generate;
mod listing;
mod numbers;
mod parts;
mod prompts;
mod recordings;
mod sample;
mod schemas;
mod sessions;
mod spans;
mod status_codes;
mod tolerance;
