//! PostgreSQL. `cargo xtask postgres cargo test -p oxikit-sql` runs these alone.

mod child;
mod contract;
mod growth;
mod processes;
mod server;
mod turns;
