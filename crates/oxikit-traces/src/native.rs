//! Stores traces that are posted in Genkit's own form, which is how Genkit's runtimes send them.

use std::borrow::Cow;
use std::fmt;

use futures_util::future::try_join_all;
use oxikit_core::redact;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::answer::Refused;
use super::port::{PortState, Sender};
use super::unverified;

/// Number of traces of one post that are stored at the same time.
const AT_ONCE: usize = 64;
/// Maximum number of traces of a post. More are answered with 400: a list of empty objects
/// needs more memory than it has bytes.
const MAX_TRACES: usize = 10_000;

/// Stores a trace, or a list of them. Only the store parses the JSON.
pub(super) async fn store(state: &PortState, sender: &Sender, json: &[u8]) -> Result<(), Refused> {
    let json = std::str::from_utf8(json).map_err(|_| Refused::invalid("the body is not UTF-8"))?;
    // Before the JSON is parsed, so that no later step sees a secret.
    let json = if state.options.raw { Cow::Borrowed(json) } else { redact::text(json) };
    if !json.trim_ascii_start().starts_with('[') {
        return store_one(state, sender, &json).await;
    }
    let no_list = |error| Refused::invalid(format!("it is not a list of traces: {error}"));
    let Posts(posts) = serde_json::from_str(&json).map_err(no_list)?;
    // In their order: the start and the end of a span may be in one post.
    for posts in posts.chunks(AT_ONCE) {
        let stored = posts.iter().map(|post| store_one(state, sender, post.get()));
        try_join_all(stored).await?;
    }
    Ok(())
}

/// Stores one trace, unless it is hidden. Spans without a token are marked first.
async fn store_one(state: &PortState, sender: &Sender, json: &str) -> Result<(), Refused> {
    if state.options.hidden_traces.hides_post(json) {
        return Ok(());
    }
    let json = match sender.is_verified {
        true => Cow::Borrowed(json),
        false => Cow::Owned(unverified::mark_post(&state.store, json).await?),
    };
    Ok(state.store.ingest_of(json.as_bytes(), &sender.runtime).await?)
}

/// The traces of a list, each as its JSON text.
struct Posts<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Posts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PostsVisitor)
    }
}

/// Reads a list and stops beyond [`MAX_TRACES`].
struct PostsVisitor;

impl<'de> Visitor<'de> for PostsVisitor {
    type Value = Posts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of traces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut posts = Vec::new();
        while let Some(post) = list.next_element()? {
            if posts.len() == MAX_TRACES {
                return Err(A::Error::custom(format!("it has more than {MAX_TRACES} traces")));
            }
            posts.push(post);
        }
        Ok(Posts(posts))
    }
}
