//! The agent under test. It counts its turns; the number and the token of the turn
//! are in its state and in its answer, so that whatever is lost, doubled or mixed
//! shows.

use std::sync::Arc;
use std::time::Duration;

use oxikit::{Agent, AgentBuilder, Turn};
use oxikit_core::ports::SessionStore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

/// Its name, which is its path too.
pub(crate) const NAME: &str = "counter";

/// The custom state.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Count {
    /// How many turns the session has had.
    pub(crate) count: u64,
    /// What the last of them was asked with.
    pub(crate) token: String,
}

/// What the agent answers to a token when it has counted so far.
pub(crate) fn answer(count: u64, token: &str) -> String {
    format!("{count} is for {token}")
}

/// The agent. A turn takes up to `pace` before and after the change of its state, so
/// that a kill can meet any moment of it.
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
