//! Embedders: actions that turn documents into vectors.

use futures_util::future::BoxFuture;
use oxikit_core::{Action, ActionKind, Call, Handler, Registry, Result, Status};
use oxikit_wire::{Document, EmbedRequest, EmbedResponse, EmbedderInfo, Embedding, JsonObject};
use serde_json::{Value, json};

use crate::answer::answering;
use crate::{Oxikit, lookup};

/// Turns documents into vectors, so that what is alike lies close together.
/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Embedder(Action);

impl Embedder {
    /// Begins the definition of an embedder, such as `acme/embed`.
    pub fn builder(name: impl Into<String>) -> EmbedderBuilder {
        EmbedderBuilder { name: name.into(), info: EmbedderInfo::default() }
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

impl AsRef<str> for Embedder {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

impl From<Embedder> for Action {
    fn from(embedder: Embedder) -> Self {
        embedder.0
    }
}

/// The definition of an [`Embedder`].
#[derive(Debug, Clone)]
#[must_use = "an embedder is made by `handler`"]
pub struct EmbedderBuilder {
    name: String,
    info: EmbedderInfo,
}

impl EmbedderBuilder {
    /// The name shown to people.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.info.label = Some(label.into());
        self
    }

    /// How many numbers a vector has.
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.info.dimensions = Some(dimensions);
        self
    }

    /// What can be embedded, such as `{"input":["text"],"multilingual":true}`.
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
    /// let ai = Oxikit::builder().build();
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

    /// The vector of one document. Await it; options may be added before.
    pub fn embed(&self, embedder: impl AsRef<str>, document: impl Into<Document>) -> EmbedCall {
        EmbedCall {
            registry: self.registry().clone(),
            embedder: embedder.as_ref().to_owned(),
            document: document.into(),
            options: None,
        }
    }

    /// The vectors of many documents in one call. Await it; options may be
    /// added before.
    ///
    /// All vectors are answered as the embedder gave them: one per document in
    /// the same order, except from embedders that split documents themselves.
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
    let action = lookup::find(registry, ActionKind::Embedder, name).await?;
    let call = Call::new(request).in_registry(registry);
    let response: EmbedResponse = action.run(call).await?.parse()?;
    Ok(response.embeddings)
}
