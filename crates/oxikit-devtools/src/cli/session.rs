//! `oxikit session`: what agents have kept.

use owo_colors::OwoColorize;
use serde_json::Value;

use super::args::{SessionArgs, SessionCommand};
use super::client::{Client, encoded};
use super::failure::Failure;
use super::output::Output;

pub(super) async fn run(
    args: SessionArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let SessionCommand::Show { agent, session, target } = args.command;
    let mut path = format!("/api/agents/{}/sessions/{}", encoded(&agent), encoded(&session));
    if let Some(runtime) = &target.runtime {
        path.push_str(&format!("?runtime={}", encoded(runtime)));
    }
    let details = match client.get(&path).await {
        Ok(details) => details,
        Err(failure) => return Err(client.explain(failure, target.runtime.as_deref()).await),
    };
    if output.is_json() {
        return output.value(&details);
    }
    let messages = details["threads"]["main"].as_array().map(Vec::as_slice).unwrap_or_default();
    for message in messages {
        let role = message["role"].as_str().unwrap_or("?");
        for part in message["content"].as_array().into_iter().flatten() {
            output.line(format!("{} {}", format!("{role}:").bold(), shown(part)))?;
        }
    }
    if !details["state"].is_null() {
        output.line(format!("{} {}", "state:".bold(), details["state"]))?;
    }
    output.remark(format!("{session}: {}", details["status"].as_str().unwrap_or("?")));
    Ok(())
}

/// A part of a message, for people.
fn shown(part: &Value) -> String {
    let tool = |member: &str, value: &str| {
        let tool = part.get(member)?;
        Some(format!("{} {}", tool["name"].as_str().unwrap_or("?"), tool[value]))
    };
    match part["text"].as_str() {
        Some(text) => text.to_owned(),
        None => tool("toolRequest", "input")
            .or_else(|| tool("toolResponse", "output"))
            .unwrap_or_else(|| part.to_string()),
    }
}
