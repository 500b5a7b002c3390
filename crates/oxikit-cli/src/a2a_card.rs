//! `oxikit a2a card`: shows an agent card, and what is wrong with it. The checks are in
//! `oxikit-client`.

use oxikit_client::a2a::{AgentCard, AgentInterface, FoundCard, card_problems};
use serde_json::{Value, json};

use super::a2a_signature::Signed;
use super::failure::{Exit, Failure};
use super::output::Output;
use crate::terminal::Text;

pub(super) fn show(found: &FoundCard, signed: &Signed, output: &mut Output) -> Result<(), Failure> {
    let json: Value = serde_json::from_slice(&found.json)
        .map_err(|error| Failure::internal(error.to_string()))?;
    let mut problems = card_problems(found).map_err(|status| Failure::of_status(&status))?;
    problems.extend(signed.problem());
    if output.is_json() {
        output.value(&json!({
            "ok": problems.is_empty(), "url": found.url, "card": json, "problems": problems,
            "signatures": signed.signatures, "verified": signed.is_verified(),
        }))?;
    } else {
        show_card(found, output)?;
        output.line(Text::new().plain(signed.to_string()))?;
        for problem in &problems {
            output.line(Text::new().yellow("wrong:").plain(format!(" {problem}")))?;
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::AlreadyShown(Exit::Failed)),
    }
}

/// Shows the card for authenticated callers, which is not checked.
pub(super) fn show_extended(card: &AgentCard, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(&json!({ "ok": true, "card": card }));
    }
    show_head(card, output)?;
    show_body(card, output)
}

fn show_card(found: &FoundCard, output: &mut Output) -> Result<(), Failure> {
    show_head(&found.card, output)?;
    output.line(Text::new().dimmed(&found.url))?;
    show_body(&found.card, output)
}

fn show_head(card: &AgentCard, output: &mut Output) -> Result<(), Failure> {
    output.line(Text::new().bold(&card.name).plain(format!(" {}", card.version)))?;
    output.line(Text::new().plain(&card.description))
}

fn show_body(card: &AgentCard, output: &mut Output) -> Result<(), Failure> {
    let interface = |it: &AgentInterface| {
        vec![it.protocol_binding.clone(), it.protocol_version.clone(), it.url.clone()]
    };
    let rows: Vec<_> = card.supported_interfaces.iter().map(interface).collect();
    output.table(&rows, &[2])?;
    let capabilities = [
        ("streaming", card.capabilities.streaming),
        ("push notifications", card.capabilities.push_notifications),
        ("extended card", card.capabilities.extended_agent_card),
    ];
    let has =
        |(name, is_there): (&'static str, Option<bool>)| (is_there == Some(true)).then_some(name);
    let capabilities: Vec<_> = capabilities.into_iter().filter_map(has).collect();
    if !capabilities.is_empty() {
        output.line(Text::new().plain(format!("has {}", capabilities.join(", "))))?;
    }
    for name in card.security_schemes.keys() {
        output.line(Text::new().plain(format!("credentials: {name}")))?;
    }
    let skills = card.skills.iter();
    let skills: Vec<_> =
        skills.map(|it| vec![it.id.clone(), it.name.clone(), it.description.clone()]).collect();
    output.table(&skills, &[0])
}
