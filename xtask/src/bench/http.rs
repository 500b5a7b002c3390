//! `cargo xtask bench http`: the floor, Genkit JS, Genkit Python and oxikit in
//! turns, with the same requests.

use std::collections::HashMap;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::goals::Goal;
use super::peers::{self, Peer, Server};
use super::report::{Report, Samples};
use crate::tools;

/// One way to load a server, and what is read off it.
pub(super) struct Scenario {
    name: &'static str,
    how: How,
    /// The load client's command and connections.
    load: [&'static str; 2],
    path: &'static str,
    body: Body,
    /// Who takes part, with how many requests: about a second of CPU each.
    counts: &'static [(Peer, u32)],
    pub(super) figures: &'static [Figure],
    /// Only with `--long`, and once.
    is_long: bool,
}

enum How {
    /// On the servers that run all the time.
    Standing,
    /// On a server of its own, for this many seconds if it is about waiting.
    Fresh(&'static str),
    /// The load client starts the server.
    Start,
}

enum Body {
    Text(&'static str),
    /// Nine hundred rows.
    Large,
}

/// A number of the load client's answer.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) field: &'static str,
    pub(super) unit: &'static str,
    pub(super) must: Goal,
    pub(super) aim: Goal,
    /// How the picture calls it, if it is drawn.
    pub(super) title: Option<&'static str>,
}

impl Figure {
    const fn new(name: &'static str, field: &'static str, unit: &'static str) -> Self {
        Self { name, field, unit, must: Goal::NONE, aim: Goal::NONE, title: None }
    }

    const fn must(self, must: Goal) -> Self {
        Self { must, ..self }
    }

    const fn aim(self, aim: Goal) -> Self {
        Self { aim, ..self }
    }

