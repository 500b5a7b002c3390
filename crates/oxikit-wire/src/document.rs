//! Documents, and what embedders, retrievers, indexers and rerankers do with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JsonObject, Part};

/// Something to be found again: parts and notes about them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Text and media.
    pub content: Vec<Part>,
    /// Notes, such as `ref` or `id`, by which an answer can cite it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Document {
    /// A document of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Part::text(text)], metadata: None }
    }

    /// Adds one metadata member.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// All text parts as one string.
    pub fn to_text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }
}

impl From<&str> for Document {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Document {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// What an embedder is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedRequest {
    /// What is to be embedded.
    pub input: Vec<Document>,
    /// The embedder's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// One vector or more per document, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedResponse {
    /// The vectors.
    pub embeddings: Vec<Embedding>,
}

impl From<Vec<Vec<f32>>> for EmbedResponse {
    fn from(vectors: Vec<Vec<f32>>) -> Self {
        Self { embeddings: vectors.into_iter().map(Embedding::from).collect() }
    }
}

/// A vector.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Embedding {
    /// Its numbers.
    pub embedding: Vec<f32>,
    /// Notes, such as the part of the document it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl From<Vec<f32>> for Embedding {
    fn from(embedding: Vec<f32>) -> Self {
        Self { embedding, metadata: None }
    }
}

/// The member `info` of an embedder action's metadata.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedderInfo {
    /// The name shown to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many numbers a vector has.
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub dimensions: Option<u32>,
    /// What can be embedded, such as `{"input":["text"],"multilingual":true}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports: Option<JsonObject>,
}

/// What a retriever is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrieveRequest {
    /// What to look for.
    pub query: Document,
    /// The retriever's own options, such as `k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// What a retriever found, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrieveResponse {
    /// The documents.
    pub documents: Vec<Document>,
}

impl From<Vec<Document>> for RetrieveResponse {
    fn from(documents: Vec<Document>) -> Self {
        Self { documents }
    }
}

/// What an indexer is to keep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexRequest {
    /// The documents.
    pub documents: Vec<Document>,
    /// The indexer's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// What a reranker is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerankRequest {
    /// What the documents are to be judged by.
    pub query: Document,
    /// The documents.
    pub documents: Vec<Document>,
    /// The reranker's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// The documents with their scores, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerankResponse {
    /// The documents.
    pub documents: Vec<RankedDocument>,
}

impl From<Vec<RankedDocument>> for RerankResponse {
    fn from(documents: Vec<RankedDocument>) -> Self {
        Self { documents }
    }
}

/// A document with its score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankedDocument {
    /// Text and media.
    pub content: Vec<Part>,
    /// The document's notes and its score.
    pub metadata: RankedDocumentMetadata,
}

impl RankedDocument {
    /// A document and how well it fits; a score among its notes is replaced.
    pub fn new(document: Document, score: f64) -> Self {
        let mut other = document.metadata.unwrap_or_default();
        other.shift_remove("score");
        Self { content: document.content, metadata: RankedDocumentMetadata { score, other } }
    }

    /// How well it fits; higher is better.
    pub fn score(&self) -> f64 {
        self.metadata.score
    }

    /// All text parts as one string.
    pub fn to_text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }
}

impl From<RankedDocument> for Document {
    /// The document with the score among its notes.
    fn from(ranked: RankedDocument) -> Self {
        let RankedDocumentMetadata { score, other } = ranked.metadata;
        Self { content: ranked.content, metadata: Some(other) }.with_metadata("score", score)
    }
}

/// Notes of a ranked document: its own and the score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankedDocumentMetadata {
    /// How well it fits; higher is better.
    pub score: f64,
    /// The document's own notes, side by side with the score.
    #[serde(flatten)]
    pub other: JsonObject,
}
