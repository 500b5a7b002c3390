//! Retrievers find documents; indexers store documents, so that a retriever finds them.

use futures_util::future::BoxFuture;
use oxikit_core::{Action, ActionKind, Context, Handler, Registry, Result, Schema};
use oxikit_wire::{Document, IndexRequest, JsonObject, RetrieveRequest, RetrieveResponse};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::Oxikit;
use crate::answer::answering;
use crate::embed::EmbedCall;
use crate::handle::{self, action_handle, with_k};
use crate::rerank::RerankCall;

/// Finds the documents that fit a query. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Retriever(Action);

/// Stores documents where a retriever finds them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Indexer(Action);

impl Retriever {
    /// Begins the definition of a retriever that has a label or options, or that belongs to a
    /// plugin. For others [`Oxikit::define_retriever`] is shorter.
    pub fn builder(name: impl Into<String>) -> RetrieverBuilder {
        RetrieverBuilder { name: name.into(), info: JsonObject::new(), own: JsonObject::new() }
    }
}

impl Indexer {
    /// Makes an indexer, without registering it.
    pub fn new<H, Args>(name: impl Into<String>, function: H) -> Self
    where
        H: Handler<Args, In = IndexRequest, Out = ()>,
    {
        let action = Action::builder(ActionKind::Indexer, name)
            .metadata("type", "indexer")
            .metadata("indexer", json!({}))
            .handler(answering::<_, _, ()>(function));
        Self(action)
    }
}

action_handle!(Retriever);

action_handle!(Indexer);

/// The definition of a [`Retriever`].
#[derive(Debug, Clone)]
#[must_use = "a retriever is made by `handler`"]
pub struct RetrieverBuilder {
    name: String,
    info: JsonObject,
    own: JsonObject,
}

impl RetrieverBuilder {
    /// Sets the name that the developer tools show.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.info.insert("label".into(), label.into().into());
        self
    }

    /// Sets `T` as the type of the retriever's options. The developer tools show its schema; the
    /// handler still receives the options as JSON and checks them itself.
    pub fn options<T: JsonSchema>(mut self) -> Self {
        let schema = Schema::of::<T>().as_json().clone();
        self.own.insert("customOptions".into(), schema);
        self
    }

    /// Makes the retriever, without registering it: a plugin does that by
    /// [`Registry::register`].
    pub fn handler<H, Args>(self, function: H) -> Retriever
    where
        H: Handler<Args, In = RetrieveRequest>,
        H::Out: Into<RetrieveResponse>,
    {
        let mut action = Action::builder(ActionKind::Retriever, self.name)
            .metadata("type", "retriever")
            .metadata("retriever", self.own);
        if !self.info.is_empty() {
            action = action.metadata("info", self.info);
        }
        Retriever(action.handler(answering::<_, _, RetrieveResponse>(function)))
    }
}

impl Oxikit {
    /// Defines a retriever. The function takes a [`RetrieveRequest`], and if it
    /// wants it, the [`Context`]; it answers the documents, best first, as
    /// `Vec<Document>` or as a [`RetrieveResponse`].
    ///
    /// ```
    /// use oxikit::{Document, Oxikit, RetrieveRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_retriever("menu", |request: RetrieveRequest| async move {
    ///     let wanted = request.query.to_text();
    ///     let dishes = ["tea with milk", "black tea", "coffee"];
    ///     Ok(dishes.into_iter().filter(|dish| dish.contains(&wanted)).map(Document::text).collect::<Vec<_>>())
    /// });
    /// let found = ai.retrieve("menu", "tea").await?;
    /// assert_eq!(found, [Document::text("tea with milk"), Document::text("black tea")]);
    /// # Ok(()) }
    /// ```
    pub fn define_retriever<H, Args>(&self, name: impl Into<String>, function: H) -> Retriever
    where
        H: Handler<Args, In = RetrieveRequest>,
        H::Out: Into<RetrieveResponse>,
    {
        let retriever = Retriever::builder(name).handler(function);
        self.registry().register(retriever.0.clone());
        retriever
    }

    /// Defines an indexer. The function takes an [`IndexRequest`], and if it
    /// wants it, the [`Context`]; it answers `()` when the documents are stored.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use oxikit::{IndexRequest, Oxikit};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// let stored = Arc::new(Mutex::new(Vec::new()));
    /// let documents = stored.clone();
    /// ai.define_indexer("notes", move |request: IndexRequest| {
    ///     documents.lock().unwrap().extend(request.documents);
    ///     async { Ok(()) }
    /// });
    /// ai.index("notes", ["tea with milk"]).await?;
    /// assert_eq!(stored.lock().unwrap().len(), 1);
    /// # Ok(()) }
    /// ```
    pub fn define_indexer<H, Args>(&self, name: impl Into<String>, function: H) -> Indexer
    where
        H: Handler<Args, In = IndexRequest, Out = ()>,
    {
        let indexer = Indexer::new(name, function);
        self.registry().register(indexer.0.clone());
        indexer
    }