    const fn drawn(self, title: &'static str) -> Self {
        Self { title: Some(title), ..self }
    }
}

use Peer::{Floor, FloorOrdered, GenkitJs, GenkitPython, Oxikit};

const SMALL: Body =
    Body::Text(r#"{"data":{"question":"what is this about?","tags":["a","b","c"],"n":42}}"#);
const EMPTY: Body = Body::Text(r#"{"data":{}}"#);
const CPU: &str = "cpu_us_per_req";
const MANY: [(Peer, u32); 5] = [
    (Floor, 60_000),
    (FloorOrdered, 60_000),
    (Oxikit, 60_000),
    (GenkitJs, 4_000),
    (GenkitPython, 1_500),
];

const SCENARIOS: [Scenario; 13] = [
    Scenario {
        name: "echo-c1",
        how: How::Standing,
        load: ["unary", "1"],
        path: "/echo",
        body: SMALL,
        counts: &[
            (Floor, 20_000),
            (FloorOrdered, 20_000),
            (Oxikit, 20_000),
            (GenkitJs, 4_000),
            (GenkitPython, 1_500),
        ],
        figures: &[Figure::new("echo-c1", CPU, "µs")],
        is_long: false,
    },
    Scenario {
        name: "echo-c16",
        how: How::Standing,
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &MANY,
        figures: &[
            Figure::new("echo-c16", CPU, "µs")
                .must(Goal::of_floor(70.0).and_times_js(14.0))
                .aim(Goal::of_floor(85.0).and_times_js(18.0))
                .drawn("unary, small, 16 connections: CPU a request"),
            Figure::new("echo-c16-p99", "p99_ms", "ms").aim(Goal::above_floor(1.0)),
        ],
        is_long: false,
    },
    Scenario {
        name: "echo-c64",
        how: How::Standing,
        load: ["unary", "64"],
        path: "/echo",
        body: SMALL,
        counts: &MANY,
        figures: &[Figure::new("echo-c64", CPU, "µs")],
        is_long: false,
    },
    Scenario {
        name: "echo-48k",
        how: How::Standing,
        load: ["unary", "16"],
        path: "/echo",
        body: Body::Large,
        counts: &[
            (Floor, 3_000),
            (FloorOrdered, 3_000),
            (Oxikit, 3_000),
            (GenkitJs, 800),
            (GenkitPython, 200),
        ],
        figures: &[Figure::new("echo-48k", CPU, "µs")
            .must(Goal::of_floor(80.0).and_times_js(2.5))
            .aim(Goal::of_floor(95.0).and_times_js(3.2))
            .drawn("unary, 48 kB, to a JSON tree and back: CPU a request")],
        is_long: false,
    },
    Scenario {
        name: "echo-48k-raw",
        how: How::Standing,
        load: ["unary", "16"],
        path: "/echo-raw",
        body: Body::Large,
        counts: &[(Floor, 10_000), (Oxikit, 10_000), (GenkitJs, 800)],
        figures: &[Figure::new("echo-48k-raw", CPU, "µs")
            .must(Goal::at_most(200.0).and_times_js(8.0))
            .aim(Goal::at_most(140.0).and_times_js(12.0))
            .drawn("unary, 48 kB, passed on: CPU a request")],
        is_long: false,
    },
    Scenario {
        name: "count-burst-1000",
        how: How::Standing,
        load: ["stream", "8"],
        path: "/count",
        body: Body::Text(r#"{"data":{"n":1000}}"#),
        counts: &[(Floor, 1_500), (Oxikit, 1_500), (GenkitJs, 250), (GenkitPython, 20)],
        figures: &[Figure::new("count-burst-1000", "cpu_us_per_chunk", "µs")
            .must(Goal::at_most(0.5).and_times_js(5.0))
            .aim(Goal::at_most(0.33).and_times_js(7.0))
            .drawn("stream, 1,000 chunks in a burst: CPU a chunk")],
        is_long: false,
    },
    Scenario {
        name: "count-paced-200",
        how: How::Standing,
        load: ["stream", "8"],
        path: "/count",
        body: Body::Text(r#"{"data":{"n":200,"paced":true}}"#),
        counts: &[(Floor, 800), (Oxikit, 800), (GenkitJs, 150), (GenkitPython, 50)],
        figures: &[
            Figure::new("count-paced-200", "cpu_us_per_chunk", "µs")
                .must(Goal::of_floor(80.0).and_times_js(2.3))
                .aim(Goal::of_floor(92.0).and_times_js(2.7))
                .drawn("stream, chunks one by one: CPU a chunk"),
            Figure::new("count-paced-200-first", "ttfc_p50_ms", "ms").aim(Goal::at_most(0.6)),
        ],
        is_long: false,
    },
    Scenario {
        name: "start",
        how: How::Start,
        load: ["start", "1"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 1), (Oxikit, 1), (GenkitJs, 1), (GenkitPython, 1)],
        figures: &[
            Figure::new("start", "ready_ms", "ms")
                .must(Goal::at_most(50.0).and_times_js(14.0))
                .aim(Goal::at_most(20.0).and_times_js(35.0))
                .drawn("from start to the first 200"),
            Figure::new("resident-start", "rss_mb", "MB")
                .must(Goal::at_most(15.0))
                .aim(Goal::at_most(8.0))
                .drawn("resident memory at the start"),
        ],
        is_long: false,
    },
    Scenario {
        name: "resident-10k",
        how: How::Fresh("0"),
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 10_000), (Oxikit, 10_000), (GenkitJs, 10_000), (GenkitPython, 10_000)],
        figures: &[Figure::new("resident-10k", "rss_mb", "MB")
            .must(Goal::at_most(18.0))
            .aim(Goal::at_most(10.0))],
        is_long: false,
    },
    Scenario {
        name: "resident-1m",
        how: How::Fresh("0"),
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 1_000_000), (Oxikit, 1_000_000)],
        figures: &[Figure::new("resident-1m", "rss_mb", "MB")
            .must(Goal::at_most(20.0))
            .aim(Goal::at_most(10.0))],
        is_long: true,
    },
    Scenario {
        name: "idle-1000",
        how: How::Fresh("2"),
        load: ["idle", "1000"],
        path: "/hang",
        body: EMPTY,
        counts: &[(Floor, 1), (Oxikit, 1), (GenkitJs, 1), (GenkitPython, 1)],
        figures: &[Figure::new("idle-1000", "kb_per_conn", "kB")
            .must(Goal::at_most(20.0))
            .aim(Goal::at_most(14.0))
            .drawn("memory of an idle stream, of 1,000")],
        is_long: false,
    },
    Scenario {
        name: "idle-10000",
        how: How::Fresh("5"),
        load: ["idle", "10000"],
        path: "/hang",
        body: EMPTY,
        counts: &[(Floor, 1), (Oxikit, 1)],
        figures: &[
            Figure::new("idle-10000", "kb_per_conn", "kB")
                .must(Goal::at_most(20.0))
                .aim(Goal::at_most(14.0)),
            Figure::new("idle-10000-cpu", "idle_cpu_pct", "% of a core").must(Goal::at_most(0.5)),
        ],
        is_long: true,
    },
    Scenario {
        name: "stall-60",
        how: How::Fresh("5"),
        load: ["stall", "60"],
        path: "/flood",
        body: EMPTY,
        counts: &[(Oxikit, 1)],
        // A megabyte a stream is allowed, a quarter of it is aimed at.
        figures: &[Figure::new("stall-60", "growth_mb", "MB")
            .must(Goal::at_most(60.0))
            .aim(Goal::at_most(15.0))],
        is_long: false,
    },
];

/// What was asked for on the command line.
struct Options {
    rounds: usize,
    is_quick: bool,
    is_long: bool,
    writes_docs: bool,
    /// The lines of an earlier run, instead of measuring.
    replayed: Option<String>,
    /// Only scenarios with one of these in their names.
    words: Vec<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            rounds: 0,
            is_quick: false,
            is_long: false,
            writes_docs: false,
            replayed: None,
            words: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--rounds" => {
                    let rounds = args.next().and_then(|rounds| rounds.parse().ok());
                    options.rounds = rounds.context("`--rounds` wants a number")?;
                }
                "--quick" => options.is_quick = true,
                "--long" => options.is_long = true,
                "--docs" => options.writes_docs = true,
                "--replay" => {
                    options.replayed =
                        Some(args.next().context("`--replay` wants a file")?.clone());
                }
                word if word.starts_with('-') => bail!("`bench http` has no option `{word}`"),
                word => options.words.push(word.to_owned()),
            }
        }
        if options.rounds == 0 {
            options.rounds = if options.is_quick { 1 } else { 5 };
        }
        Ok(options)
    }

    fn wants(&self, scenario: &Scenario) -> bool {
        let is_named = self.words.iter().any(|word| scenario.name.contains(&**word));
        let is_asked = self.words.is_empty() || is_named;
        is_asked && (self.is_long || !scenario.is_long)
    }
}

