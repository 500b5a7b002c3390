//! The server that the tests use.

use oxikit_sql::{PostgresOptions, PostgresStore};

/// The URL of the server; `None` if there is none, and the test is skipped.
pub(super) fn url() -> Option<String> {
    variable("OXIKIT_TEST_POSTGRES")
}

pub(super) fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
    if value.is_none() {
        assert!(!is_ci, "{name} is not set, and under CI nothing is skipped");
        eprintln!("skipped: `cargo xtask postgres cargo test -p oxikit-sql` sets {name}");
    }
    value
}

/// A name that no other test uses.
pub(super) fn schema() -> String {
    format!("test_{:016x}", fastrand::u64(..))
}

/// A store without anything in it.
pub(super) async fn store(url: &str) -> PostgresStore {
    store_in(url, &schema()).await
}

pub(super) async fn store_in(url: &str, schema: &str) -> PostgresStore {
    PostgresStore::connect_with(url, PostgresOptions::default().with_schema(schema)).await.unwrap()
}
