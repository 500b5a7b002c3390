//! Documents of a local folder: indexing them, and answers from them.

use oxikit::Action;
use oxikit::prelude::*;

use crate::research::checked;
use crate::tools::readable::Page;
use crate::words::shortened;
use crate::{App, UserError};

/// Number of passages that an answer is written from.
const PASSAGES: u32 = 4;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct IndexDocuments {
    /// A folder below the folder of documents; all of it if it is missing.
    #[serde(default)]
    pub folder: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Indexed {
    pub documents: usize,
    pub passages: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AskDocuments {
    pub question: String,
}

/// An answer from documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub text: String,
    /// The documents behind the numbers in brackets, in their order.
    pub sources: Vec<String>,
}

pub(super) fn define(app: &App) -> Vec<Action> {
    let of_app = app.clone();
    let index = app.ai.define_flow("indexDocuments", move |input: IndexDocuments, ctx: Context| {
        let app = of_app.clone();
        async move { index(&app, &ctx, &input.folder).await }
    });
    let of_app = app.clone();
    let ask = app.ai.define_flow("askDocuments", move |input: AskDocuments, ctx: Context| {
        let app = of_app.clone();
        async move { answer(&app, &ctx, checked(&input.question)?).await }
    });
    vec![index.action().clone(), ask.action().clone()]
}

/// Replaces the index by the documents of a folder.
async fn index(app: &App, ctx: &Context, folder: &str) -> Result<Indexed> {
    let pages = app.documents.folder(folder).await?;
    let passages: Vec<_> = pages.iter().flat_map(passages).collect();
    let indexed = Indexed { documents: pages.len(), passages: passages.len() };
    app.library.clear();
    ctx.index("library", passages).await?;
    Ok(indexed)
}

/// The paragraphs of a document. A table is one passage.
fn passages(page: &Page) -> Vec<Document> {
    let paragraphs: Vec<_> = page.text.split("\n\n").map(str::trim).collect();
    let is_heading = |paragraph: &str| paragraph.starts_with('#') || paragraph == page.title;
    let text = |paragraph: &&str| !paragraph.is_empty() && !is_heading(paragraph);
    let document = |paragraph: &str| {
        Document::text(format!("{}: {}", page.title, shortened(paragraph, 2_000)))
            .with_metadata("ref", page.url.as_str())
    };
    paragraphs.into_iter().filter(text).map(document).collect()
}

async fn answer(app: &App, ctx: &Context, question: &str) -> Result<Answer> {
    if app.library.is_empty() {
        return Err(UserError::NotIndexed.into());
    }
    let passages = ctx.retrieve("library", question).k(PASSAGES).await?;
    let source = |passage: &Document| {
        let reference = passage.metadata.as_ref().and_then(|metadata| metadata.get("ref"));
        reference.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let sources = passages.iter().map(source).collect();
    let reply = ctx
        .generate()
        .system("Answer from the passages, and only from them. Cite them by number, such as [1].")
        .prompt(question)
        .docs(passages)
        .await?;
    Ok(Answer { text: reply.text(), sources })
}
