//! Writes programs. It asks for the language once and remembers it for the conversation.

use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::wire::Artifact;
use oxikit::{Generate, Turn, TurnReply};

use crate::App;
use crate::records::AgentName;

pub const PROMPT: &str = "coder";

/// Languages, and the endings of their files.
const LANGUAGES: [(&str, &str); 6] = [
    ("Rust", "rs"),
    ("Python", "py"),
    ("TypeScript", "ts"),
    ("JavaScript", "js"),
    ("Go", "go"),
    ("SQL", "sql"),
];

/// What a conversation has agreed on.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    language: Option<String>,
    /// The task that waits for the language.
    task: Option<String>,
}

pub fn define(app: &App) -> Result<A2aAgent> {
    app.ai.define_prompt_text(PROMPT, include_str!("coder.prompt"))?;
    let card = app.agent(AgentName::Coder, "Writes programs.", turn)?;
    Ok(card.skill(
        AgentSkill::new("code", "Write a program", "Streams a program in the language you name.")
            .with_tags(["code", "programming"])
            .with_examples(["Sort a list of numbers in Rust"]),
    ))
}

async fn turn(_: App, turn: Turn<Agreement>) -> Result<TurnReply> {
    let agreement = turn.state()?;
    let text = turn.text();
    let language = language_of(&text).map(str::to_owned).or(agreement.language);
    let task = agreement.task.unwrap_or_else(|| text.clone());
    let Some(language) = language else {
        turn.update(|agreement| agreement.task = Some(text)).await?;
        return Ok(turn.ask("In which language? I know Rust, Python, TypeScript, Go and SQL."));
    };
    turn.update(|agreement| {
        *agreement = Agreement { language: Some(language.clone()), task: None };
    })
    .await?;
    turn.progress(format!("writing {language}")).await?;
    let program = turn.stream(program(turn.context(), &task, &language)).await?.text();
    let file = json!({ "file": file_name(&language), "text": program });
    turn.add_artifact(Artifact::new("program", [Part::data(file)])).await?;
    Ok(turn.answer(program))
}

/// The call that writes a program.
pub fn program(ctx: &Context, task: &str, language: &str) -> Generate {
    ctx.prompt(PROMPT, json!({ "task": task, "language": language }))
}

/// The language that a text names as a word.
pub fn language_of(text: &str) -> Option<&'static str> {
    let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let is_named = |name: &str| match name {
        // The word `go` is too common in lower case.
        "Go" => words.iter().any(|word| ["Go", "Golang", "golang"].contains(word)),
        name => words.iter().any(|word| word.eq_ignore_ascii_case(name)),
    };
    LANGUAGES.iter().map(|(name, _)| *name).find(|name| is_named(name))
}

fn file_name(language: &str) -> String {
    let known = LANGUAGES.iter().find(|(name, _)| *name == language);
    format!("program.{}", known.map_or("txt", |(_, ending)| ending))
}
