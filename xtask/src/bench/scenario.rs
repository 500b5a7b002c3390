//! The scenarios of a suite: the load, the peers, and the figures that are read.

use anyhow::Result;
use serde_json::Value;

use super::devtools::DevTools;
use super::goals::Goal;
use super::peers::Peer;

/// Figures that belong together.
pub(super) struct Suite {
    pub(super) name: &'static str,
    /// Above its picture.
    pub(super) title: &'static str,
    pub(super) scenarios: &'static [Scenario],
}

/// One way to load a server, and what is read off it.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) how: How,
    /// The load client's command and connections.
    pub(super) load: [&'static str; 2],
    pub(super) path: &'static str,
    pub(super) body: Body,
    /// The peers, and the number of requests of each: about a second of CPU.
    pub(super) counts: &'static [(Peer, u32)],
    pub(super) figures: &'static [Figure],
    /// Only with `--long`, and once.
    pub(super) is_long: bool,
}

pub(super) enum How {
    /// On the servers that run all the time.
    Standing,
    /// On a server of its own, for this many seconds if it is about waiting.
    Fresh(&'static str),
    /// The load client starts the server.
    Start,
    /// On a server of its own with this kind of store, empty.
    Store(&'static str),
    /// The same with this number of sessions in it.
    Sessions(&'static str, u32),
    /// As standing, and ours beside itself under the developer tools.
    Traced {
        /// Requests a second; `0` is as many as can be.
        rate: &'static str,
        /// The value of `RUST_LOG`.
        log: &'static str,
    },
    /// On the developer tools and their peers, in a way of its own.
    Tools(Trial),
}

/// Starts what it needs, loads the peer with this number of requests, and returns its figures.
pub(super) enum Trial {
    /// On servers that stay, and have to be warmed up.
    Standing(fn(&mut DevTools, Peer, u32) -> Result<Value>),
    /// On a server of its own.
    Fresh(fn(&mut DevTools, Peer, u32) -> Result<Value>),
}

pub(super) enum Body {
    Text(&'static str),
    /// A message of A2A, version 0.3 or 1.0, whose task has to be completed.
    A2a03(&'static str),
    A2a1(&'static str),
    /// Nine hundred rows.
    Large,
    /// None: it is a `GET`.
    Get,
}

/// A number of the load client's answer.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) field: &'static str,
    pub(super) unit: &'static str,
    pub(super) must: Goal,
    pub(super) aim: Goal,
    /// Its name in the chart; `None` if it is not drawn.
    pub(super) title: Option<&'static str>,
    /// Whether only our own answers have it.
    pub(super) is_ours: bool,
}

impl Scenario {
    /// Whether this peer takes part.
    pub(super) fn has(&self, peer: Peer) -> bool {
        self.counts.iter().any(|(other, _)| *other == peer)
    }
}

impl Figure {
    pub(super) const fn new(name: &'static str, field: &'static str, unit: &'static str) -> Self {
        Self { name, field, unit, must: Goal::NONE, aim: Goal::NONE, title: None, is_ours: false }
    }

    pub(super) const fn must(self, must: Goal) -> Self {
        Self { must, ..self }
    }

    pub(super) const fn aim(self, aim: Goal) -> Self {
        Self { aim, ..self }
    }

    pub(super) const fn ours(self) -> Self {
        Self { is_ours: true, ..self }
    }

    pub(super) const fn drawn(self, title: &'static str) -> Self {
        Self { title: Some(title), ..self }
    }
}

impl Body {
    /// The options of the load client that belong to it.
    pub(super) fn options(&self) -> Vec<String> {
        let options: &[&str] = match self {
            Self::Get => &["--get"],
            Self::Text(_) | Self::Large => &[],
            Self::A2a03(_) => &["--expect", r#""completed""#],
            Self::A2a1(_) => &["-H", "A2A-Version: 1.0", "--expect", "TASK_STATE_COMPLETED"],
        };
        let mut options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        if !matches!(self, Self::Get) {
            options.extend(["-b".to_owned(), self.text()]);
        }
        options
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) | Self::A2a03(text) | Self::A2a1(text) => (*text).to_owned(),
            Self::Get => String::new(),
            Self::Large => {
                let rows = (0..900).map(|i| {
                    let (ok, score) = (i % 2 == 0, f64::from(i) / 7.0);
                    format!(r#"{{"id": {i}, "name": "row {i}", "ok": {ok}, "score": {score:?}}}"#)
                });
                let rows: Vec<_> = rows.collect();
                format!(r#"{{"data": {{"rows": [{}]}}}}"#, rows.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_body_is_json() {
        let body: serde_json::Value = serde_json::from_str(&Body::Large.text()).unwrap();
        assert_eq!(body["data"]["rows"].as_array().unwrap().len(), 900);
    }
}
