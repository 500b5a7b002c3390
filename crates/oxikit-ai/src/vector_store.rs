//! A vector store in memory: a retriever and an indexer of one name. It is not persistent;
//! larger collections need a database behind a retriever of your own.

mod nearest;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use oxikit_core::{Context, Result, Status, StatusCode};
use oxikit_wire::{Document, IndexRequest, RetrieveRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Indexer, Oxikit, Retriever};
use nearest::{VectorError, Vectors};

/// Number of documents that a search returns by default.
const DEFAULT_K: u32 = 3;
/// Maximum number of documents that a search returns.
const MAX_K: u32 = 1000;
/// Maximum number of documents that are embedded in one call.
const EMBED_BATCH: usize = 100;

/// A vector store in memory, for tests, demonstrations and some ten thousand
/// documents. Cheap to clone.
///
/// Every search compares the query with every document (cosine similarity), so
/// its answers are exact. The documents are lost when the process ends, and adding the same
/// document twice stores it twice. [`Oxikit::define_memory_vector_store`] has an example.
///
/// All vectors have the same number of dimensions. A document whose vector differs is rejected
/// with `FAILED_PRECONDITION`, which happens when the embedder was changed.
#[derive(Debug, Clone)]
pub struct MemoryVectorStore {
    inner: Arc<Inner>,
    retriever: Retriever,
    indexer: Indexer,
}

#[derive(Debug)]
struct Inner {
    name: String,
    embedder: String,
    kept: RwLock<Kept>,
}

/// The document at a position belongs to the vector at the same one.
#[derive(Debug, Default)]
struct Kept {
    documents: Vec<Document>,
    vectors: Vectors,
}

/// The options of the retriever of a [`MemoryVectorStore`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MemoryVectorStoreOptions {
    /// Maximum number of documents: 3 unless given, 1000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    /// Minimum score of a document, from -1 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f32>,
}

impl Oxikit {
    /// Defines a vector store in memory: a retriever and an indexer of this
    /// name, both of which use this embedder.
    ///
    /// ```
    /// use oxikit::{EmbedRequest, Embedder, Oxikit};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_embedder(Embedder::builder("acme/letters").handler(
    ///     |request: EmbedRequest| async move {
    ///         let letters = |text: String| {
    ///             ('a'..='z').map(|letter| text.matches(letter).count() as f32).collect()
    ///         };
    ///         Ok(request.input.iter().map(|document| letters(document.to_text())).collect::<Vec<Vec<f32>>>())
    ///     },
    /// ));
    /// ai.define_memory_vector_store("fruit", "acme/letters");
    /// ai.index("fruit", ["banana", "cherry", "plum"]).await?;
    ///
    /// let found = ai.retrieve("fruit", "bananas").k(1).await?;
    /// assert_eq!(found[0].to_text(), "banana");
    /// # Ok(()) }
    /// ```
    pub fn define_memory_vector_store(
        &self,
        name: impl Into<String>,
        embedder: impl AsRef<str>,
    ) -> MemoryVectorStore {
        let name = name.into();
        let inner = Arc::new(Inner {
            name: name.clone(),
            embedder: embedder.as_ref().to_owned(),
            kept: RwLock::default(),
        });
        let (finder, keeper) = (inner.clone(), inner.clone());
        let retriever = Retriever::builder(&*name)
            .label(format!("{name} (in memory)"))
            .options::<MemoryVectorStoreOptions>()
            .handler(move |request: RetrieveRequest, ctx: Context| {
                let finder = finder.clone();
                async move { finder.retrieve(&Oxikit::of(ctx.registry()), request).await }
            });
        self.registry().register(retriever.clone().into());
        let indexer = self.define_indexer(name, move |request: IndexRequest, ctx: Context| {
            let keeper = keeper.clone();
            async move { keeper.index(&Oxikit::of(ctx.registry()), request).await }
        });
        MemoryVectorStore { inner, retriever, indexer }
    }
}

impl MemoryVectorStore {
    /// The name of its retriever and its indexer.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its retriever.
    pub fn retriever(&self) -> &Retriever {
        &self.retriever
    }

    /// Its indexer.
    pub fn indexer(&self) -> &Indexer {
        &self.indexer
    }

    /// Number of documents in the store.
    pub fn len(&self) -> usize {
        self.inner.read().vectors.len()
    }

    /// Whether the store has no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all documents. After that, vectors of another number of dimensions may be added.
    pub fn clear(&self) {
        let mut kept = self.inner.write();
        kept.documents.clear();
        kept.vectors.clear();
    }
}

impl AsRef<str> for MemoryVectorStore {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

impl Inner {
    async fn retrieve(&self, ai: &Oxikit, request: RetrieveRequest) -> Result<Vec<Document>> {
        let options = read_options(request.options)?;
        let k = options.k.unwrap_or(DEFAULT_K);
        if !(1..=MAX_K).contains(&k) {
            return Err(Status::invalid_argument(format!("`k` is {k}; it can be 1 to {MAX_K}")));
        }
        let query = ai.embed(&self.embedder, request.query).await?;
        // Locked after the embedder has answered: no lock is held over an await.
        let kept = self.read();
        let hits = kept.vectors.nearest(&query, k as usize);
        let hits = hits.map_err(|error| self.refuse(error))?;
        Ok(hits
            .into_iter()
            .filter(|hit| options.min_score.is_none_or(|least| hit.score >= least))
            .map(|hit| kept.documents[hit.index].clone().with_metadata("score", hit.score))
            .collect())
    }

    /// Stores all documents, or none if one of them cannot be embedded.
    async fn index(&self, ai: &Oxikit, request: IndexRequest) -> Result<()> {
        let mut vectors = Vec::with_capacity(request.documents.len());
        for batch in request.documents.chunks(EMBED_BATCH) {
            let embeddings = ai.embed_many(&self.embedder, batch.to_vec()).await?;
            if embeddings.len() != batch.len() {
                return Err(Status::internal(format!(
                    "embedder `{}` answered {} vectors for {} documents; the vector store `{}` \
                     needs one each",
                    self.embedder,
                    embeddings.len(),
                    batch.len(),
                    self.name
                )));
            }
            vectors.extend(embeddings.into_iter().map(|vector| vector.embedding));
        }
        let mut kept = self.write();
        let extended = kept.vectors.extend(&vectors);
        extended.map_err(|error| self.refuse(error))?;
        kept.documents.extend(request.documents);
        Ok(())
    }

    fn refuse(&self, error: VectorError) -> Status {
        let code = match error {
            VectorError::Dimensions { .. } => StatusCode::FailedPrecondition,
            VectorError::Empty | VectorError::NotFinite => StatusCode::Internal,
        };
        let message = format!(
            "vector store `{}` cannot use what embedder `{}` answered: {error}",
            self.name, self.embedder
        );
        Status::new(code, message).caused_by(error)
    }

    // Both lists are whole after every statement, so a panic elsewhere does not
    // spoil them; no guard lives over an await.
    fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_options(options: Option<serde_json::Value>) -> Result<MemoryVectorStoreOptions> {
    let Some(options) = options.filter(|options| !options.is_null()) else {
        return Ok(MemoryVectorStoreOptions::default());
    };
    serde_json::from_value(options).map_err(|error| {
        Status::invalid_argument(format!("the options of the retriever do not fit: {error}"))
    })
}
