//! The runtime's side of the developer tools: they list the actions and run them.

mod failure;
mod identity;
mod runs;
mod v2;
