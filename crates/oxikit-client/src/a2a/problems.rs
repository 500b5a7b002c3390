//! What is wrong with an agent card.

use oxikit_core::Result;
use oxikit_wire::a2a::binding::{GRPC, HTTP_JSON, JSON_RPC};
use oxikit_wire::a2a::{AgentCard, AgentInterface, Version};
use reqwest::Url;
use serde_json::Value;

use super::FoundCard;
use super::error::unreadable;

/// Members that both versions require.
const REQUIRED: [&str; 6] =
    ["description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"];
/// Members that a skill must have.
const SKILL_REQUIRED: [&str; 4] = ["id", "name", "description", "tags"];

/// Faults of a card that clients may fail on, as sentences for the person who writes the agent.
///
/// # Errors
///
/// If the text of the card is not JSON, which a card that was read always is.
pub fn card_problems(found: &FoundCard) -> Result<Vec<String>> {
    let FoundCard { card, url, json } = found;
    let json: &Value = &serde_json::from_slice(json).map_err(unreadable)?;
    let mut problems = Vec::new();
    for name in REQUIRED.into_iter().filter(|name| json[*name].is_null()) {
        problems.push(format!("`{name}` is missing, which both versions require"));
    }
    if card.name.is_empty() {
        problems.push("`name` is empty".to_owned());
    }
    check_top(json, &mut problems);
    check_interfaces(json, card, url, &mut problems);
    check_skills(json, &mut problems);
    Ok(problems)
}

/// Checks the members that only version 0.3 has.
fn check_top(json: &Value, problems: &mut Vec<String>) {
    let Some(url) = json["url"].as_str() else { return };
    match json["protocolVersion"].as_str() {
        None => problems.push("`protocolVersion` is missing; 0.3 requires `0.3.0`".to_owned()),
        Some(text) if version(text) != Some(Version::V0_3) => {
            problems.push(format!("`protocolVersion` is `{text}`; beside `url` it must be `0.3.0`"))
        }
        Some(_) => {}
    }
    let listed = json["additionalInterfaces"].as_array();
    if listed.is_some_and(|list| !list.iter().any(|it| it["url"] == url)) {
        problems.push("`additionalInterfaces` does not repeat `url`".to_owned());
    }
}

fn check_interfaces(json: &Value, card: &AgentCard, url: &str, problems: &mut Vec<String>) {
    let interfaces = &card.supported_interfaces;
    if interfaces.is_empty() {
        problems
            .push("there is no address: `supportedInterfaces` and `url` are missing".to_owned());
        return;
    }
    if !interfaces.iter().any(|it| it.protocol_binding == JSON_RPC) {
        problems
            .push("no address has the binding `JSONRPC`, the one that all clients have".to_owned());
    }
    // Those of 0.3 have no versions of their own.
    let has_versions = json["supportedInterfaces"].is_array();
    for (number, interface) in interfaces.iter().enumerate() {
        check_interface(interface, url, has_versions, problems);
        let same = |it: &&AgentInterface| {
            it.protocol_binding == interface.protocol_binding
                && it.protocol_version == interface.protocol_version
                && it.tenant == interface.tenant
        };
        if interfaces[..number].iter().any(|it| same(&it)) {
            problems.push(format!(
                "`{}` is listed twice with the version `{}`; clients take the first",
                interface.protocol_binding, interface.protocol_version
            ));
        }
    }
}

fn check_interface(
    interface: &AgentInterface,
    card_url: &str,
    has_versions: bool,
    problems: &mut Vec<String>,
) {
    let AgentInterface { url, protocol_binding, tenant, protocol_version } = interface;
    match protocol_binding.as_str() {
        GRPC => problems.extend(grpc_problem(url)),
        JSON_RPC | HTTP_JSON => problems.extend(address_problem(url, card_url)),
        // Bindings of other standards are named by a URI.
        name if name.contains(':') => {}
        name => problems.push(format!(
            "an interface has the binding `{name}`; clients look for `JSONRPC`, `HTTP+JSON` or `GRPC`"
        )),
    }
    if has_versions && !matches!(protocol_version.as_str(), "1.0" | "0.3") {
        problems.push(format!(
            "an interface has the protocolVersion `{protocol_version}`; clients look for `1.0` or `0.3`"
        ));
    }
    let is_old = version(protocol_version) == Some(Version::V0_3);
    if is_old && tenant.is_some() {
        problems.push("an interface of version 0.3 has a `tenant`, which 0.3 does not know".into());
    }
    if is_old && protocol_binding == HTTP_JSON && url.trim_end_matches('/').ends_with("/v1") {
        problems.push(format!(
            "the address `{url}` ends in `/v1`, which clients of 0.3 add to it themselves"
        ));
    }
}

/// Clients of gRPC in JavaScript take the address for the name of a host if it is a URL.
fn grpc_problem(address: &str) -> Option<String> {
    let has_port = address.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
    });
    (!has_port).then(|| format!("the gRPC address `{address}` is not of the form `host:port`"))
}

fn address_problem(address: &str, card_url: &str) -> Option<String> {
    let Ok(url) = Url::parse(address) else {
        return Some(format!("the address `{address}` is not a URL"));
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Some(format!("the address `{address}` is not an HTTP address"));
    }
    let card_url = Url::parse(card_url).ok()?;
    (url.origin() != card_url.origin())
        .then(|| format!("the address `{address}` is at another server than the card, {card_url}"))
}

fn check_skills(json: &Value, problems: &mut Vec<String>) {
    let Some(skills) = json["skills"].as_array() else { return };
    if skills.is_empty() {
        problems.push("there are no skills, by which other agents choose this one".to_owned());
    }
    for (number, skill) in skills.iter().enumerate() {
        for name in SKILL_REQUIRED.into_iter().filter(|name| skill[*name].is_null()) {
            problems.push(format!("`skills[{number}].{name}` is missing"));
        }
    }
}

fn version(text: &str) -> Option<Version> {
    Version::from_header(Some(text)).ok().flatten()
}
