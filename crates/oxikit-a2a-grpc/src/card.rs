//! Cards of agents. The messages in this module have the same fields in both versions.

mod flow;
mod security;
pub(crate) mod v0_3;
pub(crate) mod v1_0;

use oxikit_wire::a2a::{self, A2aError};

use crate::text::{optional, or_empty};
use crate::value::{Struct, object};
use security::SecurityRequirement;

#[derive(Clone, PartialEq, prost::Message)]
struct AgentProvider {
    #[prost(string, tag = "1")]
    url: String,
    #[prost(string, tag = "2")]
    organization: String,
}

/// The last field is only in version 1.0. Fields that are not optional in 0.3 are read the same.
#[derive(Clone, PartialEq, prost::Message)]
struct AgentCapabilities {
    #[prost(bool, optional, tag = "1")]
    streaming: Option<bool>,
    #[prost(bool, optional, tag = "2")]
    push_notifications: Option<bool>,
    #[prost(message, repeated, tag = "3")]
    extensions: Vec<AgentExtension>,
    #[prost(bool, optional, tag = "4")]
    extended_agent_card: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AgentExtension {
    #[prost(string, tag = "1")]
    uri: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(bool, tag = "3")]
    required: bool,
    #[prost(message, optional, tag = "4")]
    params: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AgentSkill {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, repeated, tag = "4")]
    tags: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    examples: Vec<String>,
    #[prost(string, repeated, tag = "6")]
    input_modes: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    output_modes: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    security_requirements: Vec<SecurityRequirement>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AgentCardSignature {
    #[prost(string, tag = "1")]
    protected: String,
    #[prost(string, tag = "2")]
    signature: String,
    #[prost(message, optional, tag = "3")]
    header: Option<Struct>,
}

impl From<&a2a::AgentProvider> for AgentProvider {
    fn from(provider: &a2a::AgentProvider) -> Self {
        Self { url: provider.url.clone(), organization: provider.organization.clone() }
    }
}

impl From<AgentProvider> for a2a::AgentProvider {
    fn from(provider: AgentProvider) -> Self {
        Self { url: provider.url, organization: provider.organization }
    }
}

impl From<&a2a::AgentCapabilities> for AgentCapabilities {
    fn from(capabilities: &a2a::AgentCapabilities) -> Self {
        let extension = |it: &a2a::AgentExtension| AgentExtension {
            uri: it.uri.clone(),
            description: or_empty(it.description.as_ref()),
            required: it.required,
            params: it.params.as_ref().map(Into::into),
        };
        Self {
            streaming: capabilities.streaming,
            push_notifications: capabilities.push_notifications,
            extensions: capabilities.extensions.iter().map(extension).collect(),
            extended_agent_card: capabilities.extended_agent_card,
        }
    }
}

impl TryFrom<AgentCapabilities> for a2a::AgentCapabilities {
    type Error = A2aError;

    fn try_from(capabilities: AgentCapabilities) -> Result<Self, A2aError> {
        let extension = |it: AgentExtension| {
            Ok(a2a::AgentExtension {
                uri: it.uri,
                description: optional(it.description),
                required: it.required,
                params: object(it.params)?,
            })
        };
        let extensions = capabilities.extensions.into_iter().map(extension);
        Ok(Self {
            streaming: capabilities.streaming,
            push_notifications: capabilities.push_notifications,
            state_transition_history: None,
            extended_agent_card: capabilities.extended_agent_card,
            extensions: extensions.collect::<Result<_, A2aError>>()?,
        })
    }
}

impl From<&a2a::AgentSkill> for AgentSkill {
    fn from(skill: &a2a::AgentSkill) -> Self {
        Self {
            id: skill.id.clone(),
            name: skill.name.clone(),
            description: skill.description.clone(),
            tags: skill.tags.clone(),
            examples: skill.examples.clone(),
            input_modes: skill.input_modes.clone(),
            output_modes: skill.output_modes.clone(),
            security_requirements: skill.security_requirements.iter().map(Into::into).collect(),
        }
    }
}

impl From<AgentSkill> for a2a::AgentSkill {
    fn from(skill: AgentSkill) -> Self {
        let requirements = skill.security_requirements.into_iter();
        Self {
            id: skill.id,
            name: skill.name,
            description: skill.description,
            tags: skill.tags,
            examples: skill.examples,
            input_modes: skill.input_modes,
            output_modes: skill.output_modes,
            security_requirements: requirements.map(Into::into).collect(),
        }
    }
}

impl From<&a2a::AgentCardSignature> for AgentCardSignature {
    fn from(signature: &a2a::AgentCardSignature) -> Self {
        Self {
            protected: signature.protected.clone(),
            signature: signature.signature.clone(),
            header: signature.header.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<AgentCardSignature> for a2a::AgentCardSignature {
    type Error = A2aError;

    fn try_from(signature: AgentCardSignature) -> Result<Self, A2aError> {
        let AgentCardSignature { protected, signature, header } = signature;
        Ok(Self { protected, signature, header: object(header)? })
    }
}
