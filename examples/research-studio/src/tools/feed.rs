//! RSS 2.0 and Atom feeds, and the search services that answer with them (arXiv, OpenSearch).

use oxikit::outgoing::Url;
use oxikit::prelude::*;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use super::readable;

/// Maximum number of entries that are read. The rest is left out.
const MAX_ITEMS: usize = 100;

/// One entry of a feed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FeedItem {
    pub title: String,
    pub url: String,
    /// The summary, as text.
    pub summary: String,
    /// The date as the feed writes it.
    pub published: String,
    pub authors: Vec<String>,
}

/// The URL of an arXiv-style search: the keywords joined by `AND`.
pub fn papers_url(base: &Url, keywords: &[String], results: usize) -> String {
    let query: Vec<_> = keywords.iter().map(|word| format!("all:{word}")).collect();
    let mut url = base.clone();
    url.query_pairs_mut()
        .append_pair("search_query", &query.join(" OR "))
        .append_pair("start", "0")
        .append_pair("max_results", &results.to_string());
    url.into()
}

/// The URL of an OpenSearch service that answers with a feed.
pub fn search_url(base: &Url, query: &str) -> String {
    let mut url = base.clone();
    url.query_pairs_mut().append_pair("q", query).append_pair("format", "rss");
    url.into()
}

/// Reads a feed.
///
/// # Errors
///
/// A sentence that says why the text is not a feed.
pub fn parse(text: &str) -> Result<Vec<FeedItem>, String> {
    let mut reader = Reader::from_str(text);
    let mut feed = Feed::default();
    loop {
        let event = reader.read_event().map_err(|error| format!("it is not XML: {error}"))?;
        match event {
            Event::Start(tag) => feed.open(&tag),
            Event::Empty(tag) => {
                feed.open(&tag);
                feed.close();
            }
            Event::End(_) => feed.close(),
            Event::Text(text) => feed.text(&text),
            Event::CData(text) => feed.text(&text),
            Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                Ok(Some(char)) => feed.text(char.encode_utf8(&mut [0; 4])),
                _ => feed.text(resolve_predefined_entity(&entity).unwrap_or_default()),
            },
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    match feed.is_feed {
        true => Ok(feed.items),
        false => Err("it is neither an RSS nor an Atom feed".to_owned()),
    }
}

#[derive(Default)]
struct Feed {
    /// The open elements, by their names without a prefix.
    path: Vec<String>,
    is_feed: bool,
    item: Option<FeedItem>,
    items: Vec<FeedItem>,
    /// The text of the innermost element.
    text: String,
}

impl Feed {
    fn open(&mut self, tag: &BytesStart<'_>) {
        let name = tag.local_name().as_ref().to_owned();
        match name.as_str() {
            "rss" | "feed" | "RDF" => self.is_feed = true,
            "item" | "entry" if self.items.len() < MAX_ITEMS => {
                self.item = Some(FeedItem::default());
            }
            "link" => self.link(tag),
            _ => {}
        }
        self.path.push(name);
        self.text.clear();
    }

    /// The link of Atom is an attribute. A link without `rel`, or an `alternate` one, is the page.
    fn link(&mut self, tag: &BytesStart<'_>) {
        let value = |name: &str| {
            let attribute = tag.try_get_attribute(name).ok().flatten()?;
            Some(attribute.value.replace("&amp;", "&"))
        };
        let is_page = value("rel").is_none_or(|rel| rel == "alternate");
        if let (Some(item), Some(href), true) = (&mut self.item, value("href"), is_page) {
            item.url = href;
        }
    }

    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn close(&mut self) {
        let Some(name) = self.path.pop() else { return };
        let text = std::mem::take(&mut self.text).trim().to_owned();
        if matches!(name.as_str(), "item" | "entry") {
            self.items.extend(self.item.take().filter(|item| !item.url.is_empty()));
            return;
        }
        let Some(item) = &mut self.item else { return };
        match name.as_str() {
            "title" if item.title.is_empty() => item.title = one_line(&text),
            "link" | "guid" | "id" if item.url.is_empty() => item.url = text,
            "description" | "summary" | "content" if item.summary.is_empty() => {
                item.summary = one_line(&readable::page("", &text).text);
            }
            "pubDate" | "published" | "updated" | "date" if item.published.is_empty() => {
                item.published = text;
            }
            // `author` of RSS, `name` inside of `author` of Atom.
            "author" | "creator" | "name" if !text.is_empty() => item.authors.push(text),
            _ => {}
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rss_is_read() {
        let feed = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title>
            <link>https://news.example/</link>
            <item><title>Tea &amp; milk</title><link>https://news.example/1?a=1&amp;b=2</link>
            <description><![CDATA[<p>Tea is <b>back</b>.</p>]]></description>
            <pubDate>Mon, 02 Nov 2026 08:00:00 GMT</pubDate></item>
            <item><title>Without a link</title></item></channel></rss>";
        let item = FeedItem {
            title: "Tea & milk".to_owned(),
            url: "https://news.example/1?a=1&b=2".to_owned(),
            summary: "Tea is back.".to_owned(),
            published: "Mon, 02 Nov 2026 08:00:00 GMT".to_owned(),
            authors: vec![],
        };
        assert_eq!(parse(feed), Ok(vec![item]));
    }

    #[test]
    fn atom_is_read_as_arxiv_writes_it() {
        let feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Results</title>
            <entry><id>http://arxiv.example/abs/1</id><updated>2026-01-02T00:00:00Z</updated>
            <title>Leaves\n  of tea</title><summary>We brew.</summary>
            <author><name>Ada</name></author><author><name>Grace</name></author>
            <link href=\"http://arxiv.example/abs/1v1\" rel=\"alternate\" type=\"text/html\"/>
            <link title=\"pdf\" href=\"http://arxiv.example/pdf/1v1\" rel=\"related\"/></entry></feed>";
        let items = parse(feed).unwrap();
        assert_eq!(items[0].title, "Leaves of tea");
        assert_eq!(items[0].url, "http://arxiv.example/abs/1v1");
        assert_eq!(items[0].authors, ["Ada", "Grace"]);
        assert_eq!(items[0].published, "2026-01-02T00:00:00Z");
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(
            parse("<html><p>no</p></html>"),
            Err("it is neither an RSS nor an Atom feed".to_owned())
        );
        assert!(parse("<rss><item></rss>").unwrap_err().starts_with("it is not XML"));
    }

    #[test]
    fn search_urls_escape_the_question() {
        let base = Url::parse("https://search.example/find?lang=en").unwrap();
        assert_eq!(
            search_url(&base, "tea & milk"),
            "https://search.example/find?lang=en&q=tea+%26+milk&format=rss"
        );
        let words = ["tea".to_owned(), "milk".to_owned()];
        assert_eq!(
            papers_url(&Url::parse("https://arxiv.example/api/query").unwrap(), &words, 3),
            "https://arxiv.example/api/query?search_query=all%3Atea+OR+all%3Amilk&start=0&max_results=3"
        );
    }
}
