//! Ways to authenticate that a card declares.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::proto::empty_is_none;
use crate::absent::null_is_default;

/// A way to authenticate.
///
/// It is read in the form of either version, and written in that of 1.0.
///
/// ```
/// use oxikit_wire::a2a::SecurityScheme;
///
/// let v0_3 = r#"{"type":"apiKey","in":"header","name":"X-API-Key"}"#;
/// let v1_0 = r#"{"apiKeySecurityScheme":{"location":"header","name":"X-API-Key"}}"#;
/// let scheme: SecurityScheme = serde_json::from_str(v0_3).unwrap();
/// assert_eq!(scheme, serde_json::from_str(v1_0).unwrap());
/// assert_eq!(serde_json::to_string(&scheme).unwrap(), v1_0);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "SchemeMembers")]
pub enum SecurityScheme {
    /// A key in a header, the query or a cookie.
    ApiKey {
        /// For people.
        description: Option<String>,
        /// `header`, `query` or `cookie`.
        location: String,
        /// The name of the header, parameter or cookie.
        name: String,
    },
    /// The `Authorization` header.
    HttpAuth {
        /// For people.
        description: Option<String>,
        /// Such as `Bearer`.
        scheme: String,
        /// Such as `JWT`.
        bearer_format: Option<String>,
    },
    /// OAuth 2.0.
    OAuth2 {
        /// For people.
        description: Option<String>,
        /// How a client gets its token.
        flows: Box<OAuthFlows>,
        /// The address of the authorization server's metadata.
        metadata_url: Option<String>,
    },
    /// OpenID Connect.
    OpenIdConnect {
        /// For people.
        description: Option<String>,
        /// The address of the provider's configuration.
        url: String,
    },
    /// A certificate of the client.
    MutualTls {
        /// For people.
        description: Option<String>,
    },
}

impl SecurityScheme {
    /// Leaves out what proto JSON does not write because it is the default.
    pub(super) fn drop_defaults(&mut self) {
        let Self::OAuth2 { flows, .. } = self else { return };
        let OAuthFlows { authorization_code, client_credentials, device_code, implicit, password } =
            &mut **flows;
        let all = [authorization_code, client_credentials, device_code, implicit, password];
        for flow in all.into_iter().flatten() {
            flow.pkce_required = flow.pkce_required.filter(|is_required| *is_required);
        }
    }
}

/// The ways of OAuth 2.0 to get a token. Version 1.0 has only one of them in a scheme: the first
/// of these is written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuthFlows {
    /// By a code that the user's browser brings.
    #[serde(alias = "authorization_code")]
    pub authorization_code: Option<OAuthFlow>,
    /// By credentials of the client itself.
    #[serde(alias = "client_credentials")]
    pub client_credentials: Option<OAuthFlow>,
    /// By a code that the user types elsewhere. Not in version 0.3.
    #[serde(alias = "device_code")]
    pub device_code: Option<OAuthFlow>,
    /// Deprecated.
    pub implicit: Option<OAuthFlow>,
    /// Deprecated.
    pub password: Option<OAuthFlow>,
}

/// The addresses of one way. Which are needed depends on the way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuthFlow {
    /// Where the user agrees.
    #[serde(
        default,
        alias = "authorization_url",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub authorization_url: Option<String>,
    /// Where a device gets its code.
    #[serde(
        default,
        alias = "device_authorization_url",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub device_authorization_url: Option<String>,
    /// Where the client gets its token.
    #[serde(
        default,
        alias = "token_url",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub token_url: Option<String>,
    /// Where the client refreshes its token.
    #[serde(
        default,
        alias = "refresh_url",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub refresh_url: Option<String>,
    /// The scopes, with a description of each.
    #[serde(default, deserialize_with = "null_is_default")]
    pub scopes: BTreeMap<String, String>,
    /// Whether PKCE is needed. Not in version 0.3.
    #[serde(default, alias = "pkce_required", skip_serializing_if = "Option::is_none")]
    pub pkce_required: Option<bool>,
}

/// Schemes that a caller must present together, each with its scopes.
///
/// It is read in the form of either version, and written in that of 1.0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, RequirementMember>")]
pub struct SecurityRequirement {
    /// Scopes by the name of the scheme.
    pub schemes: BTreeMap<String, Vec<String>>,
}

/// A member of version 0.3 (scopes), or the only one of 1.0 (all schemes).
#[derive(Deserialize)]
#[serde(untagged)]
enum RequirementMember {
    Scopes(Vec<String>),
    Schemes(BTreeMap<String, ScopeList>),
    Null,
}

