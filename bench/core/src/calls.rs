//! Calling a flow that returns its input, with span, schema check and
//! cancellation, and no exporter.

use std::hint::black_box;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use oxikit_core::{Action, ActionKind, Call, Payload, Registry, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::document::{Data, Document, Greeting, Probe};
use crate::figure::{Figure, Unit};
use crate::measure::Bench;

/// A small input from JSON text to JSON text, as a server calls a flow.
pub(crate) fn small_text(bench: &Bench) -> Result<Figure> {
    let text = text_of(&Greeting::sample())?;
    let figure =
        from_text_to_text::<Greeting>(bench, "small, text to text", echo::<Greeting>(), text)?;
    Ok(figure.aim(2_000.0))
}

/// The same as a value, as one function of the application calls another.
pub(crate) fn small_typed(bench: &Bench) -> Result<Figure> {
    let (flow, registry) = (echo::<Greeting>(), Registry::default());
    let sample = Greeting::sample();
    let figure = bench.beside_floor(
        "small, value to value",
        1,
        async || {
            let call = Call::new(sample.clone()).in_registry(&registry);
            let output: Greeting = flow.run(call).await?.parse()?;
            black_box(output);
            Ok(())
        },
        async || {
            black_box(plain(black_box(sample.clone())).await?);
            Ok(())
        },
    )?;
    Ok(figure.aim(2_000.0))
}

/// A flow that calls another one, both small: what a call inside a call costs.
pub(crate) fn nested(bench: &Bench) -> Result<Figure> {
    let registry = Registry::default();
    let inner = echo::<Greeting>();
    let outer = Action::builder(ActionKind::Flow, "outer").handler(move |greeting: Greeting| {
        let inner = inner.clone();
        async move { inner.run(Call::new(greeting)).await?.parse::<Greeting>() }
    });
    let sample = Greeting::sample();
    bench.beside_floor(
        "small, a flow in a flow, value to value",
        1,
        async || {
            let call = Call::new(sample.clone()).in_registry(&registry);
            let output: Greeting = outer.run(call).await?.parse()?;
            black_box(output);
            Ok(())
        },
        async || {
            black_box(plain(plain(black_box(sample.clone())).await?).await?);
            Ok(())
        },
    )
}

/// A document of 48 kB from JSON text to JSON text.
pub(crate) fn large_text(bench: &Bench) -> Result<Figure> {
    let text = text_of(&Document::sample())?;
    let what = format!("{} kB typed, text to text", text.len() / 1000);
    from_text_to_text::<Document<String>>(bench, &what, echo::<Document<String>>(), text)
}

/// How many strings of that document were read out of a JSON tree. None may be,
/// and each is read once.
pub(crate) fn large_trees(bench: &Bench) -> Result<Figure> {
    let text = text_of(&Document::sample())?;
    let (flow, registry) = (echo::<Document<Probe>>(), Registry::default());
    let (_, expected, _) = Probe::watch(|| serde_json::from_slice::<Document<Probe>>(&text));
    let (output, from_text, from_tree) = Probe::watch(|| {
        bench.once(async {
            let call = Call::new(Payload::from_json(text.clone())?).in_registry(&registry);
            anyhow::Ok(flow.run(call).await?.to_json()?)
        })
    });
    anyhow::ensure!(output? == text, "the flow did not return its input");
    let more = (from_text + from_tree).abs_diff(expected);
    Ok(Figure::new(
        f64::from(from_tree + more),
        Unit::Count("strings through a tree"),
        format!("{from_text} of {expected} strings came straight from the text, {from_tree} out of a tree"),
    )
    .aim(0.0))
}

/// The same with a schema that says more than the type: the validator needs a
/// tree. This is the price of ranges, patterns and schemas written by hand.
pub(crate) fn large_validated(bench: &Bench) -> Result<Figure> {
    let text = text_of(&Document::sample())?;
    let schema = Schema::of::<Document<String>>().as_json().clone();
    let schema = Schema::from_json(schema)?;
    let flow = Action::builder(ActionKind::Flow, "validated")
        .input_schema(schema)
        .handler(async |document: Document<String>| Ok(document));
    from_text_to_text::<Document<String>>(bench, "48 kB typed and validated", flow, text)
}

/// The same to a tree and back: what the typed flow saves.
pub(crate) fn large_value(bench: &Bench) -> Result<Figure> {
    let text = text_of(&Document::sample())?;
    from_text_to_text::<Value>(bench, "48 kB as a tree, text to text", echo::<Value>(), text)
}

/// The same passed on without a look, as a relay does.
pub(crate) fn large_payload(bench: &Bench) -> Result<Figure> {
    let text = text_of(&Document::sample())?;
    let (flow, registry) = (echo::<Payload>(), Registry::default());
    bench.beside_floor(
        "48 kB passed on; most of it is the check that it is JSON",
        1,
        async || {
            let input = Payload::from_json(text.clone())?;
            let output = flow.run(Call::new(input).in_registry(&registry)).await?;
            black_box(output.to_json()?);
            Ok(())
        },
        async || {
            let text = text.clone();
            black_box(serde_json::from_slice::<&RawValue>(&text)?);
            black_box(plain(text).await?);
            Ok(())
        },
    )
}

fn from_text_to_text<T: Serialize + DeserializeOwned>(
    bench: &Bench,
    what: &str,
    flow: Action,
    text: Bytes,
) -> Result<Figure> {
    let registry = Registry::default();
    bench.beside_floor(
        what,
        1,
        async || {
            let input = Payload::from_json(text.clone())?;
            let output = flow.run(Call::new(input).in_registry(&registry)).await?;
            black_box(output.to_json()?);
            Ok(())
        },
        async || {
            let input: T = serde_json::from_slice(black_box(&text))?;
            black_box(serde_json::to_vec(&plain(input).await?)?);
            Ok(())
        },
    )
}

fn echo<T: Data>() -> Action {
    Action::builder(ActionKind::Flow, "echo").handler(async |input: T| Ok(input))
}

/// The function that the floor calls.
async fn plain<T>(input: T) -> Result<T> {
    Ok(input)
}

fn text_of(value: &impl Serialize) -> Result<Bytes> {
    Ok(serde_json::to_vec(value).context("the sample is JSON")?.into())
}
