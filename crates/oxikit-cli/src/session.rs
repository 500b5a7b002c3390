//! `oxikit session`: lists, shows, copies, deletes and exports the sessions of agents.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use oxikit_core::redact;
use serde_json::{Value, json};

use super::advice::did_you_mean;
use super::args::{SessionArgs, SessionCommand, SessionListArgs, SessionName};
use super::client::{Client, encoded, query};
use super::failure::Failure;
use super::output::{Output, ago};
use super::run::context_argument;
use super::session_text;
use crate::terminal;

/// Maximum number of traces that the developer tools export for a session. The newest are
/// exported.
const MAX_EXPORTED: usize = 1000;
/// Maximum number of sessions that are searched for a similar id.
const MAX_NEAR: usize = 200;

pub(super) async fn run(
    args: SessionArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = args.command.named();
    context_argument(named.caller.context.as_deref())?;
    let done = match args.command {
        SessionCommand::List(asked) => list(&asked, client, output).await,
        SessionCommand::Show { session, tree } => show(&session, tree, client, output).await,
        SessionCommand::Fork { session, at } => fork(&session, at, client, output).await,
        SessionCommand::Delete { session, yes } => delete(&session, yes, client, output).await,
        SessionCommand::Export { session, output: file } => {
            export(&session, file.as_deref(), client, output).await
        }
    };
    match done {
        Err(failure) if failure.is_not_found() => {
            Err(with_explanation(failure, &named, client).await)
        }
        done => done,
    }
}

/// Adds advice to the error for an agent or session that does not exist.
async fn with_explanation(failure: Failure, named: &SessionName, client: &Client) -> Failure {
    let failure = client.explain(failure, named.target.runtime.as_deref()).await;
    let Failure::Error { message, .. } = &failure else { return failure };
    if message.starts_with("there is no agent") {
        let runtime = named.target.runtime.as_deref();
        let advice = client.advise_agent(&named.agent, runtime).await;
        return failure.with_advice(advice);
    }
    if !message.starts_with("there is no session") {
        return failure;
    }
    let (agent, scope) = (&named.agent, named.scope_query());
    let path = format!("/api/agents/{}/sessions?limit={MAX_NEAR}&{scope}", encoded(agent));
    let list = client.get(&path).await.unwrap_or_default();
    let sessions = list["sessions"].as_array().into_iter().flatten();
    let ids = sessions.filter_map(|session| session["sessionId"].as_str());
    failure.with_advice(
        did_you_mean(&named.session, ids)
            .unwrap_or_else(|| format!("`oxikit session list {agent}` lists the existing ones")),
    )
}

