//! The inputs of the measurements: a small one and a large one.

use std::cell::Cell;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A small input, as most flows have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Greeting {
    pub(crate) name: String,
    pub(crate) count: u32,
}

impl Greeting {
    pub(crate) fn sample() -> Self {
        Self { name: "Ada Lovelace".to_owned(), count: 3 }
    }
}

/// A large input: lists of lists, as a real document has. `Text` is the type of
/// its strings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Document<Text> {
    id: Text,
    title: Text,
    sections: Vec<Section<Text>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Section<Text> {
    heading: Text,
    page_number: u32,
    paragraphs: Vec<Paragraph<Text>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Paragraph<Text> {
    text: Text,
    tags: Vec<Text>,
    score: f64,
    is_quote: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<Text>,
}

impl Document<String> {
    /// About 48 kB as JSON text.
    pub(crate) fn sample() -> Self {
        let paragraph = |n: u32| Paragraph {
            text: format!("Paragraph {n}: the quick brown fox jumps over the lazy dog. ").repeat(2),
            tags: vec!["animal".into(), "proverb".into(), format!("p{n}")],
            score: 0.25 + f64::from(n) / 64.0,
            is_quote: n.is_multiple_of(3),
            language: n.is_multiple_of(2).then(|| "en".into()),
        };
        let section = |n: u32| Section {
            heading: format!("Section {n}"),
            page_number: n * 2 + 1,
            paragraphs: (0..10).map(|p| paragraph(n * 10 + p)).collect(),
        };
        Self {
            id: "doc-4711".into(),
            title: "A document".into(),
            sections: (0..23).map(section).collect(),
        }
    }
}

thread_local! {
    static FROM_TEXT: Cell<u32> = const { Cell::new(0) };
    static FROM_TREE: Cell<u32> = const { Cell::new(0) };
}

/// A string that knows where it was read from: a parser that reads JSON text
/// lends its visitor a piece of that text, a tree gives its own string away.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Probe(String);

impl Probe {
    /// Does some work; answers how many strings were read from JSON text and how
    /// many from a tree meanwhile.
    pub(crate) fn watch<T>(work: impl FnOnce() -> T) -> (T, u32, u32) {
        FROM_TEXT.set(0);
        FROM_TREE.set(0);
        let result = work();
        (result, FROM_TEXT.get(), FROM_TREE.get())
    }
}

impl<'de> Deserialize<'de> for Probe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Origin;

        impl<'de> Visitor<'de> for Origin {
            type Value = Probe;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Probe, E> {
                FROM_TEXT.set(FROM_TEXT.get() + 1);
                Ok(Probe(text.to_owned()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Probe, E> {
                FROM_TREE.set(FROM_TREE.get() + 1);
                Ok(Probe(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Probe, E> {
                FROM_TREE.set(FROM_TREE.get() + 1);
                Ok(Probe(text))
            }
        }

        deserializer.deserialize_string(Origin)
    }
}

/// The operations of an input.
pub(crate) trait Data:
    Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
}

impl<T: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static> Data for T {}
