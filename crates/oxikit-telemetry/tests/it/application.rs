//! An application with an exporter.

use std::sync::Arc;
use std::task::{Context as Polling, Poll, Waker};

use oxikit_core::{Action, ActionKind, Call, Registry};
use oxikit_telemetry::GenkitExporter;

pub(crate) struct Application {
    pub(crate) registry: Registry,
    pub(crate) exporter: GenkitExporter,
    echo: Action,
}

impl Application {
    pub(crate) fn new(exporter: GenkitExporter) -> Self {
        let registry = Registry::default();
        registry.add_exporter(Arc::new(exporter.clone()));
        Self { registry, exporter, echo: echo() }
    }

    pub(crate) fn telling(url: &str) -> Self {
        Self::new(GenkitExporter::builder().server(url).build().unwrap())
    }

    /// Runs a flow that returns its input, this number of times.
    pub(crate) async fn echo(&self, times: u32) {
        for n in 0..times {
            self.echo_one(n).await;
        }
    }

    /// The same without a runtime.
    pub(crate) fn echo_anywhere(&self, n: u32) {
        let run = std::pin::pin!(self.echo_one(n));
        let polled = run.poll(&mut Polling::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(()));
    }

    async fn echo_one(&self, n: u32) {
        let call = Call::new(n).in_registry(&self.registry);
        self.echo.run(call).await.unwrap();
    }
}

pub(crate) fn echo() -> Action {
    Action::builder(ActionKind::Flow, "echo").handler(async |n: u32| Ok(n))
}
