//! The studio as its users see it: agents over real sockets, flows over HTTP, tools against servers.

mod cards;
mod flows;
mod mcp;
mod orchestration;
mod spans;
mod trace;
mod web;
