//! The recorded frames of Genkit's reflection protocol (V2), in two ways.
//!
//! `replay`: a manager on the loopback says what the recorded one said, to our
//! runtime with the application of `interop/reflection/app`. Every frame that comes
//! back is as recorded, or differs as the table of `differences` says. `types`: every
//! frame of both sides is read by the types of `oxikit-wire` and written again.

mod compare;
mod differences;
mod listing;
mod manager;
mod names;
mod replay;
mod transcript;
mod types;

use anyhow::Result;

use crate::suite::{Outcome, Places};
use transcript::Transcript;

const DATA: &str = "reflection-v2";

pub(crate) fn run(_: &Places) -> Result<Outcome> {
    let transcripts = Transcript::read_all(&oxikit_recordings::path(DATA))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let replayed = runtime.block_on(replay::run(&transcripts))?;
    runtime.shutdown_background();
    let typed = types::run(&transcripts);
    Ok(Outcome::Several(vec![
        ("replay".to_owned(), Outcome::Ran(replayed)),
        ("types".to_owned(), Outcome::Ran(typed)),
    ]))
}
