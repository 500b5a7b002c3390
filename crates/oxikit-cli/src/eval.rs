//! `oxikit eval`: runs, shows and manages evaluations.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::action;
use super::args::{EvalArgs, EvalCommand, JudgingArgs};
use super::client::{Client, encoded};
use super::eval_data::DataSource;
use super::eval_report::{Figures, show, sum};
use super::events::Events;
use super::failure::{Exit, Failure};
use super::output::Output;
use super::run::{context_argument, json_argument, key_of};
use super::value_text::Detail;
use crate::terminal;

const PATH: &str = "/api/v1/evaluations";

pub(super) async fn run(
    args: EvalArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match args.command {
        EvalCommand::Run { action, data, input, context, config, timeout, judging } => {
            let config =
                config.map(|config| json_argument("configuration", &config)).transpose()?;
            let options = RunOptions {
                context: context_argument(context.as_deref())?,
                action_config: config,
                timeout: timeout.map(|timeout| timeout.as_secs_f64()),
                batch_size: None,
            };
            let action = if action.starts_with('/') { action } else { key_of("flow", &action) };
            let data_source = DataSource::of(&data.or(input).unwrap_or_default())?;
            let request =
                Request { data_source, action_ref: Some(action), options, ..Request::default() };
            evaluate(request, judging, client, output).await
        }
        EvalCommand::Judge { file, judging } => {
            let data_source = DataSource::of_file(&file)?;
            let request = Request { data_source, ..Request::default() };
            evaluate(request, judging, client, output).await
        }
        EvalCommand::List { limit, action, dataset } => {
            let mut path = format!("{PATH}?limit={limit}");
            for (name, value) in [("action", action), ("dataset", dataset)] {
                if let Some(value) = value {
                    path.push_str(&format!("&{name}={}", encoded(&value)));
                }
            }
            show_list(&client.get(&path).await?, output)
        }
        EvalCommand::Show { id, full } => {
            let id = if id == "latest" { latest(client).await? } else { id };
            let run = client.get(&format!("{PATH}/{}", encoded(&id))).await?;
            if output.is_json() { output.value(&run) } else { show(&run, Detail::of(full), output) }
        }
        EvalCommand::Extract { flow, output: to, limit, label } => {
            extract(&flow, to.as_deref(), limit, label.as_deref(), client, output).await
        }
        EvalCommand::Delete { id } => {
            client.delete(&format!("{PATH}/{}", encoded(&id))).await?;
            done(format!("deleted the evaluation {id}"), json!({"ok": true}), output)
        }
        EvalCommand::Import => {
            let imported = client.post(&format!("{PATH}/import"), &json!({})).await?;
            let (datasets, evaluations) = (&imported["datasets"], &imported["evaluations"]);
            let text = format!("imported {datasets} datasets and {evaluations} evaluations");
            for skipped in imported["skipped"].as_array().into_iter().flatten() {
                output.remark(format!("skipped: {} ({})", skipped["file"], skipped["reason"]));
            }
            done(text, imported, output)
        }
    }
}

/// The body of the request that starts an evaluation.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    data_source: DataSource,
    action_ref: Option<String>,
    evaluators: Option<Vec<String>>,
    options: RunOptions,
    runtime_id: Option<String>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunOptions {
    context: Option<Box<RawValue>>,
    action_config: Option<Box<RawValue>>,
    timeout: Option<f64>,
    batch_size: Option<usize>,
}

/// Shows the result of a command, as text or as JSON.
pub(super) fn done(text: String, value: Value, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() { output.value(&value) } else { output.line(text) }
}

/// Runs an evaluation and shows its progress and its result.
async fn evaluate(
    mut request: Request,
    args: JudgingArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    confirm_costs(&args, client).await?;
    request.options.batch_size = args.batch_size;
    request.evaluators = args.evaluators;
    request.runtime_id = args.target.runtime.clone();
    let answer = client.start(&format!("{PATH}/stream"), &request).await?;
    let id = match follow(Events::new(answer)).await {
        Ok(id) => id,
        Err(failure) => {
            let runtime = args.target.runtime.as_deref();
            let failure = client.explain(failure, runtime).await;
            return Err(match &request.action_ref {
                Some(key) if failure.is_not_found() => {
                    failure.with_advice(client.advise_key(key, runtime).await)
                }
                _ => failure,
            });
        }
    };
    let run = client.get(&format!("{PATH}/{}", encoded(&id))).await?;
    if let Some(to) = &args.output {
        write(to, &run)?;
    }
    let figures = Figures::of(&run);
    let is_good = figures.is_good(args.fail_below);
    if output.is_json() {
        output.value(&json!({"ok": is_good, "evaluation": run["key"], "figures": figures}))?;
    } else {
        show(&run, Detail::Folded, output)?;
        output.remark(format!("oxikit eval show {id}"));
    }
    if is_good { Ok(()) } else { Err(Failure::AlreadyShown(Exit::Failed)) }
}

