//! `oxikit prompts`: serves folders of prompts until the user ends it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit_core::ports::RevisionStore;
use oxikit_devtools::{PortChoice, project_path, traces_path};
use oxikit_http::Token;
use oxikit_prompts::{
    PromptServer, PromptServerOptions, Prompts, PromptsOptions, openapi, project_options,
};
use oxikit_sql::{PostgresStore, SqliteProject};

use super::ProjectDir;
use super::args::PromptServerArgs;
use super::failure::Failure;
use super::output::Output;
use super::start::{FLUSH_TIMEOUT, Signals, show_own_log};
use crate::console::Console;
use crate::project::{self, DATA_DIR};
use crate::terminal;

/// Runs until a signal or a request ends it.
pub(super) async fn run(
    args: PromptServerArgs,
    project_dir: &ProjectDir,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.openapi {
        return output.document(&openapi());
    }
    // Signals are handled before anything is started, so that an early Ctrl-C ends it in order.
    let mut signals = Signals::new()?;
    let root = project_dir.root();
    let server_options = server_options(&args)?;
    let (store, _claim) = open_store(args.database.as_deref(), &root).await?;
    let options = prompt_options(&args, &root)?;
    let console = Console::start("prompts", output.is_json());
    show_own_log(&console);
    let prompts = Prompts::open(options, store).await;
    let prompts = prompts.map_err(|error| Failure::unavailable(error.to_string()))?;
    let server = PromptServer::start(prompts.clone(), server_options).await;
    let server = server.map_err(|error| Failure::unavailable(error.to_string()))?;
    show_startup(&console, &server, &args);
    tokio::select! {
        () = signals.next() => {}
        () = server.quit_requested() => {}
    }
    console.info("shutting down");
    tokio::select! {
        () = server.close() => {}
        // A second signal ends it at once.
        () = signals.next() => {}
    }
    console.flush(FLUSH_TIMEOUT).await;
    Ok(())
}

/// The store of the history, and the lock of the project while its database is used: the developer
/// tools of the same project would write the same files.
async fn open_store(
    database: Option<&str>,
    root: &Path,
) -> Result<(Arc<dyn RevisionStore>, Option<std::fs::File>), Failure> {
    if let Some(url) = database {
        let store = PostgresStore::connect(url).await;
        let store = store.map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            let cause = cause.unwrap_or_default();
            Failure::unavailable(format!(
                "the database of --database cannot be used: {error}{cause}"
            ))
        })?;
        return Ok((Arc::new(store), None));
    }
    let claim = project::claim(root).map_err(|error| {
        Failure::unavailable(error).with_advice(
            "the developer tools serve the prompts of their project too, at /prompts".to_owned(),
        )
    })?;
    let data_dir = root.join(DATA_DIR);
    let path = project_path(&data_dir);
    let store = SqliteProject::open_beside(&path, &traces_path(&data_dir));
    let store = store.map_err(|error| {
        let path = path.display();
        Failure::unavailable(format!(
            "{path} cannot be used ({error}); it holds the history of prompts: keep a copy of it"
        ))
    })?;
    Ok((Arc::new(store), Some(claim)))
}

/// The folders: those of the command line, else those of the project.
fn prompt_options(args: &PromptServerArgs, root: &Path) -> Result<PromptsOptions, Failure> {
    // Relative paths in the command refer to the working directory of the user.
    let here = std::env::current_dir()?;
    let dirs: Vec<PathBuf> = args.dirs.iter().map(|dir| here.join(dir)).collect();
    let mut options = project_options(root, &root.join(DATA_DIR), &dirs)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let has_registry = options.registry_file.as_ref().is_some_and(|file| file.exists());
    if options.directories.is_empty() && !has_registry {
        return Err(Failure::usage(format!(
            "there is no folder `prompts` in {}: make it, or name another one, `oxikit prompts <DIR>`",
            root.display()
        )));
    }
    options.is_read_only = args.read_only;
    options.is_shared = args.database.is_some();
    Ok(options)
}

fn server_options(args: &PromptServerArgs) -> Result<PromptServerOptions, Failure> {
    let mut options = PromptServerOptions::default();
    options.host = args.host;
    options.port = PortChoice::Fixed(args.port);
    options.allow_hosts.clone_from(&args.allow_host);
    options.allow_origins.clone_from(&args.allow_origin);
    options.token = match args.token.as_deref() {
        None => None,
        Some("") => Some(Token::random()),
        Some(text) => Some(Token::chosen(text).ok_or_else(|| {
            Failure::usage("the token of --token must have 32 to 256 letters and digits")
        })?),
    };
    if options.token.is_none() && !args.host.is_loopback() {
        return Err(Failure::usage(format!(
            "other machines can reach {}, so the server needs a token: add --token",
            args.host
        )));
    }
    Ok(options)
}

fn show_startup(console: &Console, server: &PromptServer, args: &PromptServerArgs) {
    // The URL with the token is shown on a terminal only: a redirected output may be stored in a
    // log.
    let page = match terminal::is_out_terminal() {
        true => server.page_url(),
        false => server.url().to_owned(),
    };
    console.info(format!("prompts    {page}"));
    for directory in server.prompts().directories() {
        let count = server.prompts().count_documents(&directory);
        console.info(format!("folder     {} ({count} documents)", directory.path.display()));
    }
    for problem in server.prompts().problems() {
        console.warn(format!("{} is not served: {}", problem.key, problem.message));
    }
    if !args.host.is_loopback() {
        let host = args.host;
        console.warn(format!(
            "other machines can reach the prompts at {host}; only the token protects them"
        ));
    }
    if args.token.as_deref() == Some("") && !terminal::is_out_terminal() {
        console.warn("the token is only shown on a terminal; choose one in OXIKIT_PROMPTS_TOKEN");
    }
}
