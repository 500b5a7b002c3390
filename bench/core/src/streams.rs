//! One chunk of a stream.

use std::hint::black_box;

use anyhow::Result;
use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Event, Registry, Run};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::figure::Figure;
use crate::measure::Bench;

const CHUNKS: u32 = 100_000;
/// As many as a run keeps for its reader.
const QUEUE: usize = 256;

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Piece {
    index: u32,
    text: &'static str,
}

/// Each chunk awaited by itself.
pub(crate) fn one_by_one(bench: &Bench) -> Result<Figure> {
    let what = "a chunk of 100,000, read one by one";
    Ok(measure(bench, what, async |mut run| {
        while let Some(event) = run.next().await {
            if let Event::Failed(status) = event {
                return Err(status.into());
            }
            black_box(event);
        }
        Ok(())
    })?
    .aim(100.0))
}

/// One chunk awaited, and what else is ready taken with it, as a server does.
pub(crate) fn batches(bench: &Bench) -> Result<Figure> {
    let what = "a chunk of 100,000, read in batches";
    Ok(measure(bench, what, async |mut run| {
        while let Some(event) = run.next().await {
            if let Event::Failed(status) = event {
                return Err(status.into());
            }
            black_box(event);
            while let Some(chunk) = run.ready_chunk() {
                black_box(chunk);
            }
        }
        Ok(())
    })?
    .aim(100.0))
}

/// The same, and every chunk written as JSON into one buffer a batch.
pub(crate) fn batches_as_json(bench: &Bench) -> Result<Figure> {
    let what = "a chunk of 100,000, read in batches and written as JSON";
    measure(bench, what, async |mut run| {
        let mut buffer = Vec::new();
        while let Some(event) = run.next().await {
            buffer.clear();
            match event {
                Event::Chunk(chunk) => chunk.write_json(&mut buffer)?,
                Event::Done(_) => break,
                Event::Failed(status) => return Err(status.into()),
            }
            while let Some(chunk) = run.ready_chunk() {
                chunk.write_json(&mut buffer)?;
            }
            black_box(&buffer);
        }
        Ok(())
    })
}

/// Reads a whole stream; the floor is a channel of typed values.
fn measure(bench: &Bench, what: &str, read: impl AsyncFn(Run) -> Result<()>) -> Result<Figure> {
    let registry = Registry::default();
    let flow = Action::builder(ActionKind::Flow, "count").handler(
        async |count: u32, _: Context, out: Emitter<Piece>| {
            for index in 0..count {
                out.send(piece(index)).await?;
            }
            Ok(count)
        },
    );
    bench.beside_floor(
        what,
        CHUNKS as usize,
        async || read(flow.start(Call::new(CHUNKS).in_registry(&registry))?).await,
        async || {
            let (sender, mut receiver) = mpsc::channel(QUEUE);
            let send = async move {
                for index in 0..CHUNKS {
                    sender.send(piece(index)).await?;
                }
                anyhow::Ok(())
            };
            let receive = async {
                while let Some(piece) = receiver.recv().await {
                    black_box(piece);
                }
            };
            let (sent, ()) = tokio::join!(send, receive);
            sent
        },
    )
}

fn piece(index: u32) -> Piece {
    Piece { index, text: "a few words " }
}
