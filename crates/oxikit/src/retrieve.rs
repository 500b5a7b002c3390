//! Retrievers find documents, indexers keep them to be found.

use futures_util::future::BoxFuture;
use oxikit_core::{Action, ActionKind, Call, Context, Handler, Registry, Result, Schema, Status};
use oxikit_wire::{Document, IndexRequest, JsonObject, RetrieveRequest, RetrieveResponse};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::answer::answering;
use crate::{EmbedCall, Oxikit, RerankCall, lookup};

/// Finds the documents that fit a query. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Retriever(Action);

/// Keeps documents where a retriever finds them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Indexer(Action);

impl Retriever {
    /// Begins the definition of a retriever that has more than a name, or that
    /// a plugin brings.
    pub fn builder(name: impl Into<String>) -> RetrieverBuilder {
        RetrieverBuilder { name: name.into(), info: JsonObject::new(), own: JsonObject::new() }
    }

    /// The name by which it is found.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The action behind it.
    pub fn action(&self) -> &Action {
        &self.0
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

    /// The name by which it is found.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The action behind it.
    pub fn action(&self) -> &Action {
        &self.0
    }
}

impl AsRef<str> for Retriever {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

impl AsRef<str> for Indexer {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

impl From<Retriever> for Action {
    fn from(retriever: Retriever) -> Self {
        retriever.0
    }
}

impl From<Indexer> for Action {
    fn from(indexer: Indexer) -> Self {
        indexer.0
    }
}

/// The definition of a [`Retriever`].
#[derive(Debug, Clone)]
#[must_use = "a retriever is made by `handler`"]
pub struct RetrieverBuilder {
    name: String,
    info: JsonObject,
    own: JsonObject,
}

impl RetrieverBuilder {
    /// The name shown to people.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.info.insert("label".into(), label.into().into());
        self
    }

    /// Lists `T` as the options that the retriever takes.
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
    /// let ai = Oxikit::builder().build();
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
    /// wants it, the [`Context`]; it answers `()` when the documents are kept.
    pub fn define_indexer<H, Args>(&self, name: impl Into<String>, function: H) -> Indexer
    where
        H: Handler<Args, In = IndexRequest, Out = ()>,
    {
        let indexer = Indexer::new(name, function);
        self.registry().register(indexer.0.clone());
        indexer
    }

    /// The documents that fit a query, best first. Await it; `k` and other
    /// options may be set before.
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

    /// Hands documents to an indexer. Await it; options may be added before.
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

/// What an action's code can look up from its [`Context`], in the application
/// that the action belongs to.
///
/// ```
/// use oxikit::prelude::*;
/// use oxikit::offline_embedder;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().build();
/// ai.define_embedder(offline_embedder());
/// ai.define_memory_vector_store("facts", "offline/embed");
/// ai.index("facts", ["Snails have teeth.", "Honey does not spoil."]).await?;
///
/// let look_up = ai.define_flow("lookUp", |question: String, ctx: Context| async move {
///     let found = ctx.retrieve("facts", question).k(1).await?;
///     Ok(found[0].to_text())
/// });
/// assert_eq!(look_up.run("Do snails bite?".to_owned()).await?, "Snails have teeth.");
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
    /// How many documents at most: the member `k` of the options.
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
        let action = lookup::find(&self.registry, ActionKind::Retriever, &self.retriever).await?;
        let call = Call::new(request).in_registry(&self.registry);
        let response: RetrieveResponse = action.run(call).await?.parse()?;
        Ok(response.documents)
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
        let action = lookup::find(&self.registry, ActionKind::Indexer, &self.indexer).await?;
        let call = Call::new(self.request).in_registry(&self.registry);
        action.run(call).await.map(drop)
    }
}

impl IntoFuture for IndexCall {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The options with the member `k` among them.
pub(crate) fn with_k(options: Option<Value>, k: Option<u32>) -> Result<Option<Value>> {
    let Some(k) = k else { return Ok(options) };
    match options.unwrap_or_else(|| json!({})) {
        Value::Object(mut members) => {
            members.insert("k".into(), k.into());
            Ok(Some(members.into()))
        }
        other => Err(Status::invalid_argument(format!(
            "`k` cannot be added to the options `{other}`: they are not an object"
        ))),
    }
}
