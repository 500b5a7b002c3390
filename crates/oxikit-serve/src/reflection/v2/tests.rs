//! A scripted manager at the other end of a pipe, in virtual time.

mod kit;
mod runs;
