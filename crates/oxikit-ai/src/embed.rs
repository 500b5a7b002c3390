//! Embedders: actions that turn documents into vectors. Storing and searching vectors is the
//! work of retrievers and indexers.

use futures_util::future::BoxFuture;
use oxikit_core::{Action, ActionKind, Handler, Registry, Result, Status};
use oxikit_wire::{Document, EmbedRequest, EmbedResponse, EmbedderInfo, Embedding, JsonObject};
use serde_json::{Value, json};

use crate::Oxikit;
use crate::answer::answering;
use crate::handle::{self, action_handle};

/// Turns documents into vectors, so that similar documents have vectors that are close to each
/// other. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Embedder(Action);

impl Embedder {
    /// Begins the definition of an embedder, such as `acme/embed`. A plugin registers what
    /// [`EmbedderBuilder::handler`] makes; an application uses [`Oxikit::define_embedder`].
    pub fn builder(name: impl Into<String>) -> EmbedderBuilder {
        EmbedderBuilder { name: name.into(), info: EmbedderInfo::default() }
    }
}

action_handle!(Embedder);

/// The definition of an [`Embedder`].
#[derive(Debug, Clone)]
#[must_use = "an embedder is made by `handler`"]
pub struct EmbedderBuilder {
    name: String,
    info: EmbedderInfo,
}

impl EmbedderBuilder {
    /// Sets the name that the developer tools show; the embedder's name unless set.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.info.label = Some(label.into());
        self
    }

    /// Sets the number of dimensions of the vectors. It is information for the developer tools
    /// and is not checked.
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.info.dimensions = Some(dimensions);
        self
    }

    /// Sets the abilities of the embedder, such as `{"input":["text"],"multilingual":true}`.
    pub fn supports(mut self, supports: JsonObject) -> Self {
        self.info.supports = Some(supports);
        self
    }

    /// Makes the embedder. The function takes an [`EmbedRequest`], and if it
    /// wants it, the [`Context`](crate::Context); it answers one vector per document in the
    /// same order, as `Vec<Vec<f32>>` or as an [`EmbedResponse`].
    pub fn handler<H, Args>(self, function: H) -> Embedder
    where
        H: Handler<Args, In = EmbedRequest>,
        H::Out: Into<EmbedResponse>,
    {
        let action = Action::builder(ActionKind::Embedder, self.name)
            .metadata("type", "embedder")
            .metadata("info", json!(self.info))
            .metadata("embedder", json!({}))
            .handler(answering::<_, _, EmbedResponse>(function));
        Embedder(action)
    }
}

impl Oxikit {
    /// Defines an embedder of the application's own.
    ///
    /// ```
    /// use oxikit::{EmbedRequest, Embedder, Oxikit};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_embedder(Embedder::builder("acme/letters").dimensions(2).handler(
    ///     |request: EmbedRequest| async move {
    ///         let count = |text: &str, letter| text.matches(letter).count() as f32;
    ///         let embed = |text: String| vec![count(&text, 'a'), count(&text, 'b')];
    ///         Ok(request.input.iter().map(|document| embed(document.to_text())).collect::<Vec<_>>())
    ///     },
    /// ));
    /// assert_eq!(ai.embed("acme/letters", "banana").await?, [3.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn define_embedder(&self, embedder: Embedder) -> Embedder {
        self.registry().register(embedder.0.clone());
        embedder
    }

    /// Embeds one document. Await the call to get its vector; options may be added before.
    ///
    /// It fails with `NOT_FOUND` if there is no such embedder, and with `INTERNAL` if the
    /// embedder does not answer exactly one vector.
    pub fn embed(&self, embedder: impl AsRef<str>, document: impl Into<Document>) -> EmbedCall {
        EmbedCall {
            registry: self.registry().clone(),
            embedder: embedder.as_ref().to_owned(),
            document: document.into(),
            options: None,
        }
    }

    /// Embeds many documents in one call of the embedder. Await the call to get the vectors;
    /// options may be added before.
    ///
    /// The vectors are returned as the embedder gave them: one per document in
    /// the same order, except from embedders that split documents themselves. The documents are
    /// not split into batches; providers limit their number.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// # use oxikit::{Oxikit, offline_embedder};
    /// # let ai = Oxikit::builder().build()?;
    /// # ai.define_embedder(offline_embedder());
    /// let vectors = ai.embed_many("offline/embed", ["green tea", "black tea"]).await?;
    /// assert_eq!(vectors.len(), 2);
    /// # Ok(()) }
    /// ```
    pub fn embed_many<D: Into<Document>>(
        &self,
        embedder: impl AsRef<str>,
        documents: impl IntoIterator<Item = D>,
    ) -> EmbedManyCall {
        EmbedManyCall {
            registry: self.registry().clone(),
            embedder: embedder.as_ref().to_owned(),
            request: EmbedRequest {
                input: documents.into_iter().map(Into::into).collect(),
                options: None,
            },
        }
    }
}

/// A call made by [`Oxikit::embed`].
#[derive(Debug, Clone)]
#[must_use = "nothing is embedded before it is awaited"]
pub struct EmbedCall {
    registry: Registry,
    embedder: String,
    document: Document,
    options: Option<Value>,
}

impl EmbedCall {
    /// The embedder's own options.
    pub fn options(mut self, options: impl Into<Value>) -> Self {
        self.options = Some(options.into());
        self
    }

    async fn run(self) -> Result<Vec<f32>> {
        let request = EmbedRequest { input: vec![self.document], options: self.options };
        let mut vectors = run(&self.registry, &self.embedder, request).await?;
        let count = vectors.len();
        match vectors.pop() {
            Some(vector) if count == 1 => Ok(vector.embedding),
            _ => Err(Status::internal(format!(
                "embedder `{}` answered {count} vectors for one document; \
                 `embed_many` takes as many as there are",
                self.embedder
            ))),
        }
    }
}

impl IntoFuture for EmbedCall {
    type Output = Result<Vec<f32>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A call made by [`Oxikit::embed_many`].
#[derive(Debug, Clone)]
#[must_use = "nothing is embedded before it is awaited"]
pub struct EmbedManyCall {
    registry: Registry,
    embedder: String,
    request: EmbedRequest,
}

impl EmbedManyCall {
    /// The embedder's own options.
    pub fn options(mut self, options: impl Into<Value>) -> Self {
        self.request.options = Some(options.into());
        self
    }
}

impl IntoFuture for EmbedManyCall {
    type Output = Result<Vec<Embedding>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { run(&self.registry, &self.embedder, self.request).await })
    }
}

async fn run(registry: &Registry, name: &str, request: EmbedRequest) -> Result<Vec<Embedding>> {
    let answer = handle::run(registry, ActionKind::Embedder, name, request).await?;
    Ok(answer.parse::<EmbedResponse>()?.embeddings)
}
