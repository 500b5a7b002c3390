//! A server under the developer tools: a manager that it registers with, and a telemetry
//! server that takes its spans. Their CPU is not counted.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::peers::{self, Peer, Server};
use crate::crash::{self, Process};
use crate::tools;

/// For the last spans to be told, and for what that costs.
const SETTLE: &str = "1.5";
/// When no span has come for so long, there is none on its way.
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
        let before = self.told()?;
        let mut with = load(&self.server)?;
        let told = self.told()? - before;
        let cost = |answer: &Value| answer["cpu_us_per_req"].as_f64().context("it has no CPU");
        with["plain_us"] = cost(&without)?.into();
        with["more_us"] = (cost(&with)? - cost(&without)?).into();
        let calls = with["ok"].as_f64().context("nothing was answered")?;
        with["lost_percent"] = json!(100.0 * (1.0 - told / calls));
        let errors = |answer: &Value| answer["errors"].as_u64().unwrap_or_default();
        with["errors"] = (errors(&with) + errors(&without)).into();
        Ok(with)
    }

    /// How many ended spans the telemetry server was told of, once no more come.
    fn told(&self) -> Result<f64> {
        let mut before = -1.0;
        loop {
            let now = self.told_so_far()?;
            if now == before {
                return Ok(now);
            }
            before = now;
            std::thread::sleep(STILL);
        }
    }

    fn told_so_far(&self) -> Result<f64> {
        let url = format!("http://127.0.0.1:{}/api/spans", self.spans.port);
        let mut curl = Command::new("curl");
        let count = tools::read(curl.args(["--silent", "--fail", "--noproxy", "*", &url]))?;
        count.trim().parse().context("it is no number")
    }
}

/// Options of the load client.
pub(super) fn options(rate: &str) -> [&str; 4] {
    ["--rate", rate, "--settle", SETTLE]
}
