//! Documents, and the inputs and outputs of embedders, retrievers, indexers and rerankers.
//!
//! Options are free-form JSON here: each action checks its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JsonObject, Part};

/// A piece of content that is indexed and retrieved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Text and media.
    pub content: Vec<Part>,
    /// Members of any names, such as `ref` or `id`, by which an answer can cite the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Document {
    /// A document of one text part, without metadata.
    ///
    /// ```
    /// use oxikit_wire::Document;
    ///
    /// let document = Document::text("Ferris is a crab.").with_metadata("id", "ferris");
    /// assert_eq!(document.to_text(), "Ferris is a crab.");
    /// assert_eq!(
    ///     serde_json::to_string(&document).unwrap(),
    ///     r#"{"content":[{"text":"Ferris is a crab."}],"metadata":{"id":"ferris"}}"#,
    /// );
    /// ```
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

/// The input of an embedder action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedRequest {
    /// The documents to embed.
    pub input: Vec<Document>,
    /// The embedder's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// The output of an embedder action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedResponse {
    /// The vectors in the order of the input; one or more per document.
    pub embeddings: Vec<Embedding>,
}

impl From<Vec<Vec<f32>>> for EmbedResponse {
    fn from(vectors: Vec<Vec<f32>>) -> Self {
        Self { embeddings: vectors.into_iter().map(Embedding::from).collect() }
    }
}

/// One vector of an embedder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Embedding {
    /// The values of the vector.
    pub embedding: Vec<f32>,
    /// Members of any names, such as the part of the document that the vector stands for.
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
    /// Number of values in each vector.
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub dimensions: Option<u32>,
    /// Supported inputs, such as `{"input":["text"],"multilingual":true}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports: Option<JsonObject>,
}

/// The input of a retriever action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrieveRequest {
    /// The query; its text is compared with the stored documents.
    pub query: Document,
    /// The retriever's own options, such as `k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// The output of a retriever action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrieveResponse {
    /// The documents that match, best first.
    pub documents: Vec<Document>,
}

impl From<Vec<Document>> for RetrieveResponse {
    fn from(documents: Vec<Document>) -> Self {
        Self { documents }
    }
}

/// The input of an indexer action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexRequest {
    /// The documents to store.
    pub documents: Vec<Document>,
    /// The indexer's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// The input of a reranker action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerankRequest {
    /// The query by which the documents are ranked.
    pub query: Document,
    /// The documents to rank, in any order.
    pub documents: Vec<Document>,
    /// The reranker's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// The output of a reranker action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerankResponse {
    /// The documents with their scores, best first.
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
    /// The document's metadata and its score.
    pub metadata: RankedDocumentMetadata,
}

impl RankedDocument {
    /// Gives a document a score. A `score` in the document's metadata is replaced.
    pub fn new(document: Document, score: f64) -> Self {
        let mut other = document.metadata.unwrap_or_default();
        other.shift_remove("score");
        Self { content: document.content, metadata: RankedDocumentMetadata { score, other } }
    }

    /// Relevance to the query; higher is better. The scale is the reranker's own.
    pub fn score(&self) -> f64 {
        self.metadata.score
    }

    /// All text parts as one string.
    pub fn to_text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }
}

impl From<RankedDocument> for Document {
    /// The document, with the score as a member of its metadata.
    fn from(ranked: RankedDocument) -> Self {
        let RankedDocumentMetadata { score, other } = ranked.metadata;
        Self { content: ranked.content, metadata: Some(other) }.with_metadata("score", score)
    }
}

/// Metadata of a ranked document: its own members and the score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankedDocumentMetadata {
    /// Relevance to the query; higher is better. The scale is the reranker's own.
    pub score: f64,
    /// The document's own metadata, beside the score in the same object.
    #[serde(flatten)]
    pub other: JsonObject,
}
