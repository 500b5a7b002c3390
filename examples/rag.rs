//! Answers a question from documents: stores them, retrieves the relevant ones, and passes
//! them to the model.
//!
//! ```sh
//! cargo run --bin rag -- "How hot is the water for green tea?"
//! ```
//!
//! It runs offline, with an embedder that only hashes words and a model that only repeats
//! its input. For real answers replace `Offline` with the plugin of a provider, and the
//! names of the embedder and the model with those of the provider.

use oxikit::offline::{DEMO_MODEL, Offline};
use oxikit::prelude::*;

const HANDBOOK: [(&str, &str); 4] = [
    ("green", "Green tea: water of 80 degrees, two minutes."),
    ("black", "Black tea: boiling water, four minutes."),
    ("milk", "Milk goes into the cup before black tea, never into green tea."),
    ("hours", "The tea room is open from nine to five, and closed on Mondays."),
];

#[derive(Serialize, Deserialize, JsonSchema)]
struct Answer {
    text: String,
    /// The pages of the handbook that the answer is based on.
    sources: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model(DEMO_MODEL).build()?;

    // This defines a retriever and an indexer with the name `handbook`.
    ai.define_memory_vector_store("handbook", "offline/embed");
    let pages = HANDBOOK.map(|(page, text)| Document::text(text).with_metadata("ref", page));
    ai.index("handbook", pages).await?;

    let ask = ai.define_flow("ask", |question: String, ctx: Context| async move {
        let pages = ctx.retrieve("handbook", question.as_str()).k(2).await?;
        let sources = pages.iter().filter_map(reference).collect();
        let reply = ctx
            .generate()
            .system("Answer from the handbook, and only from it.")
            .prompt(question)
            .docs(pages)
            .await?;
        Ok(Answer { text: reply.text(), sources })
    });

    let question = std::env::args().nth(1);
    let question = question.unwrap_or_else(|| "How hot is the water for green tea?".to_owned());
    let answer = ask.run(question).await?;
    println!("{}\nSources: {}", answer.text, answer.sources.join(", "));
    Ok(())
}

fn reference(page: &Document) -> Option<String> {
    Some(page.metadata.as_ref()?.get("ref")?.as_str()?.to_owned())
}
