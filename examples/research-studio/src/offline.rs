//! A model without a network, so that the studio runs end to end on a bare machine and its tests are
//! deterministic.
//!
//! It has no intelligence: it plans every question in the same way, and answers from documents by
//! repeating the sentences that share the most words with the question. What it has no rule for is
//! answered by `offline/demo`.

use std::collections::BTreeSet;
use std::sync::Arc;

use oxikit::offline::DEMO_MODEL;
use oxikit::prelude::*;
use oxikit::wire::{
    ConstrainedSupport, FinishReason, GenerateRequest, GenerateResponse, GenerateResponseChunk,
    ModelSupports,
};
use oxikit::{Call, Model, Plugin};

use crate::records::Plan;
use crate::words::{keywords, overlap, sentences};

/// The name of the model.
pub const STUDIO_MODEL: &str = "offline/studio";
/// Number of sentences of an answer.
const SENTENCES: usize = 4;

/// The plugin that brings the model.
#[derive(Debug, Clone, Copy)]
pub struct OfflineStudio;

impl Plugin for OfflineStudio {
    fn install(&self, ai: &Oxikit) -> Result<()> {
        let supports = ModelSupports {
            multiturn: Some(true),
            system_role: Some(true),
            tools: Some(true),
            context: Some(true),
            constrained: Some(ConstrainedSupport::All),
            output: Some(vec!["text".to_owned(), "json".to_owned()]),
            ..ModelSupports::default()
        };
        ai.define_model(
            Model::builder(STUDIO_MODEL)
                .label("Offline studio (rules, no intelligence)")
                .supports(supports)
                .handler(respond),
        );
        Ok(())
    }
}

async fn respond(
    request: GenerateRequest,
    ctx: Context,
    out: Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let Some(text) = answer(&request) else {
        let demo = ctx.registry().resolve_key(&format!("/model/{DEMO_MODEL}")).await?;
        return demo.run_into(Call::new(request), &out).await?.parse();
    };
    for piece in text.split_inclusive(' ') {
        out.send(GenerateResponseChunk::text(piece)).await?;
    }
    Ok(GenerateResponse {
        message: Some(Arc::new(Message::model(text))),
        finish_reason: Some(FinishReason::Stop),
        ..GenerateResponse::default()
    })
}

/// The answer by the rules of this model; `None` if there is none for the request.
fn answer(request: &GenerateRequest) -> Option<String> {
    let is_user = |message: &&Arc<Message>| message.role == oxikit::Role::User;
    let asked = request.messages.iter().rev().find(is_user)?;
    let question = asked.content.first()?.as_text()?.trim();
    let schema = request.output.as_ref().and_then(|output| output.schema.as_ref());
    if schema.is_some_and(|schema| schema["properties"].get("clarification").is_some()) {
        return Some(json!(plan(question)).to_string());
    }
    // A tool that the question names is called by the demo model.
    let tools = request.tools.as_deref().unwrap_or_default();
    if tools.iter().any(|tool| question.contains(&tool.name)) {
        return None;
    }
    let documents = request.docs.as_deref().filter(|docs| !docs.is_empty() && schema.is_none())?;
    let texts: Vec<String> = documents.iter().map(Document::to_text).collect();
    Some(quoted(question, &texts))
}

/// The standard plan; a question to the user if there is no subject.
fn plan(question: &str) -> Plan {
    match keywords(question).len() {
        0 | 1 => Plan {
            clarification: Some("What exactly do you want to know about it?".to_owned()),
            steps: Vec::new(),
        },
        _ => Plan::standard(question),
    }
}

/// The sentences that fit the question best, each with the number of its document; the first
/// sentence of each document if none fits.
fn quoted(question: &str, texts: &[String]) -> String {
    let keywords = keywords(question);
    let first = |(text, number): (&String, usize)| {
        sentences(text).first().map(|sentence| format!("{sentence} [{number}]"))
    };
    let mut seen = BTreeSet::new();
    let mut scored: Vec<_> = texts
        .iter()
        .zip(1..)
        .flat_map(|(text, number)| sentences(text).into_iter().map(move |it| (it, number)))
        .filter(|(sentence, _)| sentence.contains(' ') && seen.insert(*sentence))
        .map(|(sentence, number)| (overlap(&keywords, sentence), number, sentence))
        .filter(|(score, ..)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, number, _)| (std::cmp::Reverse(*score), *number));
    // One sentence of each document before the second of any.
    let mut used = BTreeSet::new();
    let (best, more): (Vec<_>, Vec<_>) =
        scored.into_iter().partition(|(_, number, _)| used.insert(*number));
    let chosen = best.into_iter().chain(more).take(SENTENCES.max(texts.len()));
    let lines: Vec<_> = chosen.map(|(_, number, it)| format!("{it} [{number}]")).collect();
    match lines.is_empty() {
        true => texts.iter().zip(1..).filter_map(first).collect::<Vec<_>>().join(" "),
        false => lines.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(question: &str, documents: &[&str]) -> String {
        let ai = Oxikit::builder()
            .plugin(oxikit::offline::Offline)
            .plugin(OfflineStudio)
            .default_model(STUDIO_MODEL)
            .build()
            .unwrap();
        let docs = documents.iter().map(|text| Document::text(*text));
        ai.generate().prompt(question).docs(docs).await.unwrap().text()
    }

    #[tokio::test]
    async fn an_answer_quotes_documents_with_their_numbers() {
        let documents =
            ["Black tea needs boiling water. Cups are white.", "Green tea needs 80 degrees."];
        assert_eq!(
            ask("Which water does green tea need?", &documents).await,
            "Black tea needs boiling water. [1] Green tea needs 80 degrees. [2]"
        );
        assert_eq!(ask("Who won?", &["It is late. Good night."]).await, "It is late. [1]");
    }

    #[tokio::test]
    async fn a_request_without_a_rule_is_answered_by_the_demo_model() {
        assert!(ask("Hello", &[]).await.starts_with("This is offline/demo"));
    }

    #[test]
    fn a_question_without_a_subject_is_asked_back() {
        assert_eq!(plan("Batteries?").steps, []);
        assert!(plan("Batteries?").clarification.is_some());
        assert_eq!(plan("home batteries").steps.len(), 5);
    }
}
