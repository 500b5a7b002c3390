//! The agent under test. It counts its turns. The number and the token of a turn are in its state
//! and in its answer, so a lost, repeated or mixed turn is visible in both.

use std::sync::Arc;
use std::time::Duration;

use oxikit::{Agent, AgentBuilder, Turn};
use oxikit_core::ports::SessionStore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

/// The name of the agent, which is also its path.
pub(crate) const NAME: &str = "counter";

/// The custom state.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Count {
    /// Number of turns of the session.
    pub(crate) count: u64,
    /// The token in the message of the last turn.
    pub(crate) token: String,
}

/// The answer of the agent to a token, with the number of the turn.
pub(crate) fn answer(count: u64, token: &str) -> String {
    format!("{count} is for {token}")
}

/// Builds the agent. A turn sleeps for a random time of up to `pace` before and after it changes
/// its state, so that a kill can happen at any point of it.
pub(crate) fn agent(store: Arc<dyn SessionStore>, pace: Duration) -> AgentBuilder {
    let turn = move |turn: Turn<Count>| async move {
        let token = turn.text();
        sleep(pace.mul_f64(fastrand::f64())).await;
        let count = turn
            .update(|state| {
                state.count += 1;
                state.token.clone_from(&token);
                state.count
            })
            .await?;
        sleep(pace.mul_f64(fastrand::f64())).await;
        Ok(turn.answer(answer(count, &token)))
    };
    Agent::builder(NAME).turn(turn).shared_store(store)
}
