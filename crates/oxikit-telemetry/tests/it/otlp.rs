//! The exporter for production, against a collector on loopback.

mod collector;
mod delivery;
mod shape;
mod variables;

use std::sync::Arc;

use oxikit_core::{Action, ActionKind, Call, Registry};
use oxikit_telemetry::{OtlpConfig, OtlpExporter};

fn exporter(config: OtlpConfig) -> (OtlpExporter, Registry) {
    let (exporter, registry) = (OtlpExporter::new(config).unwrap(), Registry::default());
    registry.add_exporter(Arc::new(exporter.clone()));
    (exporter, registry)
}

/// Ends this many spans, each of a trace of its own.
async fn spans(registry: &Registry, count: usize) {
    let action = Action::builder(ActionKind::Flow, "x").handler(|n: usize| async move { Ok(n) });
    for n in 0..count {
        action.run(Call::new(n).in_registry(registry)).await.unwrap();
    }
}
