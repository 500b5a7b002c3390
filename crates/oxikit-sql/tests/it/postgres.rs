//! PostgreSQL. `cargo xtask postgres cargo test -p oxikit-sql` runs these alone.

mod child;
mod contract;
mod faults;
mod growth;
mod private;
mod processes;
mod proxy;
mod revisions;
mod server;
mod tasks;
mod turns;
