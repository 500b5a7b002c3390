//! Reading of cards of either version.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentInterface, AgentProvider, AgentSkill,
    VERSION_0_3, binding,
};
use crate::a2a::proto::empty_is_none;
use crate::a2a::security::{SecurityRequirement, SecurityScheme};
use crate::absent::null_is_default;

/// The members of both versions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CardMembers {
    name: String,
    #[serde(default, deserialize_with = "null_is_default")]
    description: String,
    #[serde(default, alias = "supported_interfaces", deserialize_with = "null_is_default")]
    supported_interfaces: Vec<AgentInterface>,
    provider: Option<AgentProvider>,
    #[serde(default, deserialize_with = "null_is_default")]
    version: String,
    #[serde(default, alias = "documentation_url", deserialize_with = "empty_is_none")]
    documentation_url: Option<String>,
    #[serde(default, alias = "icon_url", deserialize_with = "empty_is_none")]
    icon_url: Option<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    capabilities: AgentCapabilities,
    #[serde(default, alias = "security_schemes", deserialize_with = "known_schemes")]
    security_schemes: BTreeMap<String, SecurityScheme>,
    #[serde(default, alias = "security_requirements", deserialize_with = "null_is_default")]
    security_requirements: Vec<SecurityRequirement>,
    #[serde(default, alias = "default_input_modes", deserialize_with = "null_is_default")]
    default_input_modes: Vec<String>,
    #[serde(default, alias = "default_output_modes", deserialize_with = "null_is_default")]
    default_output_modes: Vec<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    skills: Vec<AgentSkill>,
    #[serde(default, deserialize_with = "null_is_default")]
    signatures: Vec<AgentCardSignature>,
    // Only in version 0.3.
    #[serde(default, alias = "protocol_version", deserialize_with = "empty_is_none")]
    protocol_version: Option<String>,
    #[serde(default, deserialize_with = "empty_is_none")]
    url: Option<String>,
    #[serde(default, alias = "preferred_transport", deserialize_with = "empty_is_none")]
    preferred_transport: Option<String>,
    #[serde(default, alias = "additional_interfaces", deserialize_with = "null_is_default")]
    additional_interfaces: Vec<TransportMembers>,
    #[serde(default, deserialize_with = "null_is_default")]
    security: Vec<SecurityRequirement>,
    #[serde(alias = "supports_authenticated_extended_card")]
    supports_authenticated_extended_card: Option<bool>,
}

/// Reads the schemes that can be read. One of another kind must not hide the rest of the card, and
/// the server of @a2a-js/sdk 1.3 writes its internal form of them.
fn known_schemes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, SecurityScheme>, D::Error> {
    let all: Option<BTreeMap<String, Value>> = Option::deserialize(deserializer)?;
    let known = |(name, scheme)| Some((name, serde_json::from_value(scheme).ok()?));
    Ok(all.into_iter().flatten().filter_map(known).collect())
}

/// An interface of version 0.3.
#[derive(Deserialize)]
struct TransportMembers {
    url: String,
    transport: String,
}

impl CardMembers {
    /// The interfaces, of which version 0.3 has the preferred one at the top.
    fn take_interfaces(&mut self) -> Vec<AgentInterface> {
        if !self.supported_interfaces.is_empty() {
            return std::mem::take(&mut self.supported_interfaces);
        }
        let main = self.url.take().map(|url| {
            let transport = self.preferred_transport.take();
            (url, transport.unwrap_or_else(|| binding::JSON_RPC.to_owned()))
        });
        let others = std::mem::take(&mut self.additional_interfaces).into_iter();
        let mut found: Vec<(String, String)> = Vec::new();
        for interface in main.into_iter().chain(others.map(|it| (it.url, it.transport))) {
            if !found.contains(&interface) {
                found.push(interface);
            }
        }
        let version = self.protocol_version.as_deref().unwrap_or(VERSION_0_3);
        let interface = |(url, protocol_binding)| AgentInterface {
            url,
            protocol_binding,
            tenant: None,
            protocol_version: version.to_owned(),
        };
        found.into_iter().map(interface).collect()
    }
}

impl From<CardMembers> for AgentCard {
    fn from(mut members: CardMembers) -> Self {
        let supported_interfaces = members.take_interfaces();
        let mut capabilities = members.capabilities;
        capabilities.extended_agent_card =
            capabilities.extended_agent_card.or(members.supports_authenticated_extended_card);
        let security_requirements = if members.security_requirements.is_empty() {
            members.security
        } else {
            members.security_requirements
        };
        Self {
            name: members.name,
            description: members.description,
            supported_interfaces,
            provider: members.provider,
            version: members.version,
            documentation_url: members.documentation_url,
            icon_url: members.icon_url,
            capabilities,
            security_schemes: members.security_schemes,
            security_requirements,
            default_input_modes: members.default_input_modes,
            default_output_modes: members.default_output_modes,
            skills: members.skills,
            signatures: members.signatures,
        }
    }
}
