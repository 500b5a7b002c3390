//! Finds and reads agent cards.

use std::sync::Arc;

use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::a2a::{CARD_PATH, Version};
use reqwest::header::{ACCEPT, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, Url};
use tokio::time::Instant;

use super::link::{Asking, Link};
use crate::card_cache::ReadCard;
use crate::exchange::Exchange;
use crate::failure::{Fault, answered};

/// Finds the card of the agent at this URL, which may also be the URL of the card.
pub(super) async fn discover(link: &Link, url: &Url) -> Result<Arc<ReadCard>> {
    if url.path().contains("/.well-known/") || url.path().ends_with(".json") {
        return read(link, url).await;
    }
    let below = card_below(url);
    let missing = match read(link, &below).await {
        Err(status) if status.code() == StatusCode::NotFound => status,
        other => return other,
    };
    // Many servers have one card at the root of the host. It may describe another agent there.
    let root = url.join(CARD_PATH).map_err(|error| Status::internal(error.to_string()))?;
    if root == below {
        return Err(missing);
    }
    match read(link, &root).await {
        Ok(card) if names(&card, url) => Ok(card),
        _ => Err(missing),
    }
}

fn card_below(url: &Url) -> Url {
    let mut below = url.clone();
    below.set_path(&format!("{}{CARD_PATH}", url.path().trim_end_matches('/')));
    below.set_fragment(None);
    below
}

/// Whether the card lists this URL as an address of the agent.
fn names(card: &ReadCard, url: &Url) -> bool {
    let plain = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
    let mut listed = card.card.supported_interfaces.iter();
    listed.any(|it| card.url.join(&it.url).is_ok_and(|it| plain(&it) == plain(url)))
}

/// Reads a card, or finds that the one in the cache is current.
pub(super) async fn read(link: &Link, url: &Url) -> Result<Arc<ReadCard>> {
    let known = link.client.cards.get(url);
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(etag) = known.as_ref().and_then(|known| known.etag.clone()) {
        headers.insert(IF_NONE_MATCH, etag);
    }
    let mut exchange = link.exchange(url)?;
    let limit = limit_foreign(&mut exchange);
    let mut asking = Asking::new(Method::GET, url.clone(), Version::V1_0);
    asking.headers.extend(headers);
    let answer = link.send(&exchange, &asking).await.map_err(Fault::into_status)?;
    if let (304, Some(known)) = (answer.http(), known) {
        return Ok(known);
    }
    if !(200..300).contains(&answer.http()) {
        return Err(match exchange.outgoing.is_some() {
            // The text of a server that others have chosen is not shown.
            true => answered(answer.http(), answer.headers(), b"", url),
            false => exchange.refused(answer).await.0,
        });
    }
    let etag = answer.headers().get(ETAG).cloned();
    let text = exchange.read_within(answer, limit).await?;
    let card = serde_json::from_slice(&text).map_err(|error| {
        exchange.garbage(&format!("something that is not an agent card: {error}")).caused_by(error)
    })?;
    let card = Arc::new(ReadCard { url: url.clone(), card, text, etag });
    link.client.cards.put(&card);
    Ok(card)
}

/// The maximum size of a card. A card of a server that others have chosen is limited in size and
/// time by the policy for such requests.
fn limit_foreign(exchange: &mut Exchange) -> usize {
    let Some(outgoing) = &exchange.outgoing else {
        return exchange.client.settings.answer_limit;
    };
    let (time, bytes) = outgoing.limits();
    let latest = Instant::now() + time;
    exchange.deadline = Some(exchange.deadline.map_or(latest, |deadline| deadline.min(latest)));
    bytes
}
