//! `oxikit prompt`: lists, shows, renders, compares, checks and labels prompts.
//!
//! The commands call a prompt manager; `lint` and `render` also read folders (`prompt_folder`).

use oxikit_wire::JsonObject;
use oxikit_wire::prompts::{
    Document, DocumentKind, Label, LabelList, Preview, PreviewRequest, Revision, RevisionDiff,
    RevisionList, SetLabel,
};
use serde_json::json;

use super::args::{PromptArgs, PromptCommand, PromptTarget, RevisionArgs};
use super::client::{Client, encoded, query};
use super::failure::{Exit, Failure};
use super::output::Output;
use super::prompt_client::PromptClient;
use super::{prompt_diff, prompt_export, prompt_folder, prompt_lint};
use crate::terminal::Text;

/// Maximum number of revisions that are searched for the one before the current one.
const MAX_PARENT: u32 = 200;

/// Runs a command. `tools` finds the developer tools, which only commands without a folder need.
pub(super) async fn run(
    args: PromptArgs,
    tools: impl FnOnce() -> Result<Client, Failure>,
    output: &mut Output,
) -> Result<(), Failure> {
    let connect = async |target: &PromptTarget| PromptClient::connect(target, tools).await;
    match args.command {
        PromptCommand::List { kind, tag, target } => {
            list(kind.as_deref(), tag.as_deref(), &connect(&target).await?, output).await
        }
        PromptCommand::Show { id, revision, target } => {
            show(&id, &revision, &connect(&target).await?, output).await
        }
        PromptCommand::Render { id, variables, label, dir, target } => {
            let variables = variables_argument(&variables)?;
            let preview = match (label, dir.is_empty()) {
                (_, false) => prompt_folder::render(&dir, &id, variables).await?,
                (Some(label), true) => {
                    prompt_export::render(&label, &id, variables, &connect(&target).await?).await?
                }
                (None, true) => {
                    let request = PreviewRequest { id, content: None, variables };
                    connect(&target).await?.post("preview", &request).await?
                }
            };
            show_preview(&preview, output)
        }
        PromptCommand::History { id, limit, before, target } => {
            history(&id, limit, before, &connect(&target).await?, output).await
        }
        PromptCommand::Diff { id, from, to, target } => {
            diff(&id, from, to, &connect(&target).await?, output).await
        }
        PromptCommand::Lint { dirs, target } => {
            let report = match dirs.is_empty() {
                true => connect(&target).await?.get("lint").await?,
                false => prompt_folder::lint(&dirs).await?,
            };
            prompt_lint::show(&report, output)
        }
        PromptCommand::Label { id, label, rev, remove, target } => {
            let manager = connect(&target).await?;
            match label {
                None => list_labels(&id, &manager, output).await,
                Some(label) => set_label(&id, &label, rev, remove, &manager, output).await,
            }
        }
    }
}

fn variables_argument(text: &str) -> Result<JsonObject, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::usage(format!(
            "the variables must be a JSON object, such as {{\"topic\":\"tea\"}}: {error}"
        ))
    })
}

async fn list(
    kind: Option<&str>,
    tag: Option<&str>,
    manager: &PromptClient,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut documents: Vec<Document> = Vec::new();
    if kind != Some("fragment") {
        documents.extend(manager.get::<Vec<Document>>("all").await?);
    }
    if kind != Some("prompt") {
        documents.extend(manager.get::<Vec<Document>>("fragments/").await?);
    }
    documents.retain(|it| tag.is_none_or(|tag| it.tags.iter().any(|known| known == tag)));
    if output.is_json() {
        return output.value(&documents);
    }
    if documents.is_empty() {
        output.remark("no prompts; `oxikit prompts ./prompts` serves a folder");
        return Ok(());
    }
    let heading = ["PROMPT", "KIND", "REV", "UPDATED", "TAGS", "DESCRIPTION"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(documents.iter().map(row));
    output.table(&rows, &[0])
}

fn row(document: &Document) -> Vec<String> {
    let description = document.description.as_deref().unwrap_or_default();
    vec![
        document.id.clone(),
        kind_name(document.kind).to_owned(),
        document.rev.to_string(),
        minute(&document.updated_at),
        document.tags.join(", "),
        description.lines().next().unwrap_or_default().to_owned(),
    ]
}

fn kind_name(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Prompt => "prompt",
        DocumentKind::Fragment => "fragment",
    }
}

/// A time to the minute: `2025-05-11 17:41`.
fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replacen('T', " ", 1)
}

async fn show(
    id: &str,
    revision: &RevisionArgs,
    manager: &PromptClient,
    output: &mut Output,
) -> Result<(), Failure> {
    let rev = revision.rev.map(|rev| rev.to_string());
    let members =
        [("id", Some(&id.to_owned())), ("rev", rev.as_ref()), ("label", revision.label.as_ref())];
    let document: Document = manager.get(&format!("document?{}", query(&members))).await?;
    if output.is_json() {
        return output.value(&document);
    }
    output.remark(summary(&document));
    for warning in document.warnings.iter().flatten() {
        output.remark(format!("warning: {warning}"));
    }
    output.line(Text::new().lines(document.content.trim_end_matches('\n')))
}

/// One line about a document: its id, revision, file, type, tags and labels.
fn summary(document: &Document) -> String {
    let Document { id, rev, filename, tags, .. } = document;
    let mut summary = format!("{} {id}, revision {rev}, {filename}", kind_name(document.kind));
    if !tags.is_empty() {
        summary.push_str(&format!(", tags {}", tags.join(" ")));
    }
    for (label, rev) in document.labels.iter().flatten() {
        summary.push_str(&format!(", {label} is revision {rev}"));
    }
    summary
}

