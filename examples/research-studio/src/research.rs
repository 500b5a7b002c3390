//! What the three research agents have in common: from pages to findings.

use oxikit::prelude::*;
use oxikit::wire::Artifact;
use oxikit::{Generate, Turn, TurnReply};

use crate::records::{Findings, Source};
use crate::tools::readable::Page;
use crate::words::{keywords, overlap, sentences, shortened};
use crate::{App, UserError};

/// Maximum number of sources of one agent.
pub const MAX_SOURCES: usize = 4;
/// Maximum length of an excerpt in characters.
const EXCERPT: usize = 400;

/// What a research agent remembers of a conversation.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Topic {
    /// The questions so far. A further question is understood together with the one before.
    pub questions: Vec<String>,
}

/// The question of this turn. A short one continues the question before; `None` if there is
/// nothing to search for.
pub async fn question_of(turn: &Turn<Topic>) -> Result<Option<String>> {
    let text = turn.text().trim().to_owned();
    let before = turn.state()?.questions.last().cloned();
    let question = match (keywords(&text).len(), before) {
        (0 | 1, Some(before)) => format!("{before} {text}"),
        (0, None) => return Ok(None),
        _ => text,
    };
    turn.update(|topic| topic.questions.push(question.clone())).await?;
    Ok(Some(question))
}

/// Checks the question of a flow.
///
/// # Errors
///
/// [`UserError::EmptyQuestion`].
pub fn checked(question: &str) -> Result<&str> {
    match question.trim() {
        "" => Err(UserError::EmptyQuestion.into()),
        question => Ok(question),
    }
}

/// The passages of pages that fit the question best, one of each page.
pub fn sources_of(question: &str, pages: &[Page]) -> Vec<Source> {
    let keywords = keywords(question);
    let mut scored: Vec<_> = pages
        .iter()
        .map(|page| (overlap(&keywords, &format!("{} {}", page.title, page.text)), page))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let source = |page: &Page| Source {
        title: page.title.clone(),
        url: page.url.clone(),
        excerpt: excerpt(question, page),
    };
    scored.into_iter().take(MAX_SOURCES).map(|(_, page)| source(page)).collect()
}

/// The sentences of a page from the best one on, without its heading.
fn excerpt(question: &str, page: &Page) -> String {
    let keywords = keywords(question);
    let mut sentences = sentences(&page.text);
    sentences.retain(|sentence| !page.title.starts_with(sentence));
    let best = (0..sentences.len()).rev().max_by_key(|at| overlap(&keywords, sentences[*at]));
    shortened(&sentences[best.unwrap_or(0)..].join(" "), EXCERPT)
}

/// The call that summarises sources with the prompt of an agent.
pub fn summary(ctx: &Context, prompt: &str, question: &str, sources: &[Source]) -> Generate {
    let document = |source: &Source| {
        Document::text(&source.excerpt)
            .with_metadata("title", source.title.as_str())
            .with_metadata("ref", source.url.as_str())
    };
    ctx.prompt(prompt, json!({ "question": question })).docs(sources.iter().map(document))
}

/// Ends the turn of a research agent: streams the summary, for which the model may ask the database,
/// and adds the artifact `findings`.
pub async fn conclude(
    app: &App,
    turn: &Turn<Topic>,
    prompt: &str,
    question: &str,
    sources: Vec<Source>,
) -> Result<TurnReply> {
    if sources.is_empty() && app.database.tools.is_empty() {
        turn.add_artifact(artifact(&Findings::default())).await?;
        return Ok(turn.answer("No source says anything about this."));
    }
    turn.progress(format!("summarising {} sources", sources.len())).await?;
    let call = app.database.offer(summary(turn.context(), prompt, question, &sources));
    let reply = turn.stream(call).await?;
    let findings = Findings { summary: reply.text(), sources };
    turn.add_artifact(artifact(&findings)).await?;
    Ok(turn.answer(findings.summary))
}

fn artifact(findings: &Findings) -> Artifact {
    Artifact::new("findings", [Part::data(json!(findings))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_the_best_passages() {
        let page = |title: &str, text: &str| Page {
            title: title.to_owned(),
            url: format!("https://example.com/{title}"),
            text: text.to_owned(),
        };
        let pages = [
            page("cups", "Cups are white."),
            page("tea", "Tea is old. Green tea needs 80 degrees. Black tea needs more."),
        ];
        let expected = Source {
            title: "tea".to_owned(),
            url: "https://example.com/tea".to_owned(),
            excerpt: "Green tea needs 80 degrees. Black tea needs more.".to_owned(),
        };
        assert_eq!(sources_of("How many degrees does green tea need?", &pages), [expected]);
    }
}