/// Measures, prints and, if asked to, writes the docs. Fails when a *must* is missed.
pub(super) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let scenarios: Vec<&Scenario> =
        SCENARIOS.iter().filter(|scenario| options.wants(scenario)).collect();
    if scenarios.is_empty() {
        bail!("no scenario has a name with {:?} in it", options.words);
    }
    let (samples, skipped, rounds) = match &options.replayed {
        Some(file) => replay(file)?,
        None => record(&options, &scenarios)?,
    };
    let figures = scenarios.iter().flat_map(|scenario| scenario.figures).collect();
    let report = Report::new(figures, samples, skipped, rounds);
    report.print();
    if options.writes_docs {
        report.write_docs()?;
    }
    report.verdict()
}

/// What was measured, who could not be had and why, and how many rounds counted.
type Outcome = (Samples, Vec<(Peer, String)>, usize);

fn record(options: &Options, scenarios: &[&Scenario]) -> Result<Outcome> {
    let mut bench = Bench::prepare(options, scenarios)?;
    // The first round warms up and is not counted.
    for round in 0..=options.rounds {
        for scenario in scenarios {
            bench.round(scenario, round)?;
        }
        eprintln!("round {round} of {} done", options.rounds);
    }
    Ok((bench.samples, bench.skipped, options.rounds))
}

/// Takes an earlier run from its lines.
fn replay(file: &str) -> Result<Outcome> {
    let (mut samples, mut rounds, mut seen) = (Samples::default(), 0, Vec::new());
    for line in std::fs::read_to_string(file)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let scenario = SCENARIOS.iter().find(|scenario| line["scenario"] == scenario.name);
        let peer = Peer::ALL.into_iter().find(|peer| line["peer"] == peer.name());
        let round = line["round"].as_u64().context("a line has no round")?;
        if let (Some(scenario), Some(peer), 1..) = (scenario, peer, round) {
            samples.add(scenario.figures, peer, &line);
            seen.push(peer);
        }
        rounds = rounds.max(usize::try_from(round)?);
    }
    let absent = Peer::ALL.into_iter().filter(|peer| !seen.contains(peer));
    let skipped = absent.map(|peer| (peer, "it is not in the file".to_owned())).collect();
    Ok((samples, skipped, rounds))
}

/// A run on its way.
struct Bench {
    servers: HashMap<Peer, Server>,
    /// Peers that could not be had, and why.
    skipped: Vec<(Peer, String)>,
    samples: Samples,
    lines: std::fs::File,
    is_quick: bool,
}

