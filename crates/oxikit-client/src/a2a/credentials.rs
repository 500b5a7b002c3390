//! Credentials at the place that the card of an agent names for them.

use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::a2a::{AgentCard, SecurityScheme};
use reqwest::header::COOKIE;

use super::link::Link;
use crate::client::set_header;

/// Where an API key is sent.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Header(&'a str),
    Query(&'a str),
    Cookie(&'a str),
}

impl Link {
    /// Sends this key with every request, where the card says.
    pub(super) fn set_api_key(&mut self, card: &AgentCard, key: &str) -> Result<()> {
        match place_of(card)? {
            Place::Header(name) => set_header(&mut self.headers, name, key),
            Place::Query(name) => {
                self.query.push((name.to_owned(), key.to_owned()));
                Ok(())
            }
            Place::Cookie(name) => {
                let others = self.headers.get(COOKIE).and_then(|it| it.to_str().ok());
                let cookies = match others {
                    Some(others) => format!("{others}; {name}={key}"),
                    None => format!("{name}={key}"),
                };
                set_header(&mut self.headers, COOKIE.as_str(), &cookies)
            }
        }
    }
}

/// The place of the API key: that of a scheme that the card requires, else of any scheme.
fn place_of(card: &AgentCard) -> Result<Place<'_>> {
    let required = card.security_requirements.iter().flat_map(|it| it.schemes.keys());
    let names = required.chain(card.security_schemes.keys());
    let places = names.filter_map(|name| match card.security_schemes.get(name)? {
        SecurityScheme::ApiKey { location, name, .. } => match location.as_str() {
            "header" => Some(Place::Header(name)),
            "query" => Some(Place::Query(name)),
            "cookie" => Some(Place::Cookie(name)),
            _ => None,
        },
        _ => None,
    });
    let mut places = places;
    places.next().ok_or_else(|| {
        let message = format!(
            "the card of the agent `{}` has no scheme for an API key: use `header` or `bearer`",
            card.name
        );
        Status::new(StatusCode::FailedPrecondition, message)
    })
}
