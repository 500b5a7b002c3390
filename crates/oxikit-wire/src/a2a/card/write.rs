//! Writing of cards: for one version, or one document for both.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill, VERSION_0_3, binding};
use crate::a2a::Version;
use crate::a2a::members::Members;
use crate::a2a::security::SecurityRequirement;
use crate::a2a::security_out::{Requirement, SchemeMap, SecurityForm};

/// Writes a card that clients of both versions read.
///
/// It has the members of both versions. Only `securitySchemes` has the same name and another form
/// in each; it is written for the version that the client asked for, so that a server sends
/// `Vary: A2A-Version`.
///
/// ```
/// use oxikit_wire::a2a::{AgentCard, AgentInterface, CardDocument, Version, binding};
///
/// let card = AgentCard {
///     name: "Coder".to_owned(),
///     supported_interfaces: [Version::V1_0, Version::V0_3]
///         .map(|version| AgentInterface::new("https://example.com/a2a", binding::JSON_RPC, version))
///         .to_vec(),
///     ..AgentCard::default()
/// };
/// let json = serde_json::to_value(CardDocument(&card, Version::V0_3)).unwrap();
/// assert_eq!(json["url"], "https://example.com/a2a");
/// assert_eq!(json["supportedInterfaces"][0]["protocolVersion"], "1.0");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct CardDocument<'a>(
    /// The card. It should list each binding at both versions.
    pub &'a AgentCard,
    /// The version that the client asked for; 0.3 if it named none.
    pub Version,
);

impl Serialize for CardDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(card, version) = *self;
        let security = match version {
            Version::V0_3 => SecurityForm::V0_3,
            Version::V1_0 => SecurityForm::V1_0,
        };
        let has_v0_3 = card.supported_interfaces.iter().any(is_v0_3);
        let form = CardForm { has_v0_3, has_v1_0: true, security };
        form.write(card, serializer)
    }
}

impl Serialize for AgentCard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = CardForm { has_v0_3: false, has_v1_0: true, security: SecurityForm::V1_0 };
        form.write(self, serializer)
    }
}

/// Which members are written.
pub(in crate::a2a) struct CardForm {
    pub(in crate::a2a) has_v0_3: bool,
    pub(in crate::a2a) has_v1_0: bool,
    pub(in crate::a2a) security: SecurityForm,
}

impl CardForm {
    pub(in crate::a2a) fn write<S: Serializer>(
        &self,
        card: &AgentCard,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("name", &card.name)?;
        members.put("description", &card.description)?;
        if self.has_v0_3 {
            write_v0_3_interfaces(card, &mut members)?;
        }
        if self.has_v1_0 {
            members.put("supportedInterfaces", &card.supported_interfaces)?;
        }
        members.put_some("provider", card.provider.as_ref())?;
        members.put("version", &card.version)?;
        members.put_some("documentationUrl", card.documentation_url.as_ref())?;
        members.put_some("iconUrl", card.icon_url.as_ref())?;
        members.put("capabilities", &self.capabilities(&card.capabilities))?;
        if !card.security_schemes.is_empty() {
            members.put("securitySchemes", &SchemeMap(&card.security_schemes, self.security))?;
        }
        self.write_requirements(&card.security_requirements, &mut members)?;
        members.put("defaultInputModes", &card.default_input_modes)?;
        members.put("defaultOutputModes", &card.default_output_modes)?;
        let skills: Vec<_> = card.skills.iter().map(|skill| Skill { skill, form: self }).collect();
        members.put("skills", &skills)?;
        if self.has_v0_3 {
            let has_extended_card = card.capabilities.extended_agent_card;
            members.put_some("supportsAuthenticatedExtendedCard", has_extended_card)?;
        }
        members.put_list("signatures", &card.signatures)?;
        members.end()
    }

    fn capabilities(&self, capabilities: &AgentCapabilities) -> AgentCapabilities {
        let mut capabilities = capabilities.clone();
        if !self.has_v1_0 {
            capabilities.extended_agent_card = None;
        }
        capabilities
    }

    fn write_requirements<M: SerializeMap>(
        &self,
        requirements: &[SecurityRequirement],
        members: &mut Members<M>,
    ) -> Result<(), M::Error> {
        let requirements: Vec<_> =
            requirements.iter().map(|it| Requirement(it, self.security)).collect();
        let name = match self.security {
            SecurityForm::V0_3 | SecurityForm::V0_3Proto => "security",
            SecurityForm::V1_0 => "securityRequirements",
        };
        members.put_list(name, &requirements)
    }
}

/// Writes the main address, and all addresses with their transport.
fn write_v0_3_interfaces<M: SerializeMap>(
    card: &AgentCard,
    members: &mut Members<M>,
) -> Result<(), M::Error> {
    #[derive(Serialize)]
    struct Interface<'a> {
        url: &'a str,
        transport: &'a str,
    }
    let all = &card.supported_interfaces;
    let mut interfaces: Vec<&AgentInterface> = all.iter().filter(|it| is_v0_3(it)).collect();
    if interfaces.is_empty() {
        interfaces = all.iter().collect();
    }
    let main = interfaces.iter().find(|it| it.protocol_binding == binding::JSON_RPC);
    let Some(main) = main.or(interfaces.first()) else { return Ok(()) };
    members.put("protocolVersion", VERSION_0_3)?;
    members.put("url", &main.url)?;
    members.put("preferredTransport", &main.protocol_binding)?;
    let additional: Vec<_> = interfaces
        .iter()
        .map(|it| Interface { url: &it.url, transport: &it.protocol_binding })
        .collect();
    members.put("additionalInterfaces", &additional)
}

fn is_v0_3(interface: &AgentInterface) -> bool {
    interface.version() == Some(Version::V0_3)
}

/// A skill of a card in the same form.
struct Skill<'a> {
    skill: &'a AgentSkill,
    form: &'a CardForm,
}

impl Serialize for Skill<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { skill, form } = self;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("id", &skill.id)?;
        members.put("name", &skill.name)?;
        members.put("description", &skill.description)?;
        members.put("tags", &skill.tags)?;
        members.put_list("examples", &skill.examples)?;
        members.put_list("inputModes", &skill.input_modes)?;
        members.put_list("outputModes", &skill.output_modes)?;
        form.write_requirements(&skill.security_requirements, &mut members)?;
        members.end()
    }
}

impl Serialize for AgentSkill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = CardForm { has_v0_3: false, has_v1_0: true, security: SecurityForm::V1_0 };
        Skill { skill: self, form: &form }.serialize(serializer)
    }
}
