//! The tools of the agents: pages and feeds of the web, documents of a folder, the weather.

pub mod documents;
pub mod feed;
pub mod numbers;
pub mod readable;
pub mod weather;
pub mod web;

pub use documents::Documents;
pub use web::Web;

use oxikit::outgoing::Url;
use oxikit::prelude::*;

/// Defines the tools that models may call and that are served over MCP. The functions behind them
/// are also called by the agents directly.
pub fn define(ai: &Oxikit, web: &Web, documents: &Documents, weather_service: &Url) {
    let pages = web.clone();
    ai.define_tool(
        Tool::builder("readPage")
            .description("Reads a page of the web and returns its title and its readable text.")
            .metadata("readOnly", true)
            .handler(move |input: ReadPage| {
                let web = pages.clone();
                async move { web.page(&input.url).await }
            }),
    );
    let feeds = web.clone();
    ai.define_tool(
        Tool::builder("readFeed")
            .description("Reads an RSS or Atom feed and returns its entries.")
            .metadata("readOnly", true)
            .handler(move |input: ReadPage| {
                let web = feeds.clone();
                async move { web.feed(&input.url).await }
            }),
    );
    let documents = documents.clone();
    ai.define_tool(
        Tool::builder("readDocument")
            .description("Reads a document of the studio's folder by its path in that folder.")
            .metadata("readOnly", true)
            .handler(move |input: ReadDocument| {
                let documents = documents.clone();
                async move { documents.read(&input.path).await }
            }),
    );
    ai.define_tool(weather::tool(web.clone(), weather_service.clone()));
}

/// Names of the tools above.
pub const NAMES: [&str; 4] = ["readPage", "readFeed", "readDocument", "weather"];

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ReadPage {
    /// The address, with `http://` or `https://`.
    url: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ReadDocument {
    /// The path of the document below the folder of documents.
    path: String,
}
