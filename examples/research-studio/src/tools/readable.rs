//! The readable text of an HTML page: its article, without navigation, scripts and forms.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};
use oxikit::prelude::*;

/// Elements whose content is not part of the text.
const SKIPPED: [&str; 12] = [
    "script", "style", "nav", "header", "footer", "aside", "form", "noscript", "svg", "template",
    "iframe", "button",
];
/// Elements that contain the article, if a page has them.
const MAIN: [&str; 2] = ["article", "main"];
/// Elements that begin a new line.
const BLOCKS: [&str; 17] = [
    "p",
    "div",
    "section",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "li",
    "tr",
    "br",
    "pre",
    "blockquote",
    "dt",
    "dd",
    "table",
];

/// A page of the web.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    pub title: String,
    pub url: String,
    /// The readable text, one paragraph per line.
    pub text: String,
}

/// Extracts the title and the readable text.
pub fn page(url: &str, html: &str) -> Page {
    let mut reader = Reader::default();
    let mut emitter = DefaultEmitter::<()>::default();
    // The content of scripts and styles is not HTML.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => reader.open(&tag),
            Token::EndTag(tag) => reader.close(&name_of(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    let text = match reader.article.trim().is_empty() {
        true => &reader.whole,
        false => &reader.article,
    };
    Page { title: lines(&reader.title).replace('\n', " "), url: url.to_owned(), text: lines(text) }
}

#[derive(Default)]
struct Reader {
    title: String,
    /// The text inside of `article` or `main`.
    article: String,
    whole: String,
    /// Depths of the open elements of each kind.
    in_title: usize,
    in_main: usize,
    in_skipped: usize,
}

impl Reader {
    fn open(&mut self, tag: &StartTag<()>) {
        let name = name_of(&tag.name);
        if !tag.self_closing
            && let Some(depth) = self.depth(&name)
        {
            *depth += 1;
        }
        self.block(&name);
    }

    fn close(&mut self, name: &str) {
        if let Some(depth) = self.depth(name) {
            *depth = depth.saturating_sub(1);
        }
        self.block(name);
    }

    fn depth(&mut self, name: &str) -> Option<&mut usize> {
        match name {
            "title" => Some(&mut self.in_title),
            name if MAIN.contains(&name) => Some(&mut self.in_main),
            name if SKIPPED.contains(&name) => Some(&mut self.in_skipped),
            _ => None,
        }
    }

    fn block(&mut self, name: &str) {
        if BLOCKS.contains(&name) {
            self.text("\n");
        }
    }

    fn text(&mut self, text: &str) {
        match (self.in_title > 0, self.in_skipped > 0) {
            (true, _) => self.title.push_str(text),
            (false, true) => {}
            (false, false) => {
                self.whole.push_str(text);
                if self.in_main > 0 {
                    self.article.push_str(text);
                }
            }
        }
    }
}

fn name_of(name: &HtmlString) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The text with single spaces, and without empty lines.
fn lines(text: &str) -> String {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = text.lines().map(line).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_article_is_read() {
        let html = "<html><head><title>Tea &amp; milk</title><style>p { color: red }</style></head>
            <body><nav><p>Home</p></nav><article><h1>Tea</h1><p>Green   tea is <b>not</b> black.</p>
            <script>if (a < b) { alert('<p>no</p>') }</script><ul><li>one<li>two</ul></article>
            <footer>Imprint</footer></body></html>";
        let page = page("https://tea.example/", html);
        assert_eq!(page.title, "Tea & milk");
        assert_eq!(page.text, "Tea\nGreen tea is not black.\none\ntwo");
    }

    #[test]
    fn a_page_without_an_article_is_read_as_a_whole() {
        let page = page("https://tea.example/", "<p>One.<p>Two.<nav>Menu</nav></unknown>");
        assert_eq!((page.title.as_str(), page.text.as_str()), ("", "One.\nTwo."));
    }
}