async fn list(
    asked: &SessionListArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let SessionListArgs { agent, limit, status, after, caller, target } = asked;
    let mut path = format!("/api/agents/{}/sessions?limit={limit}", encoded(agent));
    for (member, value) in [
        ("status", status),
        ("continuationToken", after),
        ("context", &caller.context),
        ("runtime", &target.runtime),
    ] {
        if let Some(value) = value {
            path.push_str(&format!("&{member}={}", encoded(value)));
        }
    }
    let page = client.get(&path).await?;
    if output.is_json() {
        return output.value(&page);
    }
    let sessions = page["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_from_traces = page["source"] == "traces";
    if sessions.is_empty() {
        output.remark(match is_from_traces {
            true => "no sessions in the traces; this runtime cannot list its stored sessions",
            false => "no sessions",
        });
        return Ok(());
    }
    let heading = ["SESSION", "TURNS", "MESSAGES", "STATUS", "UPDATED"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(sessions.iter().map(row));
    output.table(&rows, &[0])?;
    if is_from_traces {
        output.remark("this list is made from the traces, because this runtime cannot list its stored sessions");
    }
    if let Some(token) = page["continuationToken"].as_str() {
        output.remark(format!("more sessions: --after {token}"));
    }
    Ok(())
}

fn row(session: &Value) -> Vec<String> {
    let number = |value: &Value| value.as_u64().map_or_else(|| "-".to_owned(), |n| n.to_string());
    let turns = match &session["turns"] {
        Value::Null => &session["metadata"]["snapshotCount"],
        turns => turns,
    };
    vec![
        session["sessionId"].as_str().unwrap_or("?").to_owned(),
        number(turns),
        number(&session["messageCount"]),
        session_text::status(session).to_owned(),
        session["updatedAt"].as_f64().map(ago).unwrap_or_default(),
    ]
}

async fn show(
    session: &SessionName,
    with_tree: bool,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let details = client.get(&session.path("")).await?;
    if output.is_json() {
        return output.value(&details);
    }
    for line in session_text::conversation(&details) {
        output.line(line)?;
    }
    if with_tree || session_text::has_branches(&details) {
        output.line("")?;
        session_text::tree(&details).into_iter().try_for_each(|line| output.row(line))?;
    }
    output.remark(format!("{}: {}", session.session, session_text::status(&details)));
    if details["metadata"]["isCut"] == true {
        output.remark("the session has more snapshots; only the latest ones were read");
    }
    Ok(())
}

async fn fork(
    session: &SessionName,
    at: Option<String>,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let body = at.map_or_else(|| json!({}), |snapshot| json!({"snapshotId": snapshot}));
    let forked = client.post(&session.path("/fork"), &body).await?;
    if output.is_json() {
        return output.value(&forked);
    }
    let id = forked["sessionId"].as_str().unwrap_or_default();
    output.line(id)?;
    output.remark(format!("continue: oxikit agent chat {} --session {id}", session.agent));
    Ok(())
}

async fn delete(
    session: &SessionName,
    is_sure: bool,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    // Only a person is asked: a script has named the session on purpose.
    if !is_sure && io::stdin().is_terminal() && !confirm(session).await? {
        return Err(Failure::failed("CANCELLED", "nothing was deleted"));
    }
    let deleted = client.delete(&session.path("")).await?;
    if output.is_json() {
        return output.value(&deleted);
    }
    output.remark(format!("deleted the session {}", session.session));
    Ok(())
}

async fn confirm(session: &SessionName) -> Result<bool, Failure> {
    let question =
        format!("delete session `{}` of `{}` permanently? [y/N] ", session.session, session.agent);
    let read = move || -> io::Result<bool> {
        terminal::write_err(&question.into());
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        Ok(matches!(line.trim(), "y" | "Y" | "yes"))
    };
    Ok(tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??)
}

async fn export(
    session: &SessionName,
    file: Option<&Path>,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let details = client.get(&session.path("")).await?.to_string();
    // The developer tools redact the traces themselves.
    let details: Value = serde_json::from_str(&redact::json_text(&details)).map_err(|error| {
        Failure::internal(format!("the secrets of the session cannot be redacted: {error}"))
    })?;
    let path = format!("/api/v1/traces/export?session={}", encoded(&session.session));
    let traces = match client.get(&path).await {
        Ok(mut exported) => exported["traces"].take(),
        // The traces of the session may have been deleted already.
        Err(Failure::Error { status, .. }) if status == "NOT_FOUND" => json!([]),
        Err(failure) => return Err(failure),
    };
    let count = traces.as_array().map_or(0, Vec::len);
    let is_cut = count >= MAX_EXPORTED;
    if is_cut {
        output.remark(format!(
            "only the newest {MAX_EXPORTED} traces of the session were exported; `oxikit trace list --session {}` lists all",
            session.session
        ));
    }
    let whole = json!({
        "sessionId": session.session, "agentName": session.agent,
        "session": details, "traces": traces, "isCut": is_cut,
    });
    let Some(file) = file else { return output.value(&whole) };
    let failed =
        |error: io::Error| Failure::usage(format!("{} cannot be written: {error}", file.display()));
    fs::write(file, whole.to_string()).map_err(failed)?;
    if output.is_json() {
        let file = file.display().to_string();
        return output.value(&json!({"ok": true, "file": file, "traces": count, "isCut": is_cut}));
    }
    output.remark(format!("wrote the session and {count} traces to {}", file.display()));
    Ok(())
}

impl SessionCommand {
    /// The session of the command. For a list only its agent, owner and runtime are set.
    fn named(&self) -> SessionName {
        match self {
            Self::List(SessionListArgs { agent, caller, target, .. }) => SessionName {
                agent: agent.clone(),
                session: String::new(),
                caller: caller.clone(),
                target: target.clone(),
            },
            Self::Show { session, .. }
            | Self::Fork { session, .. }
            | Self::Delete { session, .. }
            | Self::Export { session, .. } => session.clone(),
        }
    }
}

impl SessionName {
    /// The path of the session in the API, with `below` appended.
    fn path(&self, below: &str) -> String {
        let (agent, session) = (encoded(&self.agent), encoded(&self.session));
        format!("/api/agents/{agent}/sessions/{session}{below}?{}", self.scope_query())
    }

    /// The query with the owner and the runtime of the session.
    fn scope_query(&self) -> String {
        query(&[
            ("context", self.caller.context.as_ref()),
            ("runtime", self.target.runtime.as_ref()),
        ])
    }
}
