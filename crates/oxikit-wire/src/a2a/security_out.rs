//! Writing of security schemes and requirements in the form of a version.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::members::Members;
use super::security::{OAuthFlow, OAuthFlows, SecurityRequirement, SecurityScheme};

/// The forms that schemes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecurityForm {
    /// A scheme names its `type`.
    V0_3,
    /// That of the proto file of 0.3, which is the one of 1.0 without its additions.
    V0_3Proto,
    /// The name of the only member is the type.
    V1_0,
}

/// The schemes of a card.
pub(super) struct SchemeMap<'a>(
    pub(super) &'a BTreeMap<String, SecurityScheme>,
    pub(super) SecurityForm,
);

impl Serialize for SchemeMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(schemes, form) = self;
        serializer.collect_map(schemes.iter().map(|(name, scheme)| (name, Scheme(scheme, *form))))
    }
}

impl Serialize for SecurityScheme {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Scheme(self, SecurityForm::V1_0).serialize(serializer)
    }
}

pub(super) struct Scheme<'a>(pub(super) &'a SecurityScheme, pub(super) SecurityForm);

impl Serialize for Scheme<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(scheme, form) = *self;
        let (v0_3, v1_0) = match scheme {
            SecurityScheme::ApiKey { .. } => ("apiKey", "apiKeySecurityScheme"),
            SecurityScheme::HttpAuth { .. } => ("http", "httpAuthSecurityScheme"),
            SecurityScheme::OAuth2 { .. } => ("oauth2", "oauth2SecurityScheme"),
            SecurityScheme::OpenIdConnect { .. } => {
                ("openIdConnect", "openIdConnectSecurityScheme")
            }
            SecurityScheme::MutualTls { .. } => ("mutualTLS", "mtlsSecurityScheme"),
        };
        let mut members = Members(serializer.serialize_map(None)?);
        if form == SecurityForm::V0_3 {
            members.put("type", v0_3)?;
            write_scheme(scheme, form, &mut members)?;
        } else {
            members.put(v1_0, &Inner(scheme, form))?;
        }
        members.end()
    }
}

struct Inner<'a>(&'a SecurityScheme, SecurityForm);

impl Serialize for Inner<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Members(serializer.serialize_map(None)?);
        write_scheme(self.0, self.1, &mut members)?;
        members.end()
    }
}

fn write_scheme<M: SerializeMap>(
    scheme: &SecurityScheme,
    form: SecurityForm,
    members: &mut Members<M>,
) -> Result<(), M::Error> {
    match scheme {
        SecurityScheme::ApiKey { description, location, name } => {
            members.put_some("description", description.as_ref())?;
            let place = if form == SecurityForm::V0_3 { "in" } else { "location" };
            members.put(place, location)?;
            members.put("name", name)
        }
        SecurityScheme::HttpAuth { description, scheme, bearer_format } => {
            members.put_some("description", description.as_ref())?;
            members.put("scheme", scheme)?;
            members.put_some("bearerFormat", bearer_format.as_ref())
        }
        SecurityScheme::OAuth2 { description, flows, metadata_url } => {
            members.put_some("description", description.as_ref())?;
            members.put("flows", &Flows(flows, form))?;
            members.put_some("oauth2MetadataUrl", metadata_url.as_ref())
        }
        SecurityScheme::OpenIdConnect { description, url } => {
            members.put_some("description", description.as_ref())?;
            members.put("openIdConnectUrl", url)
        }
        SecurityScheme::MutualTls { description } => {
            members.put_some("description", description.as_ref())
        }
    }
}

impl Serialize for OAuthFlows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Flows(self, SecurityForm::V1_0).serialize(serializer)
    }
}

struct Flows<'a>(&'a OAuthFlows, SecurityForm);

impl Serialize for Flows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(flows, form) = *self;
        let is_v1_0 = form == SecurityForm::V1_0;
        let all = [
            ("authorizationCode", flows.authorization_code.as_ref()),
            ("clientCredentials", flows.client_credentials.as_ref()),
            ("deviceCode", flows.device_code.as_ref().filter(|_| is_v1_0)),
            ("implicit", flows.implicit.as_ref()),
            ("password", flows.password.as_ref()),
        ];
        // The flows are a `oneof` in the proto files: readers refuse a second one.
        let limit = if form == SecurityForm::V0_3 { all.len() } else { 1 };
        let written = all.into_iter().filter_map(|(name, flow)| Some((name, flow?))).take(limit);
        serializer.collect_map(written.map(|(name, flow)| (name, flow_for(flow, is_v1_0))))
    }
}

/// The flow without what version 0.3 does not have.
fn flow_for(flow: &OAuthFlow, is_v1_0: bool) -> OAuthFlow {
    let pkce_required = flow.pkce_required.filter(|_| is_v1_0);
    OAuthFlow { pkce_required, ..flow.clone() }
}

/// A requirement in the form of a version.
pub(super) struct Requirement<'a>(pub(super) &'a SecurityRequirement, pub(super) SecurityForm);

impl Serialize for Requirement<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(SecurityRequirement { schemes }, form) = self;
        if *form == SecurityForm::V0_3 {
            return schemes.serialize(serializer);
        }
        let mut members = Members(serializer.serialize_map(Some(1))?);
        members.put("schemes", &ScopeLists(schemes))?;
        members.end()
    }
}

struct ScopeLists<'a>(&'a BTreeMap<String, Vec<String>>);

impl Serialize for ScopeLists<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ScopeList<'a> {
            list: &'a [String],
        }
        serializer.collect_map(self.0.iter().map(|(name, list)| (name, ScopeList { list })))
    }
}

impl Serialize for SecurityRequirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Requirement(self, SecurityForm::V1_0).serialize(serializer)
    }
}
