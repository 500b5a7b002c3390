//! The studio as its users see it: agents over real sockets, flows over HTTP, tools against servers.

mod cards;
mod deploy;
mod flows;
mod lines;
mod mcp;
mod orchestration;
mod serverless;
mod spans;
mod trace;
mod web;
