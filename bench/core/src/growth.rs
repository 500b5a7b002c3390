//! Calls by key, with few and with many actions registered.

use std::cell::Cell;
use std::hint::black_box;

use anyhow::Result;
use oxikit_core::{Action, ActionKind, Call, Registry};

use crate::document::Greeting;
use crate::figure::{Figure, Unit};
use crate::measure::Bench;

const FEW: usize = 10;
const MANY: usize = 10_000;

/// The same ten actions are called, alone and among ten thousand.
pub(crate) fn same_ten(bench: &Bench) -> Result<Figure> {
    measure(bench, FEW, "the same ten called").map(|figure| figure.aim(1.1))
}

/// All of them are called in turn: ten thousand do not fit the processor's
/// cache, so this shows what is touched for a call.
pub(crate) fn spread(bench: &Bench) -> Result<Figure> {
    measure(bench, MANY, "all called in turn")
}

fn measure(bench: &Bench, called: usize, what: &str) -> Result<Figure> {
    let (few, many) = (registry(FEW), registry(MANY));
    let (of_many, of_few) =
        bench.compare(FEW, caller(&many, called.min(MANY)), caller(&few, called.min(FEW)))?;
    let show = |value| Unit::Nanoseconds.show(value);
    let explanation = format!(
        "a call by key, {what}: {} with {FEW} actions, {} with {MANY}",
        show(of_few.cpu),
        show(of_many.cpu)
    );
    Ok(Figure::new(of_many.cpu / of_few.cpu, Unit::Times, explanation))
}

/// Makes ten calls, going round the first `called` keys.
fn caller(registry: &Registry, called: usize) -> impl AsyncFn() -> Result<()> {
    let keys: Vec<String> = (0..called).map(|n| format!("/flow/{}", name(n))).collect();
    let sample = Greeting::sample();
    let next = Cell::new(0);
    async move || {
        for _ in 0..FEW {
            let key = &keys[next.get()];
            next.set((next.get() + 1) % keys.len());
            black_box(registry.run(key, Call::new(sample.clone())).await?);
        }
        Ok(())
    }
}

fn registry(actions: usize) -> Registry {
    let registry = Registry::default();
    for n in 0..actions {
        registry.register(
            Action::builder(ActionKind::Flow, name(n)).handler(async |input: Greeting| Ok(input)),
        );
    }
    registry
}

fn name(n: usize) -> String {
    format!("greet{n}")
}
