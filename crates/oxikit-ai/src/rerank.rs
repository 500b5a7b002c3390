//! Rerankers: actions that order documents anew by how well they fit a query.

use futures_util::future::BoxFuture;
use oxikit_core::{Action, ActionKind, Handler, Registry, Result};
use oxikit_wire::{Document, RankedDocument, RerankRequest, RerankResponse};
use serde_json::{Value, json};

use crate::Oxikit;
use crate::answer::answering;
use crate::handle::{self, action_handle, with_k};

/// Orders documents by how well they fit a query. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reranker(Action);

impl Reranker {
    /// Makes a reranker, without registering it.
    pub fn new<H, Args>(name: impl Into<String>, function: H) -> Self
    where
        H: Handler<Args, In = RerankRequest>,
        H::Out: Into<RerankResponse>,
    {
        let action = Action::builder(ActionKind::Reranker, name)
            .metadata("type", "reranker")
            .metadata("reranker", json!({}))
            .handler(answering::<_, _, RerankResponse>(function));
        Self(action)
    }
}

action_handle!(Reranker);

impl Oxikit {
    /// Defines a reranker. The function takes a [`RerankRequest`], and if it
    /// wants it, the [`Context`](crate::Context); it answers the documents with their scores,
    /// best first, as `Vec<RankedDocument>` or as a [`RerankResponse`].
    ///
    /// ```
    /// use oxikit::{Oxikit, RankedDocument, RerankRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_reranker("shortest", |request: RerankRequest| async move {
    ///     let score = |text: String| 1.0 / (1.0 + text.len() as f64);
    ///     let mut ranked: Vec<_> = request
    ///         .documents
    ///         .into_iter()
    ///         .map(|document| RankedDocument::new(document.clone(), score(document.to_text())))
    ///         .collect();
    ///     ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
    ///     Ok(ranked)
    /// });
    /// let ranked = ai.rerank("shortest", "tea", ["a long text", "short"]).await?;
    /// assert_eq!(ranked[0].to_text(), "short");
    /// # Ok(()) }
    /// ```
    pub fn define_reranker<H, Args>(&self, name: impl Into<String>, function: H) -> Reranker
    where
        H: Handler<Args, In = RerankRequest>,
        H::Out: Into<RerankResponse>,
    {
        let reranker = Reranker::new(name, function);
        self.registry().register(reranker.0.clone());
        reranker
    }

    /// Orders documents by how well they fit the query, best first. Await the call to get them;
    /// `k` and other options may be set before.
    ///
    /// It fails with `NOT_FOUND` if there is no such reranker, and with `INVALID_ARGUMENT` if
    /// `k` is set and the options are not an object.
    pub fn rerank<D: Into<Document>>(
        &self,
        reranker: impl AsRef<str>,
        query: impl Into<Document>,
        documents: impl IntoIterator<Item = D>,
    ) -> RerankCall {
        RerankCall {
            registry: self.registry().clone(),
            reranker: reranker.as_ref().to_owned(),
            query: query.into(),
            documents: documents.into_iter().map(Into::into).collect(),
            k: None,
            options: None,
        }
    }
}

/// A call made by [`Oxikit::rerank`].
#[derive(Debug, Clone)]
#[must_use = "nothing is reranked before it is awaited"]
pub struct RerankCall {
    registry: Registry,
    reranker: String,
    query: Document,
    documents: Vec<Document>,
    k: Option<u32>,
    options: Option<Value>,
}

impl RerankCall {
    /// Sets the maximum number of documents, as the member `k` of the options.
    pub fn k(mut self, k: u32) -> Self {
        self.k = Some(k);
        self
    }

    /// The reranker's own options.
    pub fn options(mut self, options: impl Into<Value>) -> Self {
        self.options = Some(options.into());
        self
    }

    async fn run(self) -> Result<Vec<RankedDocument>> {
        let request = RerankRequest {
            query: self.query,
            documents: self.documents,
            options: with_k(self.options, self.k)?,
        };
        let answer =
            handle::run(&self.registry, ActionKind::Reranker, &self.reranker, request).await?;
        Ok(answer.parse::<RerankResponse>()?.documents)
    }
}

impl IntoFuture for RerankCall {
    type Output = Result<Vec<RankedDocument>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
