//! A server under the developer tools: a manager that it registers with, and a telemetry
//! server that takes its spans. Their CPU is not counted.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::peers::{self, Peer, Server};
use crate::crash::{self, Process};
use crate::tools;

/// Pause in which the last spans are sent.
const SETTLE: &str = "1.5";
/// Time without a new span after which all spans have arrived.
const STILL: Duration = Duration::from_millis(300);
const START: Duration = Duration::from_secs(30);

pub(super) struct Traced {
    server: Server,
    spans: Server,
    _manager: Process,
}

impl Traced {
    pub(super) fn start(log: &str) -> Result<Self> {
        let spans = Server::start(Peer::Floor, &[])?;
        let port = peers::free_port()?;
        let manager = crash::idle_manager(port, START)?;
        let server = Server::start(
            Peer::Oxikit,
            &[
                ("GENKIT_ENV", "dev"),
                ("RUST_LOG", log),
                ("GENKIT_REFLECTION_V2_SERVER", &format!("ws://127.0.0.1:{port}")),
                ("GENKIT_TELEMETRY_SERVER", &format!("http://127.0.0.1:{}", spans.port)),
                ("GENKIT_ENABLE_REALTIME_TELEMETRY", "true"),
            ],
        )?;
        let registered = manager.line(START).context("it did not register")?;
        anyhow::ensure!(registered == "registered", "the manager said {registered:?}");
        Ok(Self { server, spans, _manager: manager })
    }

    /// The same load on a server without tools, then on this one: the load client's
    /// answer for this one, with what the other cost and what was lost on the way.
    pub(super) fn measure(
        &self,
        plain: &Server,
        load: impl Fn(&Server) -> Result<Value>,
    ) -> Result<Value> {
        let without = load(plain)?;
        let before = self.received()?;
        let mut with = load(&self.server)?;
        let received = self.received()? - before;
        let cost = |answer: &Value| answer["cpu_us_per_req"].as_f64().context("it has no CPU");
        with["plain_us"] = cost(&without)?.into();
        with["more_us"] = (cost(&with)? - cost(&without)?).into();
        let calls = with["ok"].as_f64().context("nothing was answered")?;
        with["lost_percent"] = json!(100.0 * (1.0 - received / calls));
        let errors = |answer: &Value| answer["errors"].as_u64().unwrap_or_default();
        with["errors"] = (errors(&with) + errors(&without)).into();
        Ok(with)
    }

    /// Number of ended spans that the telemetry server has received, when no more arrive.
    fn received(&self) -> Result<f64> {
        let mut before = -1.0;
        loop {
            let now = self.received_so_far()?;
            if now == before {
                return Ok(now);
            }
            before = now;
            std::thread::sleep(STILL);
        }
    }

    fn received_so_far(&self) -> Result<f64> {
        let url = format!("http://127.0.0.1:{}/api/spans", self.spans.port);
        let mut curl = Command::new("curl");
        let count = tools::read(curl.args(["--silent", "--fail", "--noproxy", "*", &url]))?;
        count.trim().parse().context("the count of spans is not a number")
    }
}

/// Options of the load client.
pub(super) fn options(rate: &str) -> [&str; 4] {
    ["--rate", rate, "--settle", SETTLE]
}