    /// Retrieves the documents that fit a query, best first. Await the call to get them; `k` and
    /// other options may be set before.
    ///
    /// It fails with `NOT_FOUND` if there is no such retriever, and with `INVALID_ARGUMENT` if
    /// `k` is set and the options are not an object.
    ///
    /// ```no_run
    /// # async fn f(ai: oxikit::Oxikit) -> oxikit::Result<()> {
    /// let documents = ai.retrieve("docs", "How do I brew tea?").k(5).await?;
    /// # Ok(()) }
    /// ```
    pub fn retrieve(&self, retriever: impl AsRef<str>, query: impl Into<Document>) -> RetrieveCall {
        RetrieveCall {
            registry: self.registry().clone(),
            retriever: retriever.as_ref().to_owned(),
            query: query.into(),
            k: None,
            options: None,
        }
    }

    /// Stores documents by an indexer. Await the call; options may be added before. It fails
    /// with `NOT_FOUND` if there is no such indexer.
    pub fn index<D: Into<Document>>(
        &self,
        indexer: impl AsRef<str>,
        documents: impl IntoIterator<Item = D>,
    ) -> IndexCall {
        IndexCall {
            registry: self.registry().clone(),
            indexer: indexer.as_ref().to_owned(),
            request: IndexRequest {
                documents: documents.into_iter().map(Into::into).collect(),
                options: None,
            },
        }
    }
}

/// Embeds, retrieves, indexes and reranks from the [`Context`] of an action, in the application
/// that the action belongs to.
///
/// ```
/// use oxikit::prelude::*;
/// use oxikit::offline_embedder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().build()?;
/// ai.define_embedder(offline_embedder());
/// ai.define_memory_vector_store("facts", "offline/embed");
/// ai.index("facts", ["Snails have teeth.", "Honey does not spoil."]).await?;
///
/// let look_up = ai.define_flow("lookUp", |question: String, ctx: Context| async move {
///     let found = ctx.retrieve("facts", question).k(1).await?;
///     Ok(found[0].to_text())
/// });
/// assert_eq!(look_up.run("Do snails bite?").await?, "Snails have teeth.");
/// # Ok(()) }
/// ```
pub trait RetrievalExt {
    /// As [`Oxikit::embed`].
    fn embed(&self, embedder: impl AsRef<str>, document: impl Into<Document>) -> EmbedCall;

    /// As [`Oxikit::retrieve`].
    fn retrieve(&self, retriever: impl AsRef<str>, query: impl Into<Document>) -> RetrieveCall;

    /// As [`Oxikit::index`].
    fn index<D: Into<Document>>(
        &self,
        indexer: impl AsRef<str>,
        documents: impl IntoIterator<Item = D>,
    ) -> IndexCall;

    /// As [`Oxikit::rerank`].
    fn rerank<D: Into<Document>>(
        &self,
        reranker: impl AsRef<str>,
        query: impl Into<Document>,
        documents: impl IntoIterator<Item = D>,
    ) -> RerankCall;
}

impl RetrievalExt for Context {
    fn embed(&self, embedder: impl AsRef<str>, document: impl Into<Document>) -> EmbedCall {
        Oxikit::of(self.registry()).embed(embedder, document)
    }

    fn retrieve(&self, retriever: impl AsRef<str>, query: impl Into<Document>) -> RetrieveCall {
        Oxikit::of(self.registry()).retrieve(retriever, query)
    }

    fn index<D: Into<Document>>(
        &self,
        indexer: impl AsRef<str>,
        documents: impl IntoIterator<Item = D>,
    ) -> IndexCall {
        Oxikit::of(self.registry()).index(indexer, documents)
    }

    fn rerank<D: Into<Document>>(
        &self,
        reranker: impl AsRef<str>,
        query: impl Into<Document>,
        documents: impl IntoIterator<Item = D>,
    ) -> RerankCall {
        Oxikit::of(self.registry()).rerank(reranker, query, documents)
    }
}

/// A call made by [`Oxikit::retrieve`].
#[derive(Debug, Clone)]
#[must_use = "nothing is retrieved before it is awaited"]
pub struct RetrieveCall {
    registry: Registry,
    retriever: String,
    query: Document,
    k: Option<u32>,
    options: Option<Value>,
}

impl RetrieveCall {
    /// Sets the maximum number of documents, as the member `k` of the options. Without it the
    /// retriever's own default applies.
    pub fn k(mut self, k: u32) -> Self {
        self.k = Some(k);
        self
    }

    /// The retriever's own options.
    pub fn options(mut self, options: impl Into<Value>) -> Self {
        self.options = Some(options.into());
        self
    }

    async fn run(self) -> Result<Vec<Document>> {
        let request = RetrieveRequest { query: self.query, options: with_k(self.options, self.k)? };
        let answer =
            handle::run(&self.registry, ActionKind::Retriever, &self.retriever, request).await?;
        Ok(answer.parse::<RetrieveResponse>()?.documents)
    }
}

impl IntoFuture for RetrieveCall {
    type Output = Result<Vec<Document>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A call made by [`Oxikit::index`].
#[derive(Debug, Clone)]
#[must_use = "nothing is kept before it is awaited"]
pub struct IndexCall {
    registry: Registry,
    indexer: String,
    request: IndexRequest,
}

impl IndexCall {
    /// The indexer's own options.
    pub fn options(mut self, options: impl Into<Value>) -> Self {
        self.request.options = Some(options.into());
        self
    }

    async fn run(self) -> Result<()> {
        handle::run(&self.registry, ActionKind::Indexer, &self.indexer, self.request)
            .await
            .map(drop)
    }
}

impl IntoFuture for IndexCall {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