/// Shows the progress on a terminal until the evaluation has ended. Returns its id.
async fn follow(mut events: Events) -> Result<String, Failure> {
    let broken = |error: serde_json::Error| {
        Failure::internal(format!("the response of the developer tools is not valid JSON: {error}"))
    };
    let mut progress = ProgressLine::default();
    while let Some(event) = events.next().await? {
        let data: Value = serde_json::from_str(&event.data).map_err(broken)?;
        match event.name.as_str() {
            "progress" => progress.update(&data),
            "done" => {
                progress.clear();
                return Ok(data["evalRunId"].as_str().unwrap_or_default().to_owned());
            }
            "error" => {
                progress.clear();
                let text = |member: &str| data[member].as_str().unwrap_or("UNKNOWN").to_owned();
                return Err(match text("status").as_str() {
                    "UNAVAILABLE" => Failure::unavailable(text("message")),
                    status => Failure::failed(status, text("message")),
                });
            }
            _ => {}
        }
    }
    Err(Failure::unavailable(
        "the developer tools ended during the evaluation: start them with `oxikit start` and run it again",
    ))
}

/// The progress of an evaluation, shown on one line of the terminal that is overwritten.
#[derive(Debug, Default)]
struct ProgressLine {
    cases: u64,
    failed: u64,
    evaluators: usize,
}

impl ProgressLine {
    fn update(&mut self, progress: &Value) {
        let done = &progress["done"];
        let text = match progress["type"].as_str() {
            Some("started") => {
                self.cases = progress["cases"].as_u64().unwrap_or_default();
                self.evaluators = progress["evaluators"].as_array().map_or(0, Vec::len);
                format!("0 of {} cases", self.cases)
            }
            Some("case") => {
                self.failed += u64::from(progress["error"].is_string());
                format!("{done} of {} cases, {} failed", self.cases, self.failed)
            }
            _ => format!("{done} of {} evaluators", self.evaluators),
        };
        terminal::write_progress(&text);
    }

    fn clear(&self) {
        terminal::write_progress("");
    }
}

/// Asks for confirmation before evaluators that cost money are run. Without a terminal the
/// question is skipped: the author of the script has decided.
async fn confirm_costs(args: &JudgingArgs, client: &Client) -> Result<(), Failure> {
    if args.force || !io::stdin().is_terminal() || !terminal::is_err_terminal() {
        return Ok(());
    }
    let list = action::list(client, &args.target, Some("evaluator")).await?;
    let is_asked = |name: &str| match &args.evaluators {
        None => true,
        Some(named) => {
            named.iter().any(|asked| asked == name || asked.ends_with(&format!("/{name}")))
        }
    };
    let evaluators = list["actions"].as_object().into_iter().flatten();
    let billed = evaluators
        .filter(|(_, action)| action["metadata"]["evaluator"]["evaluatorIsBilled"] == true)
        .filter_map(|(_, action)| action["name"].as_str())
        .filter(|name| is_asked(name));
    let billed: Vec<&str> = billed.collect();
    if billed.is_empty() {
        return Ok(());
    }
    let question = format!("{} may cost money for each case. Continue? [y/N] ", billed.join(", "));
    terminal::write_err(&question.into());
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::failed("CANCELLED", "nothing was evaluated; --force skips the question")),
    }
}

async fn latest(client: &Client) -> Result<String, Failure> {
    let list = client.get(&format!("{PATH}?limit=1")).await?;
    let id = list["evaluations"][0]["evalRunId"].as_str().map(str::to_owned);
    id.ok_or_else(|| {
        Failure::failed(
            "NOT_FOUND",
            "there are no evaluations yet: create one with `oxikit eval run`",
        )
    })
}

fn show_list(list: &Value, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(list);
    }
    let keys = list["evaluations"].as_array().map(Vec::as_slice).unwrap_or_default();
    if keys.is_empty() {
        output.remark("no evaluations");
        return Ok(());
    }
    let row = |key: &Value| {
        let text = |member: &str| key[member].as_str().unwrap_or("-").to_owned();
        let sums = key["metricSummaries"].as_array().into_iter().flatten().map(|summary| {
            let name = summary["evaluator"].as_str().unwrap_or_default();
            format!("{}: {}", name.trim_start_matches("/evaluator/"), sum(summary))
        });
        let sums = sums.collect::<Vec<_>>().join("; ");
        vec![text("createdAt"), text("actionRef"), text("datasetId"), text("evalRunId"), sums]
    };
    let heading = ["CREATED", "ACTION", "DATASET", "EVALUATION", "RESULT"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(keys.iter().map(row));
    output.table(&rows, &[3])
}

async fn extract(
    flow: &str,
    to: Option<&Path>,
    limit: usize,
    label: Option<&str>,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let flow = flow.strip_prefix("/flow/").unwrap_or(flow);
    let mut path = format!("{PATH}/extract?flow={}&limit={limit}", encoded(flow));
    if let Some(label) = label {
        path.push_str(&format!("&label={}", encoded(label)));
    }
    let found = client.get(&path).await?;
    let count = found["cases"].as_array().map_or(0, Vec::len);
    if found["skipped"] != 0 {
        output.remark(format!("skipped: {} traces without a complete input", found["skipped"]));
    }
    match to {
        Some(to) => {
            write(to, &found["cases"])?;
            let result = json!({"ok": true, "cases": count});
            done(format!("wrote {count} cases to {}", to.display()), result, output)
        }
        None if output.is_json() => output.value(&found["cases"]),
        None => output.pretty(&found["cases"]),
    }
}

fn write(path: &Path, value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
    std::fs::write(path, text).map_err(|error| {
        Failure::internal(format!("{} cannot be written: {error}", path.display()))
    })
}
