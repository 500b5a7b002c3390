//! The objects of A2A in both versions.

mod cards;
mod compat;
mod errors;
mod exchanges;
mod golden;
mod hostile;
mod properties;
mod versions;
