//! The card of version 1.0.

use std::collections::BTreeMap;

use oxikit_wire::a2a::{self, A2aError, Version};

use super::security::{SecurityRequirement, SecurityScheme};
use super::{AgentCapabilities, AgentCardSignature, AgentProvider, AgentSkill};
use crate::text::{optional, or_empty};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AgentCard {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(message, repeated, tag = "3")]
    supported_interfaces: Vec<AgentInterface>,
    #[prost(message, optional, tag = "4")]
    provider: Option<AgentProvider>,
    #[prost(string, tag = "5")]
    version: String,
    #[prost(string, optional, tag = "6")]
    documentation_url: Option<String>,
    #[prost(message, optional, tag = "7")]
    capabilities: Option<AgentCapabilities>,
    #[prost(btree_map = "string, message", tag = "8")]
    security_schemes: BTreeMap<String, SecurityScheme>,
    #[prost(message, repeated, tag = "9")]
    security_requirements: Vec<SecurityRequirement>,
    #[prost(string, repeated, tag = "10")]
    default_input_modes: Vec<String>,
    #[prost(string, repeated, tag = "11")]
    default_output_modes: Vec<String>,
    #[prost(message, repeated, tag = "12")]
    skills: Vec<AgentSkill>,
    #[prost(message, repeated, tag = "13")]
    signatures: Vec<AgentCardSignature>,
    #[prost(string, optional, tag = "14")]
    icon_url: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AgentInterface {
    #[prost(string, tag = "1")]
    url: String,
    #[prost(string, tag = "2")]
    protocol_binding: String,
    #[prost(string, tag = "3")]
    tenant: String,
    #[prost(string, tag = "4")]
    protocol_version: String,
}

impl From<&a2a::AgentInterface> for AgentInterface {
    fn from(interface: &a2a::AgentInterface) -> Self {
        Self {
            url: interface.url.clone(),
            protocol_binding: interface.protocol_binding.clone(),
            tenant: or_empty(interface.tenant.as_ref()),
            protocol_version: interface.protocol_version.clone(),
        }
    }
}

impl From<AgentInterface> for a2a::AgentInterface {
    fn from(interface: AgentInterface) -> Self {
        Self {
            url: interface.url,
            protocol_binding: interface.protocol_binding,
            tenant: optional(interface.tenant),
            protocol_version: interface.protocol_version,
        }
    }
}

impl From<&a2a::AgentCard> for AgentCard {
    fn from(card: &a2a::AgentCard) -> Self {
        Self {
            name: card.name.clone(),
            description: card.description.clone(),
            supported_interfaces: card.supported_interfaces.iter().map(Into::into).collect(),
            provider: card.provider.as_ref().map(Into::into),
            version: card.version.clone(),
            documentation_url: card.documentation_url.clone(),
            capabilities: Some((&card.capabilities).into()),
            security_schemes: SecurityScheme::all(&card.security_schemes, Version::V1_0),
            security_requirements: card.security_requirements.iter().map(Into::into).collect(),
            default_input_modes: card.default_input_modes.clone(),
            default_output_modes: card.default_output_modes.clone(),
            skills: card.skills.iter().map(Into::into).collect(),
            signatures: card.signatures.iter().map(Into::into).collect(),
            icon_url: card.icon_url.clone(),
        }
    }
}

impl TryFrom<AgentCard> for a2a::AgentCard {
    type Error = A2aError;

    fn try_from(card: AgentCard) -> Result<Self, A2aError> {
        let schemes = card.security_schemes.into_iter();
        let schemes = schemes.map(|(name, scheme)| Ok((name, scheme.try_into()?)));
        let signatures = card.signatures.into_iter().map(TryInto::try_into);
        Ok(Self {
            name: card.name,
            description: card.description,
            supported_interfaces: card.supported_interfaces.into_iter().map(Into::into).collect(),
            provider: card.provider.map(Into::into),
            version: card.version,
            documentation_url: card.documentation_url,
            icon_url: card.icon_url,
            capabilities: card.capabilities.unwrap_or_default().try_into()?,
            security_schemes: schemes.collect::<Result<_, A2aError>>()?,
            security_requirements: card.security_requirements.into_iter().map(Into::into).collect(),
            default_input_modes: card.default_input_modes,
            default_output_modes: card.default_output_modes,
            skills: card.skills.into_iter().map(Into::into).collect(),
            signatures: signatures.collect::<Result<_, A2aError>>()?,
        })
    }
}
