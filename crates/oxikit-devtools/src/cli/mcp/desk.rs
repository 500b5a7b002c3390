//! What the tools of a conversation share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use oxikit_core::Status;
use serde_json::Value;

use super::conversations::Conversations;
use super::own_tools::OwnTools;
use super::seat::Seat;
use super::toolbox::Answer;
use crate::cli::Place;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::project::{is_alive, manager_of};
use crate::server::ManagerFile;

/// The application and the tools get this long to end with the conversation; what is
/// left of the application is ended by its guard.
const LAST_MOMENT: Duration = Duration::from_millis(400);

/// The project, who is asked about it, and what was started for it.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) place: Place,
    /// The application that was started here.
    pub(super) seat: Arc<Seat>,
    pub(super) conversations: Conversations,
    /// The tools, if nobody else runs them. Held while something is started or ended,
    /// which takes its time: one at a time.
    pub(super) own_tools: tokio::sync::Mutex<Option<OwnTools>>,
    client: Mutex<Option<Client>>,
}

impl Desk {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            seat: Arc::default(),
            conversations: Conversations::default(),
            own_tools: tokio::sync::Mutex::default(),
            client: Mutex::default(),
        }
    }

    /// A client of the tools that run for the project.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        let manager = self.manager()?.ok_or_else(|| {
            Failure::nobody_there(format!(
                "nothing runs for {}: call start_runtime, or let the user run `oxikit start`",
                self.place.0.display()
            ))
        })?;
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(client) if *client.manager() == manager => Ok(client.clone()),
            _ => Ok(kept.insert(Client::of(manager)?).clone()),
        }
    }

    fn manager(&self) -> Result<Option<ManagerFile>, Failure> {
        let found = manager_of(&self.place.0).map_err(Failure::nobody_there)?;
        Ok(found.map(|(_, manager)| manager).filter(is_alive))
    }

    /// The answer without what opens the doors of the tools: an application may have
    /// told it.
    pub(super) fn without_tokens(&self, answer: Answer) -> Answer {
        let Ok(Some(manager)) = self.manager() else { return answer };
        let last = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
        let tokens = [manager.token, last(&manager.reflection_url), last(&manager.telemetry_url)];
        match answer {
            Ok(mut value) => {
                cover(&mut value, &tokens);
                Ok(value)
            }
            Err(status) => {
                let outgoing = status.outgoing();
                let (mut message, details) = (Value::from(outgoing.message), outgoing.details);
                cover(&mut message, &tokens);
                let message = message.as_str().unwrap_or_default();
                let status = Status::public(outgoing.status, message);
                Err(match details {
                    Some(mut details) => {
                        cover(&mut details, &tokens);
                        status.with_details(details)
                    }
                    None => status,
                })
            }
        }
    }

    /// Ends what was started here.
    pub(super) async fn close(&self) {
        let mut own_tools = self.own_tools.lock().await;
        let ending = async {
            // The application first: its last spans are still taken.
            self.seat.end().await;
            if let Some(tools) = &mut *own_tools {
                tools.end().await;
            }
        };
        if tokio::time::timeout(LAST_MOMENT, ending).await.is_err() {
            tracing::warn!("the application takes its time to end; it is killed");
        }
        if let Some(tools) = own_tools.take() {
            tools.abandon().await;
        }
    }
}

/// Takes these words out of all texts of a value.
fn cover(value: &mut Value, words: &[String]) {
    match value {
        Value::String(text) => {
            for word in words.iter().filter(|word| !word.is_empty()) {
                if text.contains(&**word) {
                    *text = text.replace(&**word, oxikit_core::redact::REDACTED);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cover(value, words)),
        Value::Object(members) => members.values_mut().for_each(|value| cover(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
