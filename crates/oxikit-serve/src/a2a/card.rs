//! The card of an agent: what it does, where it is and how to call it.
//!
//! One document serves both versions. Only the shape of the security schemes depends on the
//! version that the client asks for.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HOST, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode as HttpStatus};
use oxikit_core::{ActionContext, Status};
use oxikit_http::HttpError;
use oxikit_http::static_content::Document;
use oxikit_wire::a2a::{
    AgentCard, AgentInterface, AgentSkill, CardDocument, SecurityRequirement, Version, binding,
};
use oxikit_wire::headers;
use serde_json::Value;

use super::agent_options::Served;
use super::incoming::asked_version;
use crate::app::App;
use crate::auth::{Security, scopes_of};

/// How long clients may keep a card without asking again.
const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// `GET <agent>/.well-known/agent-card.json`
pub(super) fn answer(
    app: &App,
    agent: &Arc<Served>,
    head: &Parts,
) -> Result<Response<Body>, HttpError> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        let status = Status::invalid_argument("the card of an agent is read by GET");
        return Err(HttpError::new(HttpStatus::METHOD_NOT_ALLOWED, status));
    }
    // A card is public, also to clients of versions that this server does not have.
    let version = asked_version(head).ok().flatten().unwrap_or(Version::V0_3);
    let mut card = card_of(app, agent, &base_url(agent, head));
    sign(agent, &mut card, |card| serde_json::to_value(CardDocument(card, version)))?;
    let body = serde_json::to_vec(&CardDocument(&card, version)).map_err(Status::from)?;
    let mut response = Document::new("application/json", body.into()).response(&head.headers);
    let answered = response.headers_mut();
    answered.insert(CACHE_CONTROL, CACHE);
    answered.insert(VARY, HeaderValue::from_static(headers::A2A_VERSION));
    Ok(response)
}

/// Signs the card, if the server does. The signatures cover the document that is sent.
pub(super) fn sign(
    agent: &Served,
    card: &mut AgentCard,
    document: impl FnOnce(&AgentCard) -> serde_json::Result<Value>,
) -> Result<(), Status> {
    if let Some(signer) = &agent.signer {
        card.signatures = signer.sign(&document(card)?)?;
    }
    Ok(())
}

/// The card for authenticated callers, with all skills whose scopes the caller has.
pub(super) fn extended(
    app: &App,
    agent: &Served,
    head: &Parts,
    caller: &ActionContext,
) -> AgentCard {
    let mut card = card_of(app, agent, &base_url(agent, head));
    let granted = scopes_of(caller);
    let skills = agent.options.extended_skills.iter();
    card.skills.extend(skills.filter(|skill| allows(skill, &granted)).cloned());
    card
}

/// Whether a caller with these scopes may use a skill: it needs those of one requirement, if the
/// skill has any.
fn allows(skill: &AgentSkill, granted: &[&str]) -> bool {
    let has_all = |requirement: &SecurityRequirement| {
        let mut scopes = requirement.schemes.values().flatten();
        scopes.all(|scope| granted.contains(&scope.as_str()))
    };
    let requirements = &skill.security_requirements;
    requirements.is_empty() || requirements.iter().any(has_all)
}

fn card_of(app: &App, agent: &Served, base: &str) -> AgentCard {
    let options = &agent.options;
    let url = format!("{base}/{}", options.path);
    let interfaces = [binding::JSON_RPC, binding::HTTP_JSON].into_iter().flat_map(|binding| {
        [Version::V1_0, Version::V0_3].map(|version| AgentInterface::new(&url, binding, version))
    });
    #[cfg(feature = "a2a-grpc")]
    let interfaces = interfaces.chain(super::grpc_interfaces::interfaces(agent, base));
    let security = security(app, agent);
    let requirement = |schemes: &_| SecurityRequirement { schemes: Clone::clone(schemes) };
    AgentCard {
        name: options.title.clone().unwrap_or_else(|| options.name.clone()),
        description: options.description.clone(),
        supported_interfaces: interfaces.collect(),
        provider: options.provider.clone(),
        version: options.version.clone(),
        documentation_url: options.documentation_url.clone(),
        icon_url: options.icon_url.clone(),
        capabilities: agent.capabilities(),
        security_schemes: security.schemes().clone(),
        security_requirements: security.requirements().iter().map(requirement).collect(),
        default_input_modes: options.input_modes.clone(),
        default_output_modes: options.output_modes.clone(),
        skills: skills_of(agent),
        signatures: Vec::new(),
    }
}

/// The skills, or the agent as its only one: a card needs one.
fn skills_of(agent: &Served) -> Vec<AgentSkill> {
    let options = &agent.options;
    if !options.skills.is_empty() {
        return options.skills.clone();
    }
    vec![AgentSkill {
        id: options.name.clone(),
        name: options.title.clone().unwrap_or_else(|| options.name.clone()),
        description: options.description.clone(),
        ..AgentSkill::default()
    }]
}

/// The demands of the provider that checks the callers, with the scopes of the agent: declared means
/// enforced, by the same objects.
fn security(app: &App, agent: &Served) -> Security {
    let provider = agent.options.auth.as_ref().or(app.provider.as_ref());
    let security = provider.map(|provider| provider.security()).unwrap_or_default();
    security.with_scopes(&agent.options.scopes)
}

/// The address of the server as the client knows it. The host was checked by the edge.
fn base_url(agent: &Served, head: &Parts) -> String {
    agent.public_url.clone().unwrap_or_else(|| {
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| head.uri.authority().map(|authority| authority.as_str()));
        format!("http://{}", host.unwrap_or("localhost"))
    })
}