#[derive(Deserialize)]
struct ScopeList {
    #[serde(default, deserialize_with = "null_is_default")]
    list: Vec<String>,
}

impl TryFrom<BTreeMap<String, RequirementMember>> for SecurityRequirement {
    type Error = String;

    fn try_from(members: BTreeMap<String, RequirementMember>) -> Result<Self, String> {
        let mut schemes = BTreeMap::new();
        for (name, member) in members {
            match member {
                RequirementMember::Scopes(scopes) => {
                    schemes.insert(name, scopes);
                }
                RequirementMember::Schemes(lists) if name == "schemes" => {
                    schemes.extend(lists.into_iter().map(|(name, scopes)| (name, scopes.list)));
                }
                RequirementMember::Schemes(_) => {
                    return Err(format!("the scopes of `{name}` must be a list"));
                }
                RequirementMember::Null => {}
            }
        }
        Ok(Self { schemes })
    }
}

/// The members of a scheme of 0.3, and the five of which 1.0 has one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchemeMembers {
    #[serde(alias = "api_key_security_scheme")]
    api_key_security_scheme: Option<InnerMembers>,
    #[serde(alias = "http_auth_security_scheme")]
    http_auth_security_scheme: Option<InnerMembers>,
    #[serde(alias = "oauth2_security_scheme")]
    oauth2_security_scheme: Option<InnerMembers>,
    #[serde(alias = "open_id_connect_security_scheme")]
    open_id_connect_security_scheme: Option<InnerMembers>,
    #[serde(alias = "mtls_security_scheme")]
    mtls_security_scheme: Option<InnerMembers>,
    #[serde(rename = "type")]
    kind: Option<Kind>,
    #[serde(flatten)]
    own: InnerMembers,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    ApiKey,
    Http,
    Oauth2,
    OpenIdConnect,
    #[serde(rename = "mutualTLS")]
    MutualTls,
}

/// The members of all kinds of schemes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InnerMembers {
    #[serde(default, deserialize_with = "empty_is_none")]
    description: Option<String>,
    /// The first name is that of 0.3.
    #[serde(rename = "in", alias = "location")]
    location: Option<String>,
    name: Option<String>,
    scheme: Option<String>,
    #[serde(default, alias = "bearer_format", deserialize_with = "empty_is_none")]
    bearer_format: Option<String>,
    flows: Option<Box<OAuthFlows>>,
    #[serde(default, alias = "oauth2_metadata_url", deserialize_with = "empty_is_none")]
    oauth2_metadata_url: Option<String>,
    #[serde(alias = "open_id_connect_url")]
    open_id_connect_url: Option<String>,
}

impl SchemeMembers {
    fn into_kind(self) -> Option<(Kind, InnerMembers)> {
        if let Some(kind) = self.kind {
            return Some((kind, self.own));
        }
        let found = self.api_key_security_scheme.map(|it| (Kind::ApiKey, it));
        found
            .or(self.http_auth_security_scheme.map(|it| (Kind::Http, it)))
            .or(self.oauth2_security_scheme.map(|it| (Kind::Oauth2, it)))
            .or(self.open_id_connect_security_scheme.map(|it| (Kind::OpenIdConnect, it)))
            .or(self.mtls_security_scheme.map(|it| (Kind::MutualTls, it)))
    }
}

impl TryFrom<SchemeMembers> for SecurityScheme {
    type Error = &'static str;

    fn try_from(members: SchemeMembers) -> Result<Self, Self::Error> {
        let (kind, members) = members.into_kind().ok_or("a security scheme needs its type")?;
        let description = members.description;
        Ok(match kind {
            Kind::ApiKey => Self::ApiKey {
                description,
                location: members.location.ok_or("the scheme of an API key needs its location")?,
                name: members.name.ok_or("the scheme of an API key needs its `name`")?,
            },
            Kind::Http => Self::HttpAuth {
                description,
                scheme: members.scheme.ok_or("the scheme of HTTP needs its `scheme`")?,
                bearer_format: members.bearer_format,
            },
            Kind::Oauth2 => Self::OAuth2 {
                description,
                flows: members.flows.unwrap_or_default(),
                metadata_url: members.oauth2_metadata_url,
            },
            Kind::OpenIdConnect => Self::OpenIdConnect {
                description,
                url: members
                    .open_id_connect_url
                    .ok_or("the scheme of OpenID Connect needs its `openIdConnectUrl`")?,
            },
            Kind::MutualTls => Self::MutualTls { description },
        })
    }
}
