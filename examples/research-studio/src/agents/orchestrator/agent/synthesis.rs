//! Makes the report of the results: the content editor writes it, and its citations are checked.

use std::collections::BTreeSet;

use oxikit::prelude::*;

use super::Team;
use super::steps::Results;
use crate::delegation::{Outcome, Work};
use crate::records::{AgentName, Citation, EditRequest, Report, Source};

impl Team<'_> {
    /// Writes the report. If the content editor cannot, the summaries of the findings are joined.
    pub(super) async fn synthesise(&self, question: &str, results: Results) -> Result<Report> {
        self.turn.progress("writing the report").await?;
        let sources = results.sources();
        let mut notes = results.notes;
        let request = EditRequest {
            question: question.to_owned(),
            sources: sources.clone(),
            notes: results.texts.clone(),
        };
        let text = match self.edit(&request).await {
            Some(text) => text,
            None => {
                notes.push("The content editor has brought no usable text; these are excerpts.".to_owned());
                excerpts(&sources, &results.texts)
            }
        };
        let mut citations = citations(&sources);
        citations.extend(own_analyses(&text, sources.len()));
        let markdown = markdown(question, &text, &citations, &notes);
        Ok(Report { question: question.to_owned(), markdown, citations, notes })
    }

    /// The text of the content editor; `None` if there is none, or one with wrong citations.
    async fn edit(&self, request: &EditRequest) -> Option<String> {
        let work = Work { text: request.question.clone(), data: Some(json!(request)) };
        let delegation = self.delegation();
        let answer = delegation.run(AgentName::ContentEditor, &work, self).await;
        let Ok((_, Outcome::Done(reply))) = answer else { return None };
        let text = reply.artifact("answer")?.text();
        let passages = request.sources.len() + request.notes.len();
        is_cited(&text, request.sources.len(), passages).then_some(text)
    }
}

/// Whether a text cites only passages that there are, and a source if there is one.
pub(super) fn is_cited(text: &str, sources: usize, passages: usize) -> bool {
    let numbers = cited(text);
    let is_known = numbers.iter().all(|number| (1..=passages).contains(number));
    let cites_source = numbers.iter().any(|number| *number <= sources);
    is_known && (cites_source || sources == 0)
}

/// The numbers in brackets.
fn cited(text: &str) -> BTreeSet<usize> {
    let inside = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    inside.filter_map(|(number, _)| number.trim().parse().ok()).collect()
}

fn excerpts(sources: &[Source], texts: &[String]) -> String {
    let source = |(source, number): (&Source, usize)| format!("{} [{number}]", source.excerpt);
    let paragraphs: Vec<_> =
        sources.iter().zip(1..).map(source).chain(texts.iter().cloned()).collect();
    match paragraphs.is_empty() {
        true => "No agent has found anything about this question.".to_owned(),
        false => paragraphs.join("\n\n"),
    }
}

fn citations(sources: &[Source]) -> Vec<Citation> {
    let citation = |(source, number): (&Source, usize)| Citation {
        number,
        title: source.title.clone(),
        url: Some(source.url.clone()),
    };
    sources.iter().zip(1..).map(citation).collect()
}

/// The cited passages behind the sources: texts of the team itself.
fn own_analyses(text: &str, sources: usize) -> impl Iterator<Item = Citation> {
    let own = cited(text).into_iter().filter(move |number| *number > sources);
    own.map(|number| Citation { number, title: "Analysis by the studio".to_owned(), url: None })
}

fn markdown(question: &str, text: &str, citations: &[Citation], notes: &[String]) -> String {
    let mut parts = vec![format!("# {question}"), text.trim().to_owned()];
    if !citations.is_empty() {
        let line = |it: &Citation| match &it.url {
            Some(url) => format!("{}. [{}]({url})", it.number, it.title),
            None => format!("{}. {}", it.number, it.title),
        };
        let lines: Vec<_> = citations.iter().map(line).collect();
        parts.push(format!("## Sources\n\n{}", lines.join("\n")));
    }
    if !notes.is_empty() {
        let lines: Vec<_> = notes.iter().map(|note| format!("- {note}")).collect();
        parts.push(format!("## Notes\n\n{}", lines.join("\n")));
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_must_cite_sources_that_exist() {
        let check = |text: &str, expected: bool| assert_eq!(is_cited(text, 2, 3), expected, "{text}");
        check("Batteries are cheap [1], and get cheaper [ 2 ].", true);
        check("The mean is 5 [3], the price falls [1].", true);
        check("Only the analysis is cited [3].", false);
        check("Batteries are cheap.", false);
        check("Batteries are cheap [1][7].", false);
        check("A [link] is no citation, [2] is.", true);
        assert!(is_cited("Nothing was found.", 0, 0));
    }
}
