//! What every store promises.

use std::sync::Arc;

use oxikit_core::ports::contract::{self, SESSION_STORE, STREAM_STORE};

use super::server::{store, url};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_keep_the_contract() {
    let Some(url) = url() else { return };
    let store = Arc::new(store(&url).await);
    contract::each("postgres", SESSION_STORE, async || store.clone() as _).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_keep_the_contract() {
    let Some(url) = url() else { return };
    let store = Arc::new(store(&url).await);
    contract::each("postgres", STREAM_STORE, async || store.clone() as _).await;
}
