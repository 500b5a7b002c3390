//! The application: models, tools and the parts that all agents and flows share.

use std::sync::Arc;

use oxikit::offline::Offline;
use oxikit::outgoing::Url;
use oxikit::prelude::*;
use oxikit::providers::{Anthropic, GoogleAi, Ollama, OpenAi};
use oxikit::serve::ApiKey;
use oxikit::serve::a2a::A2aAgent;
use oxikit::{MemoryVectorStore, Turn, TurnReply};
use tokio_util::task::TaskTracker;

use crate::database::Database;
use crate::delegation::Directory;
use crate::offline::OfflineStudio;
use crate::records::AgentName;
use crate::sample_site::SampleSite;
use crate::settings::Settings;
use crate::stores::Stores;
use crate::tools::{self, Documents, Web};

/// The version on the cards.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What agents and flows are defined with. Clones share everything.
#[derive(Debug, Clone)]
pub struct App {
    pub ai: Oxikit,
    pub settings: Arc<Settings>,
    pub stores: Stores,
    pub web: Web,
    pub places: Arc<Places>,
    pub documents: Documents,
    /// The index of the documents, by meaning.
    pub library: MemoryVectorStore,
    /// The tools of a database, which models may call.
    pub database: Database,
    /// The addresses of the agents.
    pub directory: Directory,
    /// Work that outlives a request, such as canceling a task of another agent.
    pub background: TaskTracker,
}

/// The addresses of the services that research uses.
#[derive(Debug)]
pub struct Places {
    pub search: Url,
    pub papers: Url,
    pub news: Url,
    pub weather: Url,
    /// Answers for the services that are not configured.
    pub sample_site: Option<SampleSite>,
}

impl App {
    /// Builds the application. Agents and flows are not defined yet.
    ///
    /// # Errors
    ///
    /// If the store cannot be opened or the model is of an unknown provider.
    pub async fn build(settings: Settings) -> anyhow::Result<Self> {
        let stores = Stores::open(&settings.store).await?;
        let places = Places::of(&settings).await?;
        let web = Web::new(&[
            places.search.clone(),
            places.papers.clone(),
            places.news.clone(),
            places.weather.clone(),
        ])?;
        let ai = with_providers(&settings)?.default_model(&settings.model).build()?;
        let documents = Documents::new(&settings.documents);
        tools::define(&ai, &web, &documents, &places.weather);
        let library = ai.define_memory_vector_store("library", &settings.embedder);
        Ok(Self {
            database: Database::load(&ai, settings.toolbox.as_ref()).await,
            directory: Directory::new(&settings),
            settings: Arc::new(settings),
            places: Arc::new(places),
            background: TaskTracker::new(),
            ai,
            stores,
            web,
            documents,
            library,
        })
    }

    /// Defines an agent that keeps its conversations in the store of the studio, and begins its
    /// card.
    ///
    /// # Errors
    ///
    /// If there is an agent of this name already.
    pub fn agent<S, F, Fut>(&self, name: AgentName, description: &str, turn: F) -> Result<A2aAgent>
    where
        S: JsonSchema + 'static,
        F: Fn(Self, Turn<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<TurnReply>> + Send + 'static,
    {
        let app = self.clone();
        let agent = self.ai.define_agent(
            Agent::builder(name.as_str())
                .description(description)
                .shared_store(self.stores.sessions.clone())
                .turn(move |it: Turn<S>| turn(app.clone(), it)),
        )?;
        let card = A2aAgent::new(&agent)
            .title(name.title())
            .version(VERSION)
            .provider("oxikit", "https://github.com/oxikit/oxikit")
            .input_modes(["text/plain", "application/json"])
            .output_modes(["text/plain", "application/json"]);
        Ok(match self.auth() {
            Some(auth) => card.auth(auth),
            None => card,
        })
    }

    /// Checks the key of callers, if the studio has one.
    pub fn auth(&self) -> Option<ApiKey> {
        let key = self.settings.api_key.as_ref()?;
        Some(ApiKey::new(key.expose().clone()).in_header("X-API-Key"))
    }
}

/// The providers whose models may be named. Those without a key fail when they are called.
fn with_providers(settings: &Settings) -> anyhow::Result<oxikit::OxikitBuilder> {
    let builder = Oxikit::builder().plugin(Offline).plugin(OfflineStudio);
    let names = [&settings.model, &settings.embedder];
    let is_used = |prefix: &str| names.iter().any(|name| name.starts_with(prefix));
    let mut builder = builder;
    if is_used("googleai/") {
        builder = builder.plugin(GoogleAi::from_env());
    }
    if is_used("openai/") {
        builder = builder.plugin(OpenAi::from_env());
    }
    if is_used("anthropic/") {
        builder = builder.plugin(Anthropic::from_env());
    }
    if is_used("ollama/") {
        builder = builder.plugin(Ollama::from_env());
    }
    let known = ["offline/", "googleai/", "openai/", "anthropic/", "ollama/"];
    match names.iter().find(|name| !known.iter().any(|prefix| name.starts_with(prefix))) {
        Some(name) => {
            anyhow::bail!("`{name}` is of no known provider: its name begins with {known:?}")
        }
        None => Ok(builder),
    }
}

impl Places {
    async fn of(settings: &Settings) -> anyhow::Result<Self> {
        let services = &settings.services;
        let configured = [&services.search, &services.papers, &services.news, &services.weather];
        let sample_site = match configured.iter().all(|service| service.is_some()) {
            true => None,
            false => Some(SampleSite::start().await?),
        };
        let place = |service: &Option<Url>, path: &str| match (service, &sample_site) {
            (Some(url), _) => Ok(url.clone()),
            (None, Some(site)) => Ok(Url::parse(&site.url(path))?),
            (None, None) => Err(anyhow::anyhow!("there is no service for {path}")),
        };
        Ok(Self {
            search: place(&services.search, "/search")?,
            papers: place(&services.papers, "/api/query")?,
            news: place(&services.news, "/news.rss")?,
            weather: place(&services.weather, "/weather")?,
            sample_site,
        })
    }
}
