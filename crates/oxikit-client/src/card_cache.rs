//! Agent cards of A2A that a client has read. Their server says whether they are still current.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use oxikit_wire::a2a::AgentCard;
use reqwest::Url;
use reqwest::header::HeaderValue;

/// Maximum number of cards in the cache of a client. More are not kept.
const MAX_CARDS: usize = 256;

/// Cards that a client has read, by their addresses.
#[derive(Default)]
pub(crate) struct CardCache(Mutex<HashMap<Url, Arc<ReadCard>>>);

/// A card as it was read.
pub(crate) struct ReadCard {
    pub(crate) url: Url,
    pub(crate) card: AgentCard,
    /// The document itself, with members that the type does not have.
    pub(crate) text: Bytes,
    /// Identifies this state of the document to its server.
    pub(crate) etag: Option<HeaderValue>,
}

impl CardCache {
    pub(crate) fn get(&self, url: &Url) -> Option<Arc<ReadCard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned()
    }

    pub(crate) fn put(&self, card: &Arc<ReadCard>) {
        let mut cards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cards.len() < MAX_CARDS || cards.contains_key(&card.url) {
            cards.insert(card.url.clone(), card.clone());
        }
    }
}
