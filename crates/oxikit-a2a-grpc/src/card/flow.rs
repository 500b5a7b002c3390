//! The flows of OAuth 2.0.

use std::collections::BTreeMap;

use oxikit_wire::a2a::{self, Version};

use crate::text::{optional, or_empty};

/// One flow: a message cannot have several.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OAuthFlows {
    #[prost(oneof = "Flow", tags = "1, 2, 3, 4, 5")]
    flow: Option<Flow>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Flow {
    #[prost(message, tag = "1")]
    AuthorizationCode(AuthorizationCode),
    #[prost(message, tag = "2")]
    ClientCredentials(TokenFlow),
    #[prost(message, tag = "3")]
    Implicit(Implicit),
    #[prost(message, tag = "4")]
    Password(TokenFlow),
    /// Only in version 1.0.
    #[prost(message, tag = "5")]
    DeviceCode(DeviceCode),
}

#[derive(Clone, PartialEq, prost::Message)]
struct AuthorizationCode {
    #[prost(string, tag = "1")]
    authorization_url: String,
    #[prost(string, tag = "2")]
    token_url: String,
    #[prost(string, tag = "3")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "4")]
    scopes: BTreeMap<String, String>,
    /// Only in version 1.0.
    #[prost(bool, tag = "5")]
    pkce_required: bool,
}

/// The flows of client credentials and of passwords, which have the same fields.
#[derive(Clone, PartialEq, prost::Message)]
struct TokenFlow {
    #[prost(string, tag = "1")]
    token_url: String,
    #[prost(string, tag = "2")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "3")]
    scopes: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Implicit {
    #[prost(string, tag = "1")]
    authorization_url: String,
    #[prost(string, tag = "2")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "3")]
    scopes: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DeviceCode {
    #[prost(string, tag = "1")]
    device_authorization_url: String,
    #[prost(string, tag = "2")]
    token_url: String,
    #[prost(string, tag = "3")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "4")]
    scopes: BTreeMap<String, String>,
}

impl OAuthFlows {
    /// The first of the flows that the version has.
    pub(super) fn new(flows: &a2a::OAuthFlows, version: Version) -> Self {
        let is_v1_0 = version == Version::V1_0;
        let code = flows.authorization_code.as_ref().map(|it| {
            let mut code = AuthorizationCode::from(it);
            code.pkce_required &= is_v1_0;
            Flow::AuthorizationCode(code)
        });
        let client = || Some(Flow::ClientCredentials(flows.client_credentials.as_ref()?.into()));
        let device = || {
            let device = flows.device_code.as_ref().filter(|_| is_v1_0)?;
            Some(Flow::DeviceCode(device.into()))
        };
        let implicit = || Some(Flow::Implicit(flows.implicit.as_ref()?.into()));
        let password = || Some(Flow::Password(flows.password.as_ref()?.into()));
        Self { flow: code.or_else(client).or_else(device).or_else(implicit).or_else(password) }
    }
}

impl From<OAuthFlows> for a2a::OAuthFlows {
    fn from(flows: OAuthFlows) -> Self {
        let mut read = Self::default();
        match flows.flow {
            Some(Flow::AuthorizationCode(flow)) => read.authorization_code = Some(flow.into()),
            Some(Flow::ClientCredentials(flow)) => read.client_credentials = Some(flow.into()),
            Some(Flow::Implicit(flow)) => read.implicit = Some(flow.into()),
            Some(Flow::Password(flow)) => read.password = Some(flow.into()),
            Some(Flow::DeviceCode(flow)) => read.device_code = Some(flow.into()),
            None => {}
        }
        read
    }
}

impl From<&a2a::OAuthFlow> for AuthorizationCode {
    fn from(flow: &a2a::OAuthFlow) -> Self {
        Self {
            authorization_url: or_empty(flow.authorization_url.as_ref()),
            token_url: or_empty(flow.token_url.as_ref()),
            refresh_url: or_empty(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
            pkce_required: flow.pkce_required.unwrap_or_default(),
        }
    }
}

impl From<AuthorizationCode> for a2a::OAuthFlow {
    fn from(flow: AuthorizationCode) -> Self {
        Self {
            authorization_url: optional(flow.authorization_url),
            token_url: optional(flow.token_url),
            refresh_url: optional(flow.refresh_url),
            scopes: flow.scopes,
            pkce_required: flow.pkce_required.then_some(true),
            ..Self::default()
        }
    }
}

impl From<&a2a::OAuthFlow> for TokenFlow {
    fn from(flow: &a2a::OAuthFlow) -> Self {
        Self {
            token_url: or_empty(flow.token_url.as_ref()),
            refresh_url: or_empty(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
        }
    }
}

impl From<TokenFlow> for a2a::OAuthFlow {
    fn from(flow: TokenFlow) -> Self {
        Self {
            token_url: optional(flow.token_url),
            refresh_url: optional(flow.refresh_url),
            scopes: flow.scopes,
            ..Self::default()
        }
    }
}

impl From<&a2a::OAuthFlow> for Implicit {
    fn from(flow: &a2a::OAuthFlow) -> Self {
        Self {
            authorization_url: or_empty(flow.authorization_url.as_ref()),
            refresh_url: or_empty(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
        }
    }
}

impl From<Implicit> for a2a::OAuthFlow {
    fn from(flow: Implicit) -> Self {
        Self {
            authorization_url: optional(flow.authorization_url),
            refresh_url: optional(flow.refresh_url),
            scopes: flow.scopes,
            ..Self::default()
        }
    }
}

impl From<&a2a::OAuthFlow> for DeviceCode {
    fn from(flow: &a2a::OAuthFlow) -> Self {
        Self {
            device_authorization_url: or_empty(flow.device_authorization_url.as_ref()),
            token_url: or_empty(flow.token_url.as_ref()),
            refresh_url: or_empty(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
        }
    }
}

impl From<DeviceCode> for a2a::OAuthFlow {
    fn from(flow: DeviceCode) -> Self {
        Self {
            device_authorization_url: optional(flow.device_authorization_url),
            token_url: optional(flow.token_url),
            refresh_url: optional(flow.refresh_url),
            scopes: flow.scopes,
            ..Self::default()
        }
    }
}
