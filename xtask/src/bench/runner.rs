//! Runs a suite: all peers in turns, with the same requests.

mod before;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::devtools::DevTools;
use super::peers::{self, Peer, Server};
use super::programs;
use super::report::{Report, Samples};
use super::scenario::{How, Scenario, Suite, Trial};
use super::stores::{Kept, Stores};
use super::traced::{self, Traced};
use crate::tools;
use Peer::{Floor, GenkitJs, GenkitPython, Oxikit};

/// The options of the command line.
struct Options {
    rounds: usize,
    is_quick: bool,
    is_long: bool,
    writes_docs: bool,
    /// The lines of an earlier run, instead of measuring.
    replayed: Option<String>,
    /// An earlier commit, whose programs are measured in turns with those of this checkout.
    before: Option<String>,
    /// Only scenarios with one of these in their names.
    names: Vec<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            rounds: 0,
            is_quick: false,
            is_long: false,
            writes_docs: false,
            replayed: None,
            before: None,
            names: Vec::new(),
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
                "--before" => {
                    let revision = args.next().context("`--before` wants a revision")?;
                    options.before = Some(revision.clone());
                }
                word if word.starts_with('-') => bail!("there is no option `{word}`"),
                word => options.names.push(word.to_owned()),
            }
        }
        if options.before.is_some() && (options.writes_docs || options.replayed.is_some()) {
            bail!("`--before` measures only our programs: it goes without `--docs` and `--replay`");
        }
        if options.rounds == 0 {
            options.rounds = if options.is_quick { 1 } else { 5 };
        }
        Ok(options)
    }

    fn wants(&self, scenario: &Scenario) -> bool {
        let is_named = self.names.iter().any(|word| scenario.name.contains(&**word));
        let is_asked = self.names.is_empty() || is_named;
        is_asked && (self.is_long || !scenario.is_long)
    }
}

/// Measures, prints and, if asked to, writes the docs. Fails when a *must* is missed.
pub(super) fn run(suite: &'static Suite, args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let scenarios: Vec<&'static Scenario> =
        suite.scenarios.iter().filter(|scenario| options.wants(scenario)).collect();
    if scenarios.is_empty() {
        bail!("no scenario has a name with {:?} in it", options.names);
    }
    if let Some(revision) = &options.before {
        return before::compare(suite, &options, &scenarios, revision);
    }
    let (samples, skipped, rounds) = match &options.replayed {
        Some(file) => replay(suite, file)?,
        None => record(suite, &options, &scenarios)?,
    };
    let figures = scenarios.iter().flat_map(|scenario| scenario.figures).collect();
    let report = Report::new(suite, figures, samples, skipped, rounds);
    report.print();
    if options.writes_docs {
        report.write_docs()?;
    }
    report.verdict()
}

/// The measured values, the missing peers with the reasons, and the number of counted rounds.
type Outcome = (Samples, Vec<(Peer, String)>, usize);

