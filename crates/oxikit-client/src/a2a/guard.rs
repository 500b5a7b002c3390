//! Which servers the application has chosen itself. Requests to all others are sent by the client
//! for foreign URLs, which connects only to addresses that its policy allows.

use std::sync::OnceLock;

use oxikit_core::{Result, Status, StatusCode};
use oxikit_outgoing::{OutgoingClient, OutgoingPolicy};
use reqwest::Url;
use url::{Host, Origin};

use crate::failure::Place;

/// The servers of the application, and the client for all others.
pub(super) struct Guard {
    own: Vec<Origin>,
    policy: OutgoingPolicy,
    /// Made when it is needed, because it reads the certificates of the machine.
    outgoing: OnceLock<OutgoingClient>,
    #[cfg(feature = "a2a-grpc")]
    over_http2: OnceLock<OutgoingClient>,
}

impl Guard {
    /// For an agent whose URL the application has chosen: its server, and `trusted` ones.
    pub(super) fn of_own(url: &Url, trusted: &[String]) -> Self {
        let mut guard = Self::of_foreign(trusted);
        guard.own.push(url.origin());
        // An agent of this machine or network may be at several ports of it.
        let policy = std::mem::take(&mut guard.policy);
        guard.policy = match url.host() {
            Some(Host::Domain("localhost")) => policy.allow_loopback(),
            Some(Host::Ipv4(address)) if address.is_loopback() => policy.allow_loopback(),
            Some(Host::Ipv6(address)) if address.is_loopback() => policy.allow_loopback(),
            Some(host @ (Host::Ipv4(_) | Host::Ipv6(_))) => {
                policy.allow_http_host(host.to_string().trim_matches(['[', ']']))
            }
            _ => policy,
        };
        guard
    }

    /// For an agent whose URL others have chosen: only `trusted` servers are the application's.
    pub(super) fn of_foreign(trusted: &[String]) -> Self {
        let own = trusted.iter().filter_map(|it| Some(Url::parse(it).ok()?.origin())).collect();
        let policy = OutgoingPolicy::default().https_only();
        Self {
            own,
            policy,
            outgoing: OnceLock::new(),
            #[cfg(feature = "a2a-grpc")]
            over_http2: OnceLock::new(),
        }
    }

    /// Uses this client for foreign URLs.
    pub(super) fn with(self, outgoing: OutgoingClient) -> Self {
        Self { outgoing: outgoing.into(), ..self }
    }

    /// The client for this URL, if it is foreign.
    pub(super) fn client_for(&self, url: &Url) -> Result<Option<OutgoingClient>> {
        if self.own.contains(&url.origin()) {
            return Ok(None);
        }
        if let Some(outgoing) = self.outgoing.get() {
            return Ok(Some(outgoing.clone()));
        }
        let outgoing = OutgoingClient::new(self.policy.clone())?;
        Ok(Some(self.outgoing.get_or_init(|| outgoing).clone()))
    }

    /// The client that speaks HTTP/2 to this URL, if it is foreign.
    #[cfg(feature = "a2a-grpc")]
    pub(super) fn http2_client_for(&self, url: &Url) -> Result<Option<OutgoingClient>> {
        let Some(outgoing) = self.client_for(url)? else { return Ok(None) };
        if let Some(over_http2) = self.over_http2.get() {
            return Ok(Some(over_http2.clone()));
        }
        let over_http2 = outgoing.over_http2()?;
        Ok(Some(self.over_http2.get_or_init(|| over_http2).clone()))
    }

    /// Checks an address that a card names.
    pub(super) async fn check(&self, card_url: &Url, url: &Url) -> Result<()> {
        let Some(outgoing) = self.client_for(url)? else { return Ok(()) };
        outgoing.check(url).await.map_err(|error| {
            let (card, place) = (Place(card_url), Place(url));
            let origin = url.origin().ascii_serialization();
            let message = format!(
                "the card of {card} names the address {place}, which may not be called: {error}; \
                 if it is yours, trust the origin {origin}"
            );
            Status::new(StatusCode::FailedPrecondition, message).caused_by(error)
        })
    }
}
