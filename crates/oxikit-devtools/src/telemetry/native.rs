//! Posts in Genkit's own form.

use std::borrow::Cow;

use futures_util::future::try_join_all;
use oxikit_core::redact;
use serde_json::value::RawValue;

use super::answer::Refused;
use super::door::{Door, Sender};
use super::unverified;

/// So many traces of one post are on their way at the same time.
const AT_ONCE: usize = 64;

/// Stores a trace, or a list of them. The text is read once, by the store.
pub(super) async fn store(door: &Door, sender: Sender, json: &[u8]) -> Result<(), Refused> {
    let json = std::str::from_utf8(json).map_err(|_| Refused::invalid("the body is not UTF-8"))?;
    let json = if door.options.raw { Cow::Borrowed(json) } else { redact::text(json) };
    if !json.trim_ascii_start().starts_with('[') {
        return store_one(door, sender, &json).await.map_err(Refused::official);
    }
    let no_list = |error| Refused::invalid(format!("it is no list of traces: {error}"));
    let posts: Vec<&RawValue> = serde_json::from_str(&json).map_err(no_list)?;
    // In their order: a span that begins and ends in one post has ended.
    for posts in posts.chunks(AT_ONCE) {
        let stored = posts.iter().map(|post| store_one(door, sender, post.get()));
        try_join_all(stored).await.map_err(Refused::official)?;
    }
    Ok(())
}

async fn store_one(door: &Door, sender: Sender, json: &str) -> Result<(), Refused> {
    match sender {
        Sender::Verified => door.store.ingest(json.as_bytes()).await?,
        Sender::Unverified => {
            let json = unverified::mark_post(&door.store, json).await?;
            door.store.ingest(json.as_bytes()).await?;
        }
    }
    Ok(())
}
