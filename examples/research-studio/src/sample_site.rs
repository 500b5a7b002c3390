//! A small site on this machine, with a search, papers, news and the weather. The studio uses it
//! while no other services are configured, so that it works without a network; the tests use it
//! too.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use oxikit::prelude::*;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::words::{keywords, overlap};

/// The articles: pages of the web, papers and news.
const ARTICLES: &str = include_str!("../sample/articles.json");
/// Maximum number of results of a search.
const RESULTS: usize = 5;

#[derive(Debug, Clone, Deserialize)]
struct Article {
    kind: String,
    slug: String,
    title: String,
    date: String,
    authors: Vec<String>,
    paragraphs: Vec<String>,
}

/// A running site. It ends when this is dropped.
#[derive(Debug)]
pub struct SampleSite {
    address: SocketAddr,
    _end: DropGuard,
}

impl SampleSite {
    /// Starts the site on a free port of this machine.
    ///
    /// # Errors
    ///
    /// If no port can be listened on.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let end = CancellationToken::new();
        let stop = end.clone().cancelled_owned();
        tokio::spawn(async move {
            let served = axum::serve(listener, router(address)).with_graceful_shutdown(stop).await;
            if let Err(error) = served {
                tracing::error!(%error, "the sample site has ended");
            }
        });
        Ok(Self { address, _end: end.drop_guard() })
    }

    /// The URL of a path of the site.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

struct Site {
    articles: Vec<Article>,
    address: SocketAddr,
}

fn router(address: SocketAddr) -> Router {
    let articles =
        serde_json::from_str(ARTICLES).expect("the file is compiled in, and the tests read it");
    Router::new()
        .route("/search", get(search))
        .route("/api/query", get(papers))
        .route("/news.rss", get(news))
        .route("/weather", get(weather))
        .route("/pages/{slug}", get(page))
        .with_state(Arc::new(Site { articles, address }))
}

type Parameters = Query<BTreeMap<String, String>>;

impl Site {
    /// The articles of a kind, those that fit the query best first; without a query all of them.
    fn find(&self, kind: &str, query: &str) -> Vec<&Article> {
        let words = keywords(query);
        let mut found: Vec<_> = self
            .articles
            .iter()
            .filter(|article| article.kind == kind)
            .map(|article| (overlap(&words, &article.text()), article))
            .filter(|(score, _)| *score > 0 || words.is_empty())
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().map(|(_, article)| article).take(RESULTS).collect()
    }

    fn url(&self, article: &Article) -> String {
        format!("http://{}/pages/{}", self.address, article.slug)
    }

    fn rss(&self, articles: &[&Article]) -> Response {
        let item = |article: &&Article| {
            format!(
                "<item><title>{}</title><link>{}</link><description>{}</description><pubDate>{}</pubDate></item>",
                escaped(&article.title),
                self.url(article),
                escaped(&article.paragraphs[0]),
                article.date
            )
        };
        let items: String = articles.iter().map(item).collect();
        xml(format!("<rss version=\"2.0\"><channel><title>Sample</title>{items}</channel></rss>"))
    }
}

impl Article {
    fn text(&self) -> String {
        format!("{}\n{}", self.title, self.paragraphs.join("\n"))
    }
}

async fn search(State(site): State<Arc<Site>>, Query(query): Parameters) -> Response {
    site.rss(&site.find("page", query.get("q").map_or("", String::as_str)))
}

async fn news(State(site): State<Arc<Site>>) -> Response {
    site.rss(&site.find("news", ""))
}

/// The search of arXiv: `search_query=all:tea OR all:milk`.
async fn papers(State(site): State<Arc<Site>>, Query(query): Parameters) -> Response {
    let query = query.get("search_query").map_or("", String::as_str);
    let found = site.find("paper", &query.replace("all:", " ").replace(" OR ", " "));
    let entry = |article: &&Article| {
        let authors: String = article
            .authors
            .iter()
            .map(|name| format!("<author><name>{}</name></author>", escaped(name)))
            .collect();
        format!(
            "<entry><id>{0}</id><link href=\"{0}\" rel=\"alternate\"/><title>{1}</title><summary>{2}</summary><published>{3}</published>{authors}</entry>",
            site.url(article),
            escaped(&article.title),
            escaped(&article.paragraphs.join(" ")),
            article.date
        )
    };
    let entries: String = found.iter().map(entry).collect();
    xml(format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{entries}</feed>"))
}

async fn page(State(site): State<Arc<Site>>, Path(slug): Path<String>) -> Response {
    let Some(article) = site.articles.iter().find(|article| article.slug == slug) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let paragraph = |text: &String| format!("<p>{}</p>", escaped(text));
    let paragraphs: String = article.paragraphs.iter().map(paragraph).collect();
    let title = escaped(&article.title);
    let html = format!(
        "<!doctype html><html><head><title>{title}</title></head><body><nav><a href=\"/\">Sample site</a></nav><article><h1>{title}</h1>{paragraphs}</article><footer>Sample texts, not facts.</footer></body></html>"
    );
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

async fn weather(Query(query): Parameters) -> Response {
    const CITIES: [(&str, f64, &str); 4] = [
        ("Berlin", 7.5, "light rain"),
        ("Lisbon", 18.0, "sunny"),
        ("Nairobi", 22.5, "cloudy"),
        ("Tokyo", 14.0, "clear"),
    ];
    let city = query.get("city").map_or("", |city| city.trim());
    let known = CITIES.iter().find(|(name, ..)| name.eq_ignore_ascii_case(city));
    let answer = match known {
        Some((city, temperature, conditions)) => {
            json!({ "city": city, "temperature": temperature, "conditions": conditions })
        }
        None => json!({ "error": "unknown city" }),
    };
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

fn xml(text: String) -> Response {
    let text = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>{text}");
    ([(header::CONTENT_TYPE, "application/xml; charset=utf-8")], text).into_response()
}

fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}
