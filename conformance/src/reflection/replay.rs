//! Plays recordings to our runtime.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use oxikit_serve::{DevConfig, DevTools};
use serde_json::Value;

use super::compare;
use super::differences::Table;
use super::manager::{Manager, REGISTER, request_of};
use super::names::Names;
use super::transcript::{Line, Transcript};
use crate::suite::Report;

/// Time to wait for messages that the recorded runtime did not send.
const SILENCE: Duration = Duration::from_millis(100);

pub(super) async fn run(transcripts: &[Transcript]) -> Result<Report> {
    let mut report = Report::default();
    let mut table = Table::default();
    let mut stage = None;
    for transcript in transcripts {
        if transcript.begins_a_runtime() {
            stage = None;
        }
        let on = match stage.take() {
            Some(stage) => stage,
            None => Stage::set(transcript.begins_a_runtime()).await?,
        };
        match Play::of(transcript, on).await {
            Ok((played, on)) => {
                played.judge(&on.names, &mut table, &mut report);
                stage = Some(on);
            }
            Err(error) => report.fail(transcript.name.as_str(), format!("{error:#}")),
        }
    }
    for row in table.unused() {
        report.fail(row, "it stands in the table, but is as recorded");
    }
    let differing = table.differing_cases();
    let same = report.passed.saturating_sub(differing);
    report.note = format!("{same} as recorded, {differing} documented differences");
    Ok(report)
}

/// A runtime and its manager, who have met before unless the recording shows it.
struct Stage {
    manager: Manager,
    runtime: Option<DevTools>,
    names: Names,
}

impl Stage {
    async fn set(meet_on_stage: bool) -> Result<Self> {
        let manager = Manager::bind().await?;
        let mut config = DevConfig::default();
        config.name = Some("reflect-app".to_owned());
        config.manager = Some(manager.url()?);
        let runtime = config.start(&oxikit_interop_reflection_app::app()?).await?;
        let mut stage = Self { manager, runtime: Some(runtime), names: Names::default() };
        if !meet_on_stage {
            stage.manager.connect().await?;
            let register = stage.manager.next_of(REGISTER).await?;
            let id = &register["id"];
            stage.manager.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).await?;
        }
        Ok(stage)
    }

    async fn end(&mut self) -> Result<()> {
        let runtime = self.runtime.take().context("the runtime ends once")?;
        let ((), goodbye) = tokio::join!(runtime.close(), self.manager.see_off());
        goodbye
    }
}

/// What was recorded of the requests of one file, and what came.
#[derive(Default)]
struct Play {
    /// Case and requests, in their order.
    cases: Vec<(String, Vec<String>)>,
    recorded: BTreeMap<String, Vec<Value>>,
    ours: BTreeMap<String, Vec<Value>>,
    ended: HashSet<String>,
    /// Whether the recorded runtime left a request without an answer.
    has_silence: bool,
}

impl Play {
    async fn of(transcript: &Transcript, mut stage: Stage) -> Result<(Self, Stage)> {
        let mut play = Self::default();
        play.cases.push((transcript.name.clone(), Vec::new()));
        for line in &transcript.lines {
            play.play(line, transcript, &mut stage).await.with_context(|| format!("{line:?}"))?;
        }
        if stage.runtime.is_some() {
            play.wait_for_ends(&mut stage).await?;
        }
        Ok((play, stage))
    }

    async fn play(
        &mut self,
        line: &Line,
        transcript: &Transcript,
        stage: &mut Stage,
    ) -> Result<()> {
        let manager = &mut stage.manager;
        match line {
            Line::Case(name) => {
                self.has_silence = true;
                self.cases.push((format!("{}: {name}", transcript.name), Vec::new()));
            }
            Line::Upgrade(path) => {
                manager.connect().await?;
                ensure!(manager.path == *path, "it connected to {}", manager.path);
            }
            Line::Manager(text) => {
                let text = stage.names.translate(text);
                self.note_request(&text);
                manager.send(text).await?;
            }
            Line::Runtime(recorded) => {
                manager.connect().await?;
                self.expect(recorded, stage).await?;
            }
            Line::Leave(code) => manager.leave(*code).await?,
            Line::End => stage.end().await?,
        }
        Ok(())
    }

    fn note_request(&mut self, text: &str) {
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        if let (Some(_), Some(id)) = (frame["method"].as_str(), frame.get("id")) {
            self.belongs_here(&id.to_string());
        }
    }

    fn belongs_here(&mut self, request: &str) {
        let is_known = self.cases.iter().any(|(_, known)| known.iter().any(|it| it == request));
        if let (false, Some((_, requests))) = (is_known, self.cases.last_mut()) {
            requests.push(request.to_owned());
        }
    }

    async fn expect(&mut self, recorded: &Value, stage: &mut Stage) -> Result<()> {
        let request = request_of(recorded);
        self.belongs_here(&request);
        self.recorded.entry(request.clone()).or_default().push(recorded.clone());
        if !self.ended.contains(&request) {
            let ours = stage.manager.next_of(&request).await?;
            stage.names.learn(recorded, &ours);
            self.keep(&request, ours);
        }
        Ok(())
    }

    fn keep(&mut self, request: &str, ours: Value) {
        if ours.get("method").is_none() {
            self.ended.insert(request.to_owned());
        }
        self.ours.entry(request.to_owned()).or_default().push(ours);
    }

    /// Gets what came beside what was recorded.
    async fn wait_for_ends(&mut self, stage: &mut Stage) -> Result<()> {
        let is_answer = |frame: &Value| frame.get("method").is_none();
        let answered = self.recorded.iter().filter(|(_, frames)| frames.iter().any(is_answer));
        for request in answered.map(|(request, _)| request.clone()).collect::<Vec<_>>() {
            while !self.ended.contains(&request) {
                let ours = stage.manager.next_of(&request).await?;
                self.keep(&request, ours);
            }
        }
        if self.has_silence {
            tokio::time::sleep(SILENCE).await;
        }
        stage.manager.fence().await?;
        for (request, frame) in stage.manager.take_rest() {
            self.belongs_here(&request);
            self.keep(&request, frame);
        }
        Ok(())
    }

    fn judge(&self, names: &Names, table: &mut Table, report: &mut Report) {
        let of = |frames: &BTreeMap<String, Vec<Value>>, request: &String| {
            frames.get(request).cloned().unwrap_or_default()
        };
        for (case, requests) in &self.cases {
            let differences = requests.iter().flat_map(|request| {
                compare::frames(names, &of(&self.recorded, request), &of(&self.ours, request))
            });
            report.case(case.as_str(), table.judge(case, differences.collect()));
        }
    }
}