impl Bench {
    fn prepare(options: &Options, scenarios: &[&Scenario]) -> Result<Self> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let lines = peers::out_dir()?.join(format!("http-{seconds}.jsonl"));
        let mut bench = Self {
            servers: HashMap::new(),
            skipped: Vec::new(),
            samples: Samples::default(),
            lines: std::fs::File::create(lines)?,
            is_quick: options.is_quick,
        };
        let takes_part = |peer: &Peer| {
            let mut counts = scenarios.iter().flat_map(|scenario| scenario.counts);
            counts.any(|(other, _)| other == peer)
        };
        // The load client is built with the floor.
        for peer in Peer::ALL.into_iter().filter(|peer| *peer == Floor || takes_part(peer)) {
            eprintln!("preparing {}", peer.name());
            match peer.prepare().and_then(|()| Server::start(peer, &[])) {
                Ok(server) => _ = bench.servers.insert(peer, server),
                Err(error) if matches!(peer, GenkitJs | GenkitPython) => {
                    eprintln!("{} is skipped: {error:#}", peer.name());
                    bench.skipped.push((peer, format!("{error:#}")));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bench)
    }

    fn round(&mut self, scenario: &Scenario, round: usize) -> Result<()> {
        // What starts a server of its own needs no warming up.
        if round == 0 && !matches!(scenario.how, How::Standing) {
            return Ok(());
        }
        if round > 1 && scenario.is_long {
            return Ok(());
        }
        for (peer, count) in scenario.counts {
            let Some(server) = self.servers.get(peer) else { continue };
            let count = if self.is_quick { (count / 5).max(1) } else { *count };
            let answer = measure(scenario, *peer, count, server);
            let mut line = answer.unwrap_or_else(|error| json!({"failed": format!("{error:#}")}));
            if round > 0 {
                self.samples.add(scenario.figures, *peer, &line);
            }
            line["scenario"] = scenario.name.into();
            line["peer"] = peer.name().into();
            line["round"] = round.into();
            writeln!(self.lines, "{line}")?;
        }
        Ok(())
    }
}

fn measure(scenario: &Scenario, peer: Peer, count: u32, standing: &Server) -> Result<Value> {
    let [command, connections] = scenario.load;
    // Only oxikit and the floor can pass on text; the others make a tree, as always.
    let passes_on = !matches!(peer, GenkitJs | GenkitPython);
    let path = if passes_on { scenario.path } else { scenario.path.trim_end_matches("-raw") };
    let mut load = Command::new("sh");
    load.args(["-c", "ulimit -n 20000; exec \"$0\" \"$@\""]).arg(peers::load_client());
    let mut aim = |port: u16| {
        load.args([command, &format!("http://127.0.0.1:{port}{path}"), "-c", connections]);
    };
    let fresh = match scenario.how {
        How::Standing => {
            aim(standing.port);
            load.args(["--pid", &standing.pid()]);
            None
        }
        How::Fresh(seconds) => {
            // The floor of idle streams is hyper with small buffers.
            let server = Server::start(peer, &[("BARE", "1")])?;
            // Until it has settled.
            std::thread::sleep(Duration::from_millis(500));
            aim(server.port);
            load.args(["--secs", seconds, "--pid", &server.pid()]);
            Some(server)
        }
        How::Start => {
            let port = peers::free_port()?;
            aim(port);
            load.env("PORT", port.to_string()).args(["-b", &scenario.body.text(), "--"]);
            return answer(load.arg(peer.program()?));
        }
    };
    load.args(["-n", &count.to_string(), "-b", &scenario.body.text()]);
    let answer = answer(&mut load);
    drop(fresh);
    answer
}

fn answer(load: &mut Command) -> Result<Value> {
    let output = tools::read_within(load, Duration::from_secs(300))?;
    serde_json::from_str(output.trim()).context("the load client did not answer JSON")
}

impl Body {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
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
    fn figures_have_names_of_their_own() {
        let figures = SCENARIOS.iter().flat_map(|scenario| scenario.figures);
        let mut names: Vec<_> = figures.map(|figure| figure.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_large_body_is_json() {
        let body: Value = serde_json::from_str(&Body::Large.text()).unwrap();
        assert_eq!(body["data"]["rows"].as_array().unwrap().len(), 900);
    }

    #[test]
    fn options_are_read_in_any_order() {
        let args = ["idle", "--rounds", "3", "--long"].map(str::to_owned);
        let options = Options::parse(&args).unwrap();
        assert_eq!((options.rounds, options.is_long), (3, true));
        let names: Vec<_> = SCENARIOS.iter().filter(|s| options.wants(s)).map(|s| s.name).collect();
        assert_eq!(names, ["idle-1000", "idle-10000"]);
        assert!(Options::parse(&["--fast".to_owned()]).is_err());
    }
}