fn record(suite: &Suite, options: &Options, scenarios: &[&'static Scenario]) -> Result<Outcome> {
    let mut bench = Bench::prepare(suite, options, scenarios, |_| true)?;
    let yardsticks = yardsticks(suite, scenarios);
    // The first round warms up and is not counted.
    for round in 0..=options.rounds {
        for scenario in &yardsticks {
            bench.round(scenario, round, |peer| peer == Floor)?;
        }
        for scenario in scenarios {
            bench.round(scenario, round, |_| true)?;
        }
        eprintln!("round {round} of {} done", options.rounds);
    }
    Ok((bench.samples, bench.skipped, options.rounds))
}

/// Scenarios that were not asked for, but whose floor the bounds of others move with: only the
/// floor is measured.
fn yardsticks(suite: &Suite, scenarios: &[&'static Scenario]) -> Vec<&'static Scenario> {
    let goals = scenarios.iter().flat_map(|scenario| scenario.figures);
    let scales: Vec<&str> = goals
        .flat_map(|figure| [figure.must.scale, figure.aim.scale])
        .flatten()
        .map(|scale| scale.figure)
        .collect();
    let is_asked = |other: &Scenario| scenarios.iter().any(|known| known.name == other.name);
    let is_scale =
        |scenario: &Scenario| scenario.figures.iter().any(|figure| scales.contains(&figure.name));
    suite.scenarios.iter().filter(|other| is_scale(other) && !is_asked(other)).collect()
}

/// Takes an earlier run from its lines.
fn replay(suite: &Suite, file: &str) -> Result<Outcome> {
    let (mut samples, mut rounds, mut seen) = (Samples::default(), 0, Vec::new());
    for line in std::fs::read_to_string(file)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let scenario = suite.scenarios.iter().find(|scenario| line["scenario"] == scenario.name);
        let peer = Peer::ALL.into_iter().find(|peer| line["peer"] == peer.name());
        let round = line["round"].as_u64().context("a line has no round")?;
        if let (Some(scenario), Some(peer), 1..) = (scenario, peer, round) {
            samples.add(scenario.figures, peer, &line);
            seen.push(peer);
        }
        rounds = rounds.max(usize::try_from(round)?);
    }
    let takes_part = |peer: Peer| suite.scenarios.iter().any(|scenario| scenario.has(peer));
    let absent = Peer::ALL.into_iter().filter(|peer| takes_part(*peer) && !seen.contains(peer));
    let skipped = absent.map(|peer| (peer, "it is not in the file".to_owned())).collect();
    Ok((samples, skipped, rounds))
}

/// A run on its way.
struct Bench {
    servers: HashMap<Peer, Server>,
    /// Managers and telemetry servers, with what belongs to them.
    tools: DevTools,
    /// Peers that are missing, with the reasons.
    skipped: Vec<(Peer, String)>,
    samples: Samples,
    lines: std::fs::File,
    is_quick: bool,
    /// Started when the first scenario asks for it.
    stores: Stores,
    /// By what they log.
    traced: HashMap<&'static str, Traced>,
}

impl Bench {
    /// Builds and starts the peers of the scenarios for which `is_wanted` holds.
    fn prepare(
        suite: &Suite,
        options: &Options,
        scenarios: &[&Scenario],
        is_wanted: fn(Peer) -> bool,
    ) -> Result<Self> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let lines =
            peers::out_dir()?.join(format!("{}-{seconds}-{}.jsonl", suite.name, programs::label()));
        let mut bench = Self {
            servers: HashMap::new(),
            tools: DevTools::default(),
            skipped: Vec::new(),
            samples: Samples::default(),
            lines: std::fs::File::create(lines)?,
            is_quick: options.is_quick,
            stores: Stores::default(),
            traced: HashMap::new(),
        };
        let takes_part =
            |peer: Peer| is_wanted(peer) && scenarios.iter().any(|scenario| scenario.has(peer));
        // The load client is built with the floor.
        for peer in Peer::ALL.into_iter().filter(|peer| *peer == Floor || takes_part(*peer)) {
            eprintln!("preparing {}", peer.name());
            match bench.prepare_peer(peer, scenarios) {
                Err(error) if peer.may_be_absent() => {
                    eprintln!("{} is skipped: {error:#}", peer.name());
                    bench.skipped.push((peer, format!("{error:#}")));
                }
                prepared => prepared?,
            }
        }
        Ok(bench)
    }

    fn prepare_peer(&mut self, peer: Peer, scenarios: &[&Scenario]) -> Result<()> {
        peer.prepare()?;
        let stands =
            |scenario: &&Scenario| scenario.has(peer) && !matches!(scenario.how, How::Tools(_));
        if peer == Floor || scenarios.iter().any(stands) {
            self.servers.insert(peer, Server::start(peer, &[])?);
        }
        Ok(())
    }

    fn round(
        &mut self,
        scenario: &'static Scenario,
        round: usize,
        takes_part: fn(Peer) -> bool,
    ) -> Result<()> {
        // A scenario that starts its own server needs no warm-up.
        let is_warmed = matches!(
            scenario.how,
            How::Standing | How::Traced { .. } | How::Tools(Trial::Standing(_))
        );
        if round == 0 && !is_warmed {
            return Ok(());
        }
        if round > 1 && scenario.is_long {
            return Ok(());
        }
        for (peer, count) in scenario.counts.iter().filter(|(peer, _)| takes_part(*peer)) {
            if self.skipped.iter().any(|(skipped, _)| skipped == peer) {
                continue;
            }
            let count = if self.is_quick { (count / 5).max(1) } else { *count };
            let answer = match &scenario.how {
                How::Tools(Trial::Standing(run) | Trial::Fresh(run)) => {
                    run(&mut self.tools, *peer, count)
                }
                _ => self.measure(scenario, *peer, count),
            };
            let mut line = answer.unwrap_or_else(|error| json!({"failed": format!("{error:#}")}));
            line["load"] = load_average().into();
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

    fn measure(&mut self, scenario: &Scenario, peer: Peer, count: u32) -> Result<Value> {
        let server = self.servers.get(&peer).context("the server does not run")?;
        let How::Traced { log, .. } = scenario.how else {
            return measure(scenario, peer, count, server, &mut self.stores);
        };
        if peer != Oxikit {
            return measure(scenario, peer, count, server, &mut self.stores);
        }
        let traced = match self.traced.entry(log) {
            Entry::Occupied(traced) => traced.into_mut(),
            Entry::Vacant(place) => place.insert(Traced::start(log)?),
        };
        traced.measure(server, |server| {
            measure(scenario, peer, count, server, &mut Stores::default())
        })
    }
}

/// Load average of the last minute, which includes our own programs.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default()
}

fn measure(
    scenario: &Scenario,
    peer: Peer,
    count: u32,
    standing: &Server,
    stores: &mut Stores,
) -> Result<Value> {
    let [command, connections] = scenario.load;
    // Only oxikit and the floor can pass on text; the others make a tree, as always.
    let passes_on = !matches!(peer, GenkitJs | GenkitPython);
    let path = if passes_on { scenario.path } else { scenario.path.trim_end_matches("-raw") };
    let mut load = Command::new("sh");
    load.args(["-c", "ulimit -n 20000; exec \"$0\" \"$@\""]).arg(peers::load_client());
    let mut aim = |port: u16| {
        load.args([command, &format!("http://127.0.0.1:{port}{path}"), "-c", connections]);
    };
    let kept = match scenario.how {
        How::Store(kind) => Some(stores.empty(kind)?),
        How::Sessions(kind, rows) => Some(stores.with_sessions(kind, rows, peer)?),
        _ => None,
    };
    let fresh = match scenario.how {
        How::Standing => {
            aim(standing.port);
            load.args(["--pid", &standing.pid()]);
            None
        }
        How::Traced { rate, .. } => {
            aim(standing.port);
            load.args(["--pid", &standing.pid()]).args(traced::options(rate));
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
        How::Store(_) | How::Sessions(..) => {
            let store = kept.as_ref().map_or("", Kept::name);
            let server = Server::start(peer, &[("STORE", store)])?;
            let path = stores.path(scenario.path, &server)?;
            load.args([command, &format!("http://127.0.0.1:{}{path}", server.port)]);
            load.args(["-c", connections, "--pid", &server.pid()]);
            Some(server)
        }
        How::Start => {
            let port = peers::free_port()?;
            aim(port);
            load.env("PORT", port.to_string()).args(["-b", &scenario.body.text(), "--"]);
            return answer(load.arg(peer.program()?));
        }
        How::Tools(_) => bail!("it is measured in a way of its own"),
    };
    load.args(["-n", &count.to_string()]);
    let answer = answer(load.args(scenario.body.options()));
    drop(fresh);
    answer
}

pub(super) fn answer(load: &mut Command) -> Result<Value> {
    let output = tools::read_within(load, Duration::from_secs(300))?;
    serde_json::from_str(output.trim()).context("the output of the load client is not JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{a2a, http, manager, prompts, reflection, sessions};

    const SUITES: [&Suite; 6] = [
        &http::SUITE,
        &sessions::SUITE,
        &reflection::SUITE,
        &manager::SUITE,
        &a2a::SUITE,
        &prompts::SUITE,
    ];

    #[test]
    fn figures_have_names_of_their_own() {
        for suite in SUITES {
            let figures = suite.scenarios.iter().flat_map(|scenario| scenario.figures);
            let mut names: Vec<_> = figures.map(|figure| figure.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn a_bound_moves_with_a_floor_that_is_measured() {
        for suite in SUITES {
            for figure in suite.scenarios.iter().flat_map(|scenario| scenario.figures) {
                for scale in [figure.must.scale, figure.aim.scale].into_iter().flatten() {
                    let has = |scenario: &&Scenario| {
                        scenario.has(Floor)
                            && !scenario.is_long
                            && scenario.figures.iter().any(|other| other.name == scale.figure)
                    };
                    let is_measured = suite.scenarios.iter().any(|scenario| has(&scenario));
                    assert!(is_measured, "{}: no floor of {}", figure.name, scale.figure);
                }
            }
        }
        let args = ["sqlite"].map(str::to_owned);
        let options = Options::parse(&args).unwrap();
        let asked: Vec<_> =
            sessions::SUITE.scenarios.iter().filter(|scenario| options.wants(scenario)).collect();
        let names: Vec<_> =
            yardsticks(&sessions::SUITE, &asked).iter().map(|scenario| scenario.name).collect();
        assert_eq!(names, ["chat-new"]);
    }

    #[test]
    fn options_are_read_in_any_order() {
        let args = ["idle", "--rounds", "3", "--long"].map(str::to_owned);
        let options = Options::parse(&args).unwrap();
        assert_eq!((options.rounds, options.is_long), (3, true));
        let scenarios = http::SUITE.scenarios.iter();
        let names: Vec<_> = scenarios.filter(|s| options.wants(s)).map(|s| s.name).collect();
        assert_eq!(names, ["idle-1000", "idle-10000"]);
        assert!(Options::parse(&["--fast".to_owned()]).is_err());
        let args = ["--before", "v1", "--docs"].map(str::to_owned);
        assert_eq!(Options::parse(&args[..2]).unwrap().before.as_deref(), Some("v1"));
        assert!(Options::parse(&args).is_err());
    }
}