fn show_preview(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        output.value(preview)?;
        return match preview.error {
            None => Ok(()),
            Some(_) => Err(Failure::AlreadyShown(Exit::Failed)),
        };
    }
    for warning in &preview.warnings {
        output.remark(format!("warning: {warning}"));
    }
    if let Some(error) = &preview.error {
        return Err(Failure::failed("INVALID_ARGUMENT", error));
    }
    for message in preview.messages.iter().flatten() {
        let role = json!(message.role);
        let role = format!("{}:", role.as_str().unwrap_or("?"));
        output.line(Text::new().bold(role).plain(" ").paragraph(message_text(message)))?;
    }
    if !preview.revs.is_empty() {
        let revs: Vec<_> = preview.revs.iter().map(|(id, rev)| format!("{id} {rev}")).collect();
        output.remark(format!("includes {}", revs.join(", ")));
    }
    Ok(())
}

/// The text of a message. Other parts are shown as JSON.
fn message_text(message: &oxikit_wire::Message) -> String {
    let text = |part: &oxikit_wire::Part| match part.as_text() {
        Some(text) => text.to_owned(),
        None => json!(part).to_string(),
    };
    message.content.iter().map(text).collect()
}

async fn history(
    id: &str,
    limit: u32,
    before: Option<u64>,
    manager: &PromptClient,
    output: &mut Output,
) -> Result<(), Failure> {
    let list = revisions(id, limit, before, manager).await?;
    if output.is_json() {
        return output.value(&list);
    }
    let heading = ["REV", "TIME", "KIND", "AUTHOR", "BYTES", "LABELS"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(list.revisions.iter().map(|revision| revision_row(revision, list.rev)));
    output.table(&rows, &[0])?;
    if let Some(next) = list.next {
        output.remark(format!("older ones: --before {next}"));
    }
    Ok(())
}

async fn revisions(
    id: &str,
    limit: u32,
    before: Option<u64>,
    manager: &PromptClient,
) -> Result<RevisionList, Failure> {
    let before = before.map(|rev| rev.to_string());
    let members = [
        ("id", Some(&id.to_owned())),
        ("limit", Some(&limit.to_string())),
        ("before", before.as_ref()),
    ];
    manager.get(&format!("history?{}", query(&members))).await
}

fn revision_row(revision: &Revision, current: u64) -> Vec<String> {
    let kind = json!(revision.kind);
    let kind = kind.as_str().unwrap_or("?");
    let mut labels = revision.labels.clone();
    if revision.rev == current {
        labels.insert(0, "current".to_owned());
    }
    vec![
        revision.rev.to_string(),
        minute(&revision.timestamp),
        // A content that was merged or refused never was the text of the document.
        if revision.applied { kind.to_owned() } else { format!("{kind} (not applied)") },
        revision.author.clone(),
        revision.bytes.to_string(),
        labels.join(", "),
    ]
}

async fn diff(
    id: &str,
    from: Option<String>,
    to: Option<String>,
    manager: &PromptClient,
    output: &mut Output,
) -> Result<(), Failure> {
    let (from, to) = match (from, to) {
        (Some(from), Some(to)) => (from, to),
        (Some(from), None) => (from, revisions(id, 1, None, manager).await?.rev.to_string()),
        (None, _) => last_change(id, manager).await?,
    };
    let members = [("id", Some(&id.to_owned())), ("from", Some(&from)), ("to", Some(&to))];
    let diff: RevisionDiff = manager.get(&format!("diff?{}", query(&members))).await?;
    if output.is_json() {
        return output.value(&diff);
    }
    prompt_diff::show(&diff, output)
}

/// The current revision and the text before it.
async fn last_change(id: &str, manager: &PromptClient) -> Result<(String, String), Failure> {
    let list = revisions(id, MAX_PARENT, None, manager).await?;
    let older = list.revisions.iter().find(|it| it.applied && it.rev < list.rev);
    match older {
        Some(older) => Ok((older.rev.to_string(), list.rev.to_string())),
        None => Err(Failure::failed(
            "FAILED_PRECONDITION",
            format!("`{id}` has only one revision: there is nothing to compare"),
        )),
    }
}

async fn list_labels(id: &str, manager: &PromptClient, output: &mut Output) -> Result<(), Failure> {
    let members = [("id", Some(&id.to_owned()))];
    let list: LabelList = manager.get(&format!("labels?{}", query(&members))).await?;
    if output.is_json() {
        return output.value(&list);
    }
    if list.labels.is_empty() {
        output.remark(format!("{} has no labels", list.id));
        return Ok(());
    }
    let mut rows = vec![["LABEL", "REV"].map(str::to_owned).to_vec()];
    rows.extend(list.labels.iter().map(|(label, rev)| vec![label.clone(), rev.to_string()]));
    output.table(&rows, &[0])
}

async fn set_label(
    id: &str,
    label: &str,
    rev: Option<u64>,
    is_removed: bool,
    manager: &PromptClient,
    output: &mut Output,
) -> Result<(), Failure> {
    let path = format!("{}/labels/{}", encoded(id), encoded(label));
    let label: Label = match (is_removed, rev) {
        (true, _) => manager.delete(&path).await?,
        (false, Some(rev)) => manager.put(&path, &SetLabel { rev }).await?,
        (false, None) => {
            let rev = revisions(id, 1, None, manager).await?.rev;
            manager.put(&path, &SetLabel { rev }).await?
        }
    };
    if output.is_json() {
        return output.value(&label);
    }
    let Label { id, label, rev } = label;
    output.line(match rev {
        Some(rev) => format!("{label} of {id} is revision {rev}"),
        None => format!("{id} has no label {label} any more"),
    })
}
