//! The server of the developer tools, over HTTP.

mod doors;
mod kit;
