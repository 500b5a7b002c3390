//! `oxikit trace`: lists, shows and follows traces.

use oxikit_wire::trace::{SpanView, event as kind};
use serde_json::Value;

use super::args::{TraceArgs, TraceCommand, TraceFilterArgs};
use super::client::{Client, encoded, query};
use super::failure::{Exit, Failure};
use super::output::{Output, ago, duration};
use super::trace_tree;
use super::value_text::Detail;

/// Maximum number of traces that are searched for a similar id or name.
const MAX_NEAR: usize = 200;
/// Minimum number of characters for a search by the beginning of an id.
const MIN_BEGINNING: usize = 4;

pub(super) async fn run(
    args: TraceArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match args.command {
        TraceCommand::List(filter) => list(&filter, client, output).await,
        TraceCommand::Show { id, full } => show(&id, full, client, output).await,
        TraceCommand::Tail => {
            // A separate task handles Ctrl-C, because this one may be blocked on a pipe without
            // a reader.
            tokio::spawn(async {
                if tokio::signal::ctrl_c().await.is_ok() {
                    // Ctrl-C is the normal way to end this command.
                    std::process::exit(Exit::Success as i32);
                }
            });
            tail(client, output).await
        }
    }
}

async fn list(
    filter: &TraceFilterArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let page = client.get(&format!("/api/v1/traces?{}", filtered(filter))).await?;
    if output.is_json() {
        return output.value(&page);
    }
    let traces = page["traces"].as_array().map(Vec::as_slice).unwrap_or_default();
    if traces.is_empty() {
        output.remark("no traces");
        return Ok(());
    }
    let heading = ["STARTED", "DURATION", "STATUS", "TYPE", "NAME", "TOKENS", "TRACE"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(traces.iter().map(row));
    output.table(&rows, &[6])
}

fn filtered(filter: &TraceFilterArgs) -> String {
    let TraceFilterArgs { limit, name, kind, status, text, session, runtime, after } = filter;
    query(&[
        ("limit", Some(&limit.to_string())),
        ("name", name.as_ref()),
        ("type", kind.as_ref()),
        ("status", status.as_ref()),
        ("text", text.as_ref()),
        ("session", session.as_ref()),
        ("runtime", runtime.as_ref()),
        ("continuationToken", after.as_ref()),
    ])
}

fn row(trace: &Value) -> Vec<String> {
    let text = |member: &str| trace[member].as_str().unwrap_or("-").to_owned();
    let tokens = trace["usage"]["totalTokens"].as_i64().filter(|tokens| *tokens > 0);
    vec![
        trace["startTime"].as_f64().map(ago).unwrap_or_default(),
        trace["duration"].as_f64().map_or_else(|| "-".to_owned(), duration),
        text("status"),
        text("type"),
        text("name"),
        tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
        text("traceId"),
    ]
}

async fn show(
    id: &str,
    is_full: bool,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let id = match id {
        "latest" => latest(client).await?,
        id => id.to_owned(),
    };
    let trace = match client.get(&format!("/api/v1/traces/{}", encoded(&id))).await {
        Err(failure) if failure.is_not_found() => {
            return Err(failure.with_advice(advise_trace(&id, client).await));
        }
        trace => trace?,
    };
    if output.is_json() {
        return output.value(&trace);
    }
    let entries = trace["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    for line in trace_tree::lines(entries, Detail::of(is_full)) {
        if is_full { output.line(line)? } else { output.row(line)? }
    }
    output.remark(match is_full {
        true => id,
        false => format!("{id}; --full shows values in full"),
    });
    Ok(())
}

/// Advice for a trace that does not exist: one whose id begins with the text, or the newest
/// with this name.
async fn advise_trace(asked: &str, client: &Client) -> String {
    let page = client.get(&format!("/api/v1/traces?limit={MAX_NEAR}")).await.unwrap_or_default();
    let traces = page["traces"].as_array().map(Vec::as_slice).unwrap_or_default();
    let id = |trace: &Value| trace["traceId"].as_str().map(str::to_owned);
    let begins = |trace: &&Value| id(trace).is_some_and(|id| id.starts_with(asked));
    if let Some(id) =
        traces.iter().find(begins).filter(|_| asked.len() >= MIN_BEGINNING).and_then(id)
    {
        return format!("did you mean `{id}`?");
    }
    match traces.iter().find(|trace| trace["name"] == asked).and_then(id) {
        Some(id) => format!("did you mean `{id}`, the newest trace of `{asked}`?"),
        None => {
            "`oxikit trace list` lists the existing ones, and `latest` is the newest".to_owned()
        }
    }
}

async fn latest(client: &Client) -> Result<String, Failure> {
    let page = client.get("/api/v1/traces?limit=1").await?;
    let id = page["traces"][0]["traceId"].as_str().map(str::to_owned);
    id.ok_or_else(|| {
        Failure::failed(
            "NOT_FOUND",
            "there are no traces yet: run a flow first, such as with `oxikit flow run`",
        )
    })
}

/// Shows each event as JSON, or each ended trace as a line of text.
async fn tail(client: &Client, output: &mut Output) -> Result<(), Failure> {
    let mut events = client.events("/api/v1/traces/events").await?;
    if !output.is_json() {
        output.remark("each trace is shown when it ends; Ctrl-C stops");
    }
    while let Some(event) = events.next().await? {
        let event: Value = serde_json::from_str(&event.data).map_err(|error| {
            Failure::internal(format!("an event of the developer tools is not valid JSON: {error}"))
        })?;
        if output.is_json() {
            output.value(&event)?;
        } else if event["type"] == kind::LAGGED {
            output.remark(format!("{} events were missed", event["missed"]));
        } else if event["type"] == kind::SPAN_END && SpanView(&event["span"]).parent_id().is_none()
        {
            let id = event["traceId"].as_str().unwrap_or_default();
            output.row(trace_tree::line(&event["span"]).plain("  ").dimmed(id))?;
        }
    }
    Err(Failure::unavailable("the developer tools have ended: start them with `oxikit start`"))
}
