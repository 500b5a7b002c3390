//! The settings of the studio. Only this file reads the environment; `README.md` lists the variables.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use oxikit::Secret;
use oxikit::outgoing::Url;

use crate::offline::STUDIO_MODEL;
use crate::records::AgentName;

/// The model that is used if a key for Gemini is at hand.
pub const GEMINI: &str = "googleai/gemini-2.5-flash";
/// The embedder that goes with it.
const GEMINI_EMBEDDER: &str = "googleai/gemini-embedding-001";
/// The embedder that needs no network.
pub const OFFLINE_EMBEDDER: &str = "offline/embed";

#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the model; its prefix chooses the provider.
    pub model: String,
    pub embedder: String,
    pub host: IpAddr,
    /// The port of the flows.
    pub port: u16,
    /// The port of the orchestrator. The other agents follow in the order of [`AgentName::ALL`];
    /// with 0 each agent takes a free port.
    pub first_agent_port: u16,
    /// Addresses of agents that run elsewhere.
    pub agent_urls: BTreeMap<AgentName, String>,
    /// The URL under which clients reach an agent that runs alone, if it is not the address that it
    /// listens on.
    pub public_url: Option<String>,
    /// The key that callers of agents and flows need. Without one only this machine can call.
    pub api_key: Option<Secret<String>>,
    pub store: StoreSetting,
    /// The folder of documents that may be read and indexed.
    pub documents: PathBuf,
    pub services: Services,
    /// The address of MCP Toolbox, if there is one.
    pub toolbox: Option<ToolboxSetting>,
    pub patience: Patience,
}

/// Where sessions and tasks are kept.
#[derive(Debug, Clone)]
pub enum StoreSetting {
    /// In this process, for tests.
    Memory,
    /// In a file, the default.
    Sqlite(PathBuf),
    Postgres(Secret<String>),
}

/// Addresses of the services that research uses; `None` is the sample site.
#[derive(Debug, Clone, Default)]
pub struct Services {
    /// An OpenSearch service that answers with RSS.
    pub search: Option<Url>,
    /// A service with the interface of arXiv.
    pub papers: Option<Url>,
    /// An RSS or Atom feed.
    pub news: Option<Url>,
    pub weather: Option<Url>,
}

/// MCP Toolbox for Databases.
#[derive(Debug, Clone)]
pub struct ToolboxSetting {
    /// The address of the server, such as `http://127.0.0.1:5000`.
    pub url: String,
    /// The set of tools to load; all if there is none.
    pub toolset: Option<String>,
}

/// How long the orchestrator waits.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Timeout of one step, from the request to its result.
    pub step: Duration,
    /// Time that the last open step of several gets after the others are done. Then it is canceled.
    pub last_step: Duration,
    /// Pause before an agent that was not reached is tried again.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(120),
            last_step: Duration::from_secs(30),
            pause: Duration::from_millis(300),
        }
    }
}

impl Default for Settings {
    /// Everything on this machine, without a network and without files.
    fn default() -> Self {
        Self {
            model: STUDIO_MODEL.to_owned(),
            embedder: OFFLINE_EMBEDDER.to_owned(),
            host: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            first_agent_port: 0,
            agent_urls: BTreeMap::new(),
            public_url: None,
            api_key: None,
            store: StoreSetting::Memory,
            documents: sample_documents(),
            services: Services::default(),
            toolbox: None,
            patience: Patience::default(),
        }
    }
}

impl Settings {
    /// The settings of the environment.
    ///
    /// # Errors
    ///
    /// If a variable has a value that cannot be understood.
    pub fn from_env() -> Result<Self> {
        let has_gemini = ["GEMINI_API_KEY", "GOOGLE_API_KEY"].iter().any(|it| read(it).is_some());
        let (model, embedder) = match has_gemini {
            true => (GEMINI, GEMINI_EMBEDDER),
            false => (STUDIO_MODEL, OFFLINE_EMBEDDER),
        };
        let model = read("STUDIO_MODEL").unwrap_or_else(|| model.to_owned());
        let data = PathBuf::from(read("STUDIO_DATA").unwrap_or_else(|| ".oxikit".to_owned()));
        Ok(Self {
            model,
            embedder: read("STUDIO_EMBEDDER").unwrap_or_else(|| embedder.to_owned()),
            host: parse("STUDIO_HOST")?.unwrap_or(Ipv4Addr::LOCALHOST.into()),
            port: parse("PORT")?.unwrap_or(3400),
            first_agent_port: parse("STUDIO_AGENT_PORT")?.unwrap_or(3401),
            agent_urls: agent_urls(&read("STUDIO_AGENTS").unwrap_or_default())?,
            public_url: read("STUDIO_PUBLIC_URL"),
            api_key: read("STUDIO_API_KEY").map(Secret::new),
            store: match read("DATABASE_URL") {
                Some(url) => StoreSetting::Postgres(Secret::new(url)),
                None => StoreSetting::Sqlite(data.join("research-studio.db")),
            },
            documents: read("STUDIO_DOCUMENTS").map_or_else(sample_documents, PathBuf::from),
            services: Services {
                search: parse("STUDIO_SEARCH_URL")?,
                papers: parse("STUDIO_PAPERS_URL")?,
                news: parse("STUDIO_NEWS_URL")?,
                weather: parse("STUDIO_WEATHER_URL")?,
            },
            toolbox: read("TOOLBOX_URL")
                .map(|url| ToolboxSetting { url, toolset: read("TOOLBOX_TOOLSET") }),
            patience: Patience::default(),
        })
    }

    /// The port of an agent; 0 is a free one.
    pub fn agent_port(&self, agent: AgentName) -> u16 {
        match self.first_agent_port {
            0 => 0,
            first => first.saturating_add(agent.offset()),
        }
    }
}

/// The documents that come with the studio.
fn sample_documents() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/sample/documents"))
}

/// `webResearch=http://a:1,coder=http://b:2`.
fn agent_urls(list: &str) -> Result<BTreeMap<AgentName, String>> {
    let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let entry = |entry: &str| {
        let (name, url) = entry.split_once('=').context("write `agent=URL,agent=URL`")?;
        let name: AgentName = name.trim().parse().map_err(anyhow::Error::msg)?;
        Ok((name, url.trim().to_owned()))
    };
    entries.map(entry).collect::<Result<_>>().context("STUDIO_AGENTS cannot be understood")
}

fn read(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn parse<T: std::str::FromStr>(name: &str) -> Result<Option<T>>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let value = read(name).map(|value| value.parse::<T>()).transpose();
    value.with_context(|| format!("{name} cannot be understood"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_agents_are_a_list() {
        let urls = agent_urls("coder=http://a:1, webResearch=http://b:2").unwrap();
        assert_eq!(urls[&AgentName::Coder], "http://a:1");
        assert_eq!(urls[&AgentName::WebResearch], "http://b:2");
        assert_eq!(agent_urls("").unwrap(), BTreeMap::new());
        let error = format!("{:#}", agent_urls("poet=http://a:1").unwrap_err());
        assert!(error.starts_with("STUDIO_AGENTS cannot be understood: there is no agent `poet`"));
    }

    #[test]
    fn ports_of_agents_follow_the_first_one() {
        let settings = Settings { first_agent_port: 3401, ..Settings::default() };
        assert_eq!(settings.agent_port(AgentName::Orchestrator), 3401);
        assert_eq!(settings.agent_port(AgentName::ContentEditor), 3408);
        assert_eq!(Settings::default().agent_port(AgentName::Coder), 0);
    }
}
