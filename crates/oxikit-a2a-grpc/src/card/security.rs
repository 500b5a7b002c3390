//! Ways to authenticate.

use std::collections::BTreeMap;

use oxikit_wire::a2a::{self, A2aError, Version};

use super::flow::OAuthFlows;
use crate::text::{optional, or_empty, required};

/// Its name in version 0.3 is `Security`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SecurityRequirement {
    #[prost(btree_map = "string, message", tag = "1")]
    schemes: BTreeMap<String, StringList>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StringList {
    #[prost(string, repeated, tag = "1")]
    list: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SecurityScheme {
    #[prost(oneof = "Scheme", tags = "1, 2, 3, 4, 5")]
    scheme: Option<Scheme>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Scheme {
    #[prost(message, tag = "1")]
    ApiKey(ApiKey),
    #[prost(message, tag = "2")]
    HttpAuth(HttpAuth),
    #[prost(message, tag = "3")]
    OAuth2(OAuth2),
    #[prost(message, tag = "4")]
    OpenIdConnect(OpenIdConnect),
    #[prost(message, tag = "5")]
    MutualTls(MutualTls),
}

#[derive(Clone, PartialEq, prost::Message)]
struct ApiKey {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    location: String,
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HttpAuth {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    scheme: String,
    #[prost(string, tag = "3")]
    bearer_format: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct OAuth2 {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(message, optional, tag = "2")]
    flows: Option<OAuthFlows>,
    #[prost(string, tag = "3")]
    metadata_url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct OpenIdConnect {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MutualTls {
    #[prost(string, tag = "1")]
    description: String,
}

impl From<&a2a::SecurityRequirement> for SecurityRequirement {
    fn from(requirement: &a2a::SecurityRequirement) -> Self {
        let scopes =
            |(name, list): (&String, &Vec<_>)| (name.clone(), StringList { list: list.clone() });
        Self { schemes: requirement.schemes.iter().map(scopes).collect() }
    }
}

impl From<SecurityRequirement> for a2a::SecurityRequirement {
    fn from(requirement: SecurityRequirement) -> Self {
        let schemes = requirement.schemes.into_iter().map(|(name, scopes)| (name, scopes.list));
        Self { schemes: schemes.collect() }
    }
}

impl SecurityScheme {
    pub(super) fn new(scheme: &a2a::SecurityScheme, version: Version) -> Self {
        let scheme = match scheme {
            a2a::SecurityScheme::ApiKey { description, location, name } => Scheme::ApiKey(ApiKey {
                description: or_empty(description.as_ref()),
                location: location.clone(),
                name: name.clone(),
            }),
            a2a::SecurityScheme::HttpAuth { description, scheme, bearer_format } => {
                Scheme::HttpAuth(HttpAuth {
                    description: or_empty(description.as_ref()),
                    scheme: scheme.clone(),
                    bearer_format: or_empty(bearer_format.as_ref()),
                })
            }
            a2a::SecurityScheme::OAuth2 { description, flows, metadata_url } => {
                Scheme::OAuth2(OAuth2 {
                    description: or_empty(description.as_ref()),
                    flows: Some(OAuthFlows::new(flows, version)),
                    metadata_url: or_empty(metadata_url.as_ref()),
                })
            }
            a2a::SecurityScheme::OpenIdConnect { description, url } => {
                Scheme::OpenIdConnect(OpenIdConnect {
                    description: or_empty(description.as_ref()),
                    url: url.clone(),
                })
            }
            a2a::SecurityScheme::MutualTls { description } => {
                Scheme::MutualTls(MutualTls { description: or_empty(description.as_ref()) })
            }
        };
        Self { scheme: Some(scheme) }
    }

    /// The schemes of a card.
    pub(super) fn all(
        schemes: &BTreeMap<String, a2a::SecurityScheme>,
        version: Version,
    ) -> BTreeMap<String, Self> {
        schemes.iter().map(|(name, scheme)| (name.clone(), Self::new(scheme, version))).collect()
    }
}

impl TryFrom<SecurityScheme> for a2a::SecurityScheme {
    type Error = A2aError;

    fn try_from(scheme: SecurityScheme) -> Result<Self, A2aError> {
        Ok(match required(scheme.scheme, "securitySchemes")? {
            Scheme::ApiKey(it) => Self::ApiKey {
                description: optional(it.description),
                location: it.location,
                name: it.name,
            },
            Scheme::HttpAuth(it) => Self::HttpAuth {
                description: optional(it.description),
                scheme: it.scheme,
                bearer_format: optional(it.bearer_format),
            },
            Scheme::OAuth2(it) => Self::OAuth2 {
                description: optional(it.description),
                flows: Box::new(it.flows.unwrap_or_default().into()),
                metadata_url: optional(it.metadata_url),
            },
            Scheme::OpenIdConnect(it) => {
                Self::OpenIdConnect { description: optional(it.description), url: it.url }
            }
            Scheme::MutualTls(it) => Self::MutualTls { description: optional(it.description) },
        })
    }
}
