//! Writes a text from sources, and edits texts. It remembers the last one of the conversation.

use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::{Generate, Turn, TurnReply};

use crate::App;
use crate::records::{AgentName, EditRequest};

pub const PROMPT: &str = "contentEditor";

/// The last text of the conversation.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Desk {
    text: Option<String>,
}

pub fn define(app: &App) -> Result<A2aAgent> {
    app.ai.define_prompt_text(PROMPT, include_str!("content_editor.prompt"))?;
    let card = app.agent(AgentName::ContentEditor, "Writes and edits texts with citations.", turn)?;
    Ok(card.output_modes(["text/markdown", "text/plain"]).skill(
        AgentSkill::new("edit", "Write and edit", "Writes an article from sources, or edits a text.")
            .with_tags(["writing", "editing"])
            .with_examples(["Make this friendlier: the invoice is late.", "Shorter, please"]),
    ))
}

async fn turn(_: App, turn: Turn<Desk>) -> Result<TurnReply> {
    let last = turn.state()?.text;
    let request = match (turn.data::<EditRequest>(), turn.text().split_once(':'), last) {
        (Some(request), ..) => request,
        (None, Some((style, text)), _) => of_text(style, text),
        (None, None, Some(last)) => of_text(&turn.text(), &last),
        (None, None, None) => {
            return Ok(turn.ask("Which text? Write what to do, a colon, and the text."));
        }
    };
    turn.progress("writing").await?;
    let article = turn.stream(article(turn.context(), &request, None)).await?.text();
    turn.update(|desk| desk.text = Some(article.clone())).await?;
    Ok(turn.answer(article))
}

fn of_text(task: &str, text: &str) -> EditRequest {
    let question = task.trim().to_owned();
    EditRequest { question, sources: Vec::new(), notes: vec![text.trim().to_owned()] }
}

/// The call that writes the text.
pub fn article(ctx: &Context, request: &EditRequest, style: Option<&str>) -> Generate {
    let excerpts = request.sources.iter().map(|source| &source.excerpt);
    let documents = excerpts.chain(&request.notes).map(Document::text);
    let input = json!({ "question": request.question, "style": style });
    ctx.prompt(PROMPT, input).docs(documents)
}
