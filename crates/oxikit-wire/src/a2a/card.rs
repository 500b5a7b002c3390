//! Agent cards: what an agent can do, and where and how it is called.

mod read;
mod signed;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Version;
use super::proto::empty_is_none;
use super::security::{SecurityRequirement, SecurityScheme};
use crate::JsonObject;
use crate::absent::null_is_default;

pub use signed::signed_forms;
pub use write::CardDocument;
pub(super) use write::CardForm;

/// The version in cards of 0.3.
const VERSION_0_3: &str = "0.3.0";

/// The path of a card below the address of its agent.
pub const CARD_PATH: &str = "/.well-known/agent-card.json";

/// The description of an agent.
///
/// It is read from a card of either version. It is written in the form of version 1.0; use
/// [`CardDocument`](super::CardDocument) to write one document for clients of both versions, and
/// [`v0_3::Out`](super::v0_3::Out) for version 0.3 alone.
///
/// ```
/// use oxikit_wire::a2a::{AgentCard, Version, binding};
///
/// let card: AgentCard = serde_json::from_str(
///     r#"{"protocolVersion":"0.3.0","name":"Coder","description":"Writes code","version":"1.0.0",
///     "url":"https://example.com/a2a","capabilities":{"streaming":true},"skills":[],
///     "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}"#,
/// ).unwrap();
/// let interface = card.interface(binding::JSON_RPC, Version::V0_3).unwrap();
/// assert_eq!(interface.url, "https://example.com/a2a");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "read::CardMembers")]
pub struct AgentCard {
    /// The name of the agent.
    pub name: String,
    /// The purpose of the agent.
    pub description: String,
    /// Where the agent is called, in order of preference. Version 0.3 is listed here too.
    pub supported_interfaces: Vec<AgentInterface>,
    /// The organization behind the agent.
    pub provider: Option<AgentProvider>,
    /// The version of the agent.
    pub version: String,
    /// An address of documentation.
    pub documentation_url: Option<String>,
    /// An address of an icon.
    pub icon_url: Option<String>,
    /// The optional parts of the protocol that the agent has.
    pub capabilities: AgentCapabilities,
    /// The ways to authenticate, by name.
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// The credentials that a caller must present: one of these.
    pub security_requirements: Vec<SecurityRequirement>,
    /// Media types that the agent reads.
    pub default_input_modes: Vec<String>,
    /// Media types that the agent writes.
    pub default_output_modes: Vec<String>,
    /// The abilities of the agent.
    pub skills: Vec<AgentSkill>,
    /// Signatures of the card.
    pub signatures: Vec<AgentCardSignature>,
}

impl AgentCard {
    /// The preferred interface with this binding and version.
    pub fn interface(&self, binding: &str, version: Version) -> Option<&AgentInterface> {
        self.supported_interfaces
            .iter()
            .find(|it| it.protocol_binding == binding && it.version() == Some(version))
    }
}

/// Names of the bindings.
pub mod binding {
    /// JSON-RPC 2.0 over HTTP.
    pub const JSON_RPC: &str = "JSONRPC";
    /// HTTP with a path for each operation.
    pub const HTTP_JSON: &str = "HTTP+JSON";
    /// gRPC.
    pub const GRPC: &str = "GRPC";
}

/// An address of an agent, and what is spoken there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// The address; `host:port` for gRPC.
    pub url: String,
    /// One of [`binding`], or another.
    #[serde(alias = "protocol_binding")]
    pub protocol_binding: String,
    /// The tenant that clients name in requests.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The version of the protocol, such as `1.0`.
    #[serde(default, alias = "protocol_version", deserialize_with = "null_is_default")]
    pub protocol_version: String,
}

impl AgentInterface {
    /// An interface without a tenant.
    pub fn new(url: impl Into<String>, binding: impl Into<String>, version: Version) -> Self {
        Self {
            url: url.into(),
            protocol_binding: binding.into(),
            tenant: None,
            protocol_version: version.name().to_owned(),
        }
    }

    /// The version of the protocol, if this crate has it.
    pub fn version(&self) -> Option<Version> {
        Version::from_header(Some(&self.protocol_version)).ok().flatten()
    }
}

/// The organization behind an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentProvider {
    /// Its name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub organization: String,
    /// Its address.
    #[serde(default, deserialize_with = "null_is_default")]
    pub url: String,
}

/// The optional parts of the protocol that an agent has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// Streams of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Webhooks.
    #[serde(default, alias = "push_notifications", skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    /// History of the states of a task. Only in version 0.3.
    #[serde(default, alias = "state_transition_history", skip_serializing_if = "Option::is_none")]
    pub state_transition_history: Option<bool>,
    /// Another card for authenticated callers.
    #[serde(default, alias = "extended_agent_card", skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
    /// Extensions of the protocol.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
}

/// An extension of the protocol.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentExtension {
    /// Identifies the extension.
    pub uri: String,
    /// How the agent uses it.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a client must use it.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub required: bool,
    /// Settings of the extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<JsonObject>,
}

/// Something that an agent can do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    /// Identifies the skill within the card.
    pub id: String,
    /// A name for people.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// A description of it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub description: String,
    /// Keywords.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tags: Vec<String>,
    /// Messages that use it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub examples: Vec<String>,
    /// Media types that it reads, if they differ from those of the agent.
    #[serde(default, alias = "input_modes", deserialize_with = "null_is_default")]
    pub input_modes: Vec<String>,
    /// Media types that it writes, if they differ from those of the agent.
    #[serde(default, alias = "output_modes", deserialize_with = "null_is_default")]
    pub output_modes: Vec<String>,
    /// The credentials that a caller needs to use it: one of these. `security` in version 0.3.
    #[serde(
        default,
        alias = "security_requirements",
        alias = "security",
        deserialize_with = "null_is_default"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
}

impl AgentSkill {
    /// A skill. Its id is unique within the card.
    ///
    /// ```
    /// use oxikit_wire::a2a::AgentSkill;
    ///
    /// let skill = AgentSkill::new("sort", "Sorting", "Sorts lists.")
    ///     .with_tags(["lists"])
    ///     .with_examples(["Sort 3, 1, 2"]);
    /// assert_eq!(skill.tags, ["lists"]);
    /// ```
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        let (id, name, description) = (id.into(), name.into(), description.into());
        Self { id, name, description, ..Self::default() }
    }

    /// The same skill with these tags, by which clients find it.
    #[must_use]
    pub fn with_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// The same skill with examples of messages for it.
    #[must_use]
    pub fn with_examples<T: Into<String>>(mut self, examples: impl IntoIterator<Item = T>) -> Self {
        self.examples = examples.into_iter().map(Into::into).collect();
        self
    }
}

/// A signature of a card: a JWS in its JSON form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentCardSignature {
    /// The protected header, a JSON object in base64url.
    pub protected: String,
    /// The signature in base64url.
    pub signature: String,
    /// The header that is not protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<JsonObject>,
}
