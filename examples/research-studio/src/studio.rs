//! Starts the agents and the flows: each agent on its own port, the flows on one.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use oxikit::serve::a2a::A2aAgent;
use oxikit::serve::{BoundServer, Server};
use tokio_util::sync::CancellationToken;

use crate::records::AgentName;
use crate::settings::Settings;
use crate::{App, agents, flows};

/// A studio that runs in this process. Dropping it stops its agents.
#[derive(Debug)]
pub struct Studio {
    pub app: App,
    /// The agents that run in this process, and their addresses.
    pub agents: Vec<(AgentName, String)>,
    /// Ends the servers of the agents.
    stop: CancellationToken,
}

impl Studio {
    /// Starts these agents.
    ///
    /// # Errors
    ///
    /// If a store, a model or a port cannot be used.
    pub async fn start(settings: Settings, names: &[AgentName]) -> Result<Self> {
        let app = App::build(settings).await?;
        let mut studio = Self { app, agents: Vec::new(), stop: CancellationToken::new() };
        for name in names {
            let port = studio.app.settings.agent_port(*name);
            studio.serve_agent(*name, port).await?;
        }
        Ok(studio)
    }

    /// Starts all agents.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_all(settings: Settings) -> Result<Self> {
        // The agents have several addresses.
        let settings = Settings { public_url: None, ..settings };
        Self::start(settings, &AgentName::ALL).await
    }

    /// Starts one agent on this port; 0 is a free one.
    ///
    /// # Errors
    ///
    /// If its prompt is broken or the port is in use.
    pub async fn serve_agent(&mut self, name: AgentName, port: u16) -> Result<()> {
        let card = agents::define(&self.app, name)?;
        let server =
            self.agent_server(name, card, port).await.with_context(|| format!("agent `{name}`"))?;
        let url = url_of(server.local_addr()?);
        if !self.app.settings.agent_urls.contains_key(&name) {
            self.app.directory.set(name, url.clone());
        }
        self.agents.push((name, url));
        self.app.background.spawn(server.run(self.stop.clone().cancelled_owned()));
        Ok(())
    }

    async fn agent_server(
        &self,
        name: AgentName,
        card: A2aAgent,
        port: u16,
    ) -> Result<BoundServer> {
        let settings = &self.app.settings;
        let mut server = Server::new(&self.app.ai).a2a(card).host(settings.host).port(port);
        // Over Action HTTP the agent is at `/<name>`, and nothing else of the studio is.
        if let Some(agent) = self.app.ai.registry().get(&format!("/agent/{name}")) {
            server = server.expose(agent);
        }
        if let Some(tasks) = &self.app.stores.tasks {
            server = server.task_store(tasks.clone());
        }
        if let Some(auth) = self.app.auth() {
            server = server.auth(auth);
        }
        if let Some(url) = &settings.public_url {
            server = server.public_url(url);
        }
        Ok(server.bind().await?)
    }

    /// The server of the flows, with the twelve flows defined.
    ///
    /// # Errors
    ///
    /// If a flow cannot be defined.
    pub fn flow_server(&self) -> Result<Server> {
        let settings = &self.app.settings;
        let mut server = Server::new(&self.app.ai).host(settings.host).port(settings.port);
        for flow in flows::define(&self.app)? {
            server = server.expose(flow);
        }
        Ok(match self.app.auth() {
            Some(auth) => server.auth(auth),
            None => server,
        })
    }

    /// The address of an agent that runs here.
    pub fn url(&self, name: AgentName) -> Option<&str> {
        self.agents.iter().find(|(agent, _)| *agent == name).map(|(_, url)| url.as_str())
    }

    /// Waits until the process is asked to end, then stops the agents. Meanwhile the developer tools
    /// list the agents, and spans are sent to the collector of the environment.
    ///
    /// # Errors
    ///
    /// If the developer tools cannot be used, or a variable of the collector is wrong.
    pub async fn run(self) -> Result<()> {
        oxikit::serve::export_spans(&self.app.ai)?;
        let dev_tools = oxikit::serve::dev_tools(&self.app.ai).await?;
        oxikit::serve::asked_to_end().await;
        if let Some(dev_tools) = dev_tools {
            dev_tools.close().await;
        }
        let exporter = self.app.ai.registry().exporter();
        self.stop().await;
        if let Some(exporter) = exporter {
            exporter.flush().await;
        }
        Ok(())
    }

    /// What runs where, for people.
    pub fn summary(&self) -> String {
        let settings = &self.app.settings;
        // The first line is for programs that start this one.
        let first = self.agents.first().map(|(_, url)| format!("listening on {url}"));
        let mut lines: Vec<String> = first.into_iter().collect();
        lines.extend([
            format!("model:    {}", settings.model),
            format!("store:    {}", self.app.stores.place),
            format!("database: {}", self.app.database.state),
        ]);
        if self.app.places.sample_site.is_some() {
            lines.push(
                "web:      the sample site, whose articles are about home batteries".to_owned(),
            );
        }
        lines.push("agents:".to_owned());
        let agent = |(name, url): &(AgentName, String)| format!("  {:<18} {url}", name.as_str());
        lines.extend(self.agents.iter().map(agent));
        lines.join("\n")
    }

    /// Stops the agents, and waits until they have ended.
    pub async fn stop(self) {
        self.stop.cancel();
        self.app.background.close();
        self.app.background.wait().await;
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn url_of(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("http://127.0.0.1:{}", address.port()),
        false => format!("http://{address}"),
    }
}
