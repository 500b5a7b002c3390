//! What the tests of the agents share: a studio with one agent, and a client of it.

use oxikit::client::a2a::{A2aClient, A2aReply, AgentCard, OutgoingMessage, StreamResponse};

use crate::records::AgentName;
use crate::{Settings, Studio};

/// A studio with one agent, called over A2A as any client does it.
pub(crate) struct OneAgent {
    pub(crate) client: A2aClient,
    _studio: Studio,
}

/// The answer to a message, with the progress on the way and the number of chunks of artifacts.
pub(crate) struct Answer {
    pub(crate) reply: A2aReply,
    pub(crate) progress: Vec<String>,
    pub(crate) chunks: usize,
}

impl OneAgent {
    pub(crate) async fn start(name: AgentName) -> Self {
        let studio = Studio::start(Settings::default(), &[name]).await.unwrap();
        let client = A2aClient::connect(studio.url(name).unwrap()).await.unwrap();
        Self { client, _studio: studio }
    }

    pub(crate) fn card(&self) -> AgentCard {
        self.client.card()
    }

    pub(crate) async fn send(&self, message: impl Into<OutgoingMessage>) -> Answer {
        let mut stream = self.client.send_stream(message).await.unwrap();
        let (mut progress, mut chunks) = (Vec::new(), 0);
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                StreamResponse::StatusUpdate(update) => {
                    progress.extend(update.status.message.map(|message| message.text()));
                }
                StreamResponse::ArtifactUpdate(_) => chunks += 1,
                StreamResponse::Task(_) | StreamResponse::Message(_) => {}
            }
        }
        Answer { reply: stream.finish().await.unwrap(), progress, chunks }
    }
}

impl Answer {
    /// The state of the task, as 1.0 writes it, and the last text of the agent about it.
    pub(crate) fn question(&self) -> (String, &str) {
        let state = self.reply.state().map(|state| state.to_string()).unwrap_or_default();
        (state, self.progress.last().map_or("", String::as_str))
    }

    pub(crate) fn data<T: serde::de::DeserializeOwned>(&self, artifact: &str) -> T {
        let names: Vec<_> =
            self.reply.task().unwrap().artifacts.iter().map(|it| it.name.clone()).collect();
        let found = self.reply.artifact(artifact).and_then(|artifact| artifact.data());
        found.unwrap_or_else(|| panic!("there is no `{artifact}`, only {names:?}"))
    }
}
