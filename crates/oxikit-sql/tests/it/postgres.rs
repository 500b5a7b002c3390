//! PostgreSQL. `cargo xtask postgres cargo test -p oxikit-sql` runs these alone.

mod contract;
mod server;
