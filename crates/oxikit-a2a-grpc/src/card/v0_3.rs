//! The card of version 0.3.

use std::collections::BTreeMap;

use oxikit_wire::a2a::{self, A2aError, Version, binding};

use super::security::{SecurityRequirement, SecurityScheme};
use super::{AgentCapabilities, AgentCardSignature, AgentProvider, AgentSkill};
use crate::text::{optional, or_empty};

/// The version in cards.
const PROTOCOL_VERSION: &str = "0.3.0";

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AgentCard {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    url: String,
    #[prost(message, optional, tag = "4")]
    provider: Option<AgentProvider>,
    #[prost(string, tag = "5")]
    version: String,
    #[prost(string, tag = "6")]
    documentation_url: String,
    #[prost(message, optional, tag = "7")]
    capabilities: Option<AgentCapabilities>,
    #[prost(btree_map = "string, message", tag = "8")]
    security_schemes: BTreeMap<String, SecurityScheme>,
    #[prost(message, repeated, tag = "9")]
    security: Vec<SecurityRequirement>,
    #[prost(string, repeated, tag = "10")]
    default_input_modes: Vec<String>,
    #[prost(string, repeated, tag = "11")]
    default_output_modes: Vec<String>,
    #[prost(message, repeated, tag = "12")]
    skills: Vec<AgentSkill>,
    #[prost(bool, tag = "13")]
    supports_authenticated_extended_card: bool,
    #[prost(string, tag = "14")]
    preferred_transport: String,
    #[prost(message, repeated, tag = "15")]
    additional_interfaces: Vec<AgentInterface>,
    #[prost(string, tag = "16")]
    protocol_version: String,
    #[prost(message, repeated, tag = "17")]
    signatures: Vec<AgentCardSignature>,
    #[prost(string, tag = "18")]
    icon_url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AgentInterface {
    #[prost(string, tag = "1")]
    url: String,
    #[prost(string, tag = "2")]
    transport: String,
}

impl From<&a2a::AgentInterface> for AgentInterface {
    fn from(interface: &a2a::AgentInterface) -> Self {
        Self { url: interface.url.clone(), transport: interface.protocol_binding.clone() }
    }
}

impl From<&a2a::AgentCard> for AgentCard {
    fn from(card: &a2a::AgentCard) -> Self {
        let is_v0_3 = |it: &&a2a::AgentInterface| it.version() == Some(Version::V0_3);
        let interfaces = card.supported_interfaces.iter().filter(is_v0_3);
        let interfaces: Vec<AgentInterface> = interfaces.map(Into::into).collect();
        let main = interfaces.iter().find(|it| it.transport == binding::JSON_RPC);
        let main = main.or(interfaces.first()).cloned().unwrap_or_default();
        let mut capabilities = AgentCapabilities::from(&card.capabilities);
        let has_extended_card = capabilities.extended_agent_card.take().unwrap_or_default();
        Self {
            name: card.name.clone(),
            description: card.description.clone(),
            url: main.url,
            provider: card.provider.as_ref().map(Into::into),
            version: card.version.clone(),
            documentation_url: or_empty(card.documentation_url.as_ref()),
            capabilities: Some(capabilities),
            security_schemes: SecurityScheme::all(&card.security_schemes, Version::V0_3),
            security: card.security_requirements.iter().map(Into::into).collect(),
            default_input_modes: card.default_input_modes.clone(),
            default_output_modes: card.default_output_modes.clone(),
            skills: card.skills.iter().map(Into::into).collect(),
            supports_authenticated_extended_card: has_extended_card,
            preferred_transport: main.transport,
            additional_interfaces: interfaces,
            protocol_version: PROTOCOL_VERSION.to_owned(),
            signatures: card.signatures.iter().map(Into::into).collect(),
            icon_url: or_empty(card.icon_url.as_ref()),
        }
    }
}

/// The main interface, and the others.
fn interfaces(card: &mut AgentCard) -> Vec<a2a::AgentInterface> {
    let version = optional(std::mem::take(&mut card.protocol_version));
    let version = version.unwrap_or_else(|| PROTOCOL_VERSION.to_owned());
    let transport = optional(std::mem::take(&mut card.preferred_transport));
    let main = optional(std::mem::take(&mut card.url)).map(|url| AgentInterface {
        url,
        transport: transport.unwrap_or_else(|| binding::JSON_RPC.to_owned()),
    });
    let mut found: Vec<a2a::AgentInterface> = Vec::new();
    for it in main.into_iter().chain(std::mem::take(&mut card.additional_interfaces)) {
        let interface = a2a::AgentInterface {
            url: it.url,
            protocol_binding: it.transport,
            tenant: None,
            protocol_version: version.clone(),
        };
        if !found.contains(&interface) {
            found.push(interface);
        }
    }
    found
}

impl TryFrom<AgentCard> for a2a::AgentCard {
    type Error = A2aError;

    fn try_from(mut card: AgentCard) -> Result<Self, A2aError> {
        let supported_interfaces = interfaces(&mut card);
        let mut capabilities: a2a::AgentCapabilities =
            card.capabilities.unwrap_or_default().try_into()?;
        capabilities.extended_agent_card =
            card.supports_authenticated_extended_card.then_some(true);
        let schemes = card.security_schemes.into_iter();
        let schemes = schemes.map(|(name, scheme)| Ok((name, scheme.try_into()?)));
        let signatures = card.signatures.into_iter().map(TryInto::try_into);
        Ok(Self {
            name: card.name,
            description: card.description,
            supported_interfaces,
            provider: card.provider.map(Into::into),
            version: card.version,
            documentation_url: optional(card.documentation_url),
            icon_url: optional(card.icon_url),
            capabilities,
            security_schemes: schemes.collect::<Result<_, A2aError>>()?,
            security_requirements: card.security.into_iter().map(Into::into).collect(),
            default_input_modes: card.default_input_modes,
            default_output_modes: card.default_output_modes,
            skills: card.skills.into_iter().map(Into::into).collect(),
            signatures: signatures.collect::<Result<_, A2aError>>()?,
        })
    }
}
