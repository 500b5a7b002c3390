//! The choice of an address among those that a card lists.

use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::a2a::{AgentCard, AgentInterface, Version};
use reqwest::Url;

use super::binding::Binding;
use crate::failure::Place;

/// An address of an agent, and what is spoken there.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) url: Url,
    pub(super) binding: Binding,
    pub(super) version: Version,
    pub(super) tenant: Option<String>,
}

/// The rules by which an address is chosen: the newest version that the card lists, and of its
/// addresses the first that this client can call. A card lists them in the order in which its
/// server prefers them.
pub(super) struct Choice<'a> {
    /// Where the card was read. Relative addresses begin here.
    pub(super) card_url: &'a Url,
    /// Whether requests have headers that other servers must not get.
    pub(super) has_secrets: bool,
    /// Origins of other servers that may get them.
    pub(super) trusted: &'a [String],
    /// The only version to speak.
    pub(super) version: Option<Version>,
    /// The only binding to speak.
    pub(super) binding: Option<Binding>,
}

impl Choice<'_> {
    /// The best address, and the one for version 0.3 if that is another.
    pub(super) fn of(&self, card: &AgentCard) -> Result<(Endpoint, Option<Endpoint>)> {
        let mut refused = None;
        let mut found = [None, None];
        for (place, version) in found.iter_mut().zip([Version::V1_0, Version::V0_3]) {
            if self.version.is_none_or(|wanted| wanted == version) {
                *place = self.first(card, version, &mut refused);
            }
        }
        match found {
            [Some(main), older] => Ok((main, older)),
            [None, Some(older)] => Ok((older, None)),
            [None, None] => Err(refused.unwrap_or_else(|| self.none(card))),
        }
    }

    /// The first usable address with this version. `refused` becomes the reason against another.
    fn first(
        &self,
        card: &AgentCard,
        version: Version,
        refused: &mut Option<Status>,
    ) -> Option<Endpoint> {
        let is_version = |it: &&AgentInterface| version_of(it) == Some(version);
        card.supported_interfaces.iter().filter(is_version).find_map(|interface| {
            let binding = Binding::named(&interface.protocol_binding)?;
            if self.binding.is_some_and(|wanted| wanted != binding) {
                return None;
            }
            let tenant = interface.tenant.clone();
            match self.url_of(binding, &interface.url).and_then(|url| self.checked(url)) {
                Ok(url) => Some(Endpoint { url, binding, version, tenant }),
                Err(status) => {
                    refused.get_or_insert(status);
                    None
                }
            }
        })
    }

    fn url_of(&self, binding: Binding, url: &str) -> Result<Url> {
        let (url, kind) = match binding {
            Binding::JsonRpc | Binding::HttpJson => (self.card_url.join(url).ok(), "HTTP"),
            #[cfg(feature = "a2a-grpc")]
            Binding::Grpc => (grpc_url(self.card_url, url), "`host:port`"),
        };
        url.filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(|| {
            let card = Place(self.card_url);
            refusal(format!("the card of {card} has an address that is not {kind}"))
        })
    }

    /// Refuses an address that must not get the headers of this client.
    fn checked(&self, url: Url) -> Result<Url> {
        let card = Place(self.card_url);
        let origin = url.origin();
        let is_trusted = |it: &String| Url::parse(it).is_ok_and(|it| it.origin() == origin);
        if self.has_secrets
            && origin != self.card_url.origin()
            && !self.trusted.iter().any(is_trusted)
        {
            let origin = origin.ascii_serialization();
            return Err(refusal(format!(
                "the card of {card} names an address at another server, which does not get the \
                 headers of this client; if they are meant for it, trust the origin {origin}"
            )));
        }
        Ok(url)
    }

    fn none(&self, card: &AgentCard) -> Status {
        let listed = card.supported_interfaces.iter();
        let listed: Vec<_> =
            listed.map(|it| format!("{} {}", it.protocol_binding, it.protocol_version)).collect();
        let bindings: Vec<_> = Binding::ALL.iter().map(|it| it.name()).collect();
        let message = format!(
            "the card of {} has no {} address of {}; it lists: {}",
            Place(self.card_url),
            self.binding.map_or_else(|| bindings.join(" or "), |it| it.name().to_owned()),
            self.version.map_or("version 1.0 or 0.3".to_owned(), |it| format!("version {it}")),
            if listed.is_empty() { "none".to_owned() } else { listed.join(", ") },
        );
        refusal(message)
    }
}

fn refusal(message: String) -> Status {
    Status::new(StatusCode::FailedPrecondition, message)
}

/// The server at an address of gRPC: `host:port`, with `dns:///` before it or as the URL of a
/// server. Without a scheme it has TLS if the server of the card has it.
#[cfg(feature = "a2a-grpc")]
fn grpc_url(card_url: &Url, address: &str) -> Option<Url> {
    let address = address.trim();
    let host = address.strip_prefix("dns:///").unwrap_or(address);
    let mut url = match host.contains("://") {
        true => Url::parse(host).ok()?,
        false if host.contains(['/', '\\', '?', '#', '@']) => return None,
        false => Url::parse(&format!("{}://{host}", card_url.scheme())).ok()?,
    };
    url.set_path("");
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// The version to speak at an address. Cards also have versions without meaning for clients, such
/// as `0.2.6` and `1.1`, and none at all.
fn version_of(interface: &AgentInterface) -> Option<Version> {
    let text = interface.protocol_version.trim();
    interface.version().or(match text.split('.').next() {
        Some("0" | "") | None => Some(Version::V0_3),
        Some("1") => Some(Version::V1_0),
        Some(_) => None,
    })
}
