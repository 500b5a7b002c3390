//! `oxikit start`: runs the developer tools and the application until the user ends them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};

use super::ProjectDir;
use super::args::StartArgs;
use super::client::Client;
use super::doctor::ProjectDoctor;
use super::failure::Failure;
use super::keyboard::{self, KeyCommand};
use super::settings::Settings;
use crate::app::{App, AppCommand, FileWatcher, Guard, watch_files};
use crate::console::Console;
use crate::demo::DEMO_COMMAND;
use crate::demo_prompts;
use crate::project::{self, DATA_DIR};
use crate::terminal;
use oxikit_devtools::{AppControl, DevServer, DevServerOptions, ManagerFile};
use oxikit_manager::Preferred;
use oxikit_prompts::project_directories;

/// Commands that are suggested for the demo.
const DEMO_COMMANDS: [&str; 5] = [
    "flow run hello '\"Ada\"' -s",
    "flow run joke '\"tea\"'",
    "agent chat teashop 'please order \"green tea\"'",
    "trace show latest",
    "--help",
];

/// Maximum time to write the last lines. A pipe without a reader must not keep the developer
/// tools from ending.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs until a signal, a key or a request ends it.
pub(super) async fn start(
    args: StartArgs,
    project_dir: &ProjectDir,
    is_json: bool,
) -> Result<(), Failure> {
    // Signals are handled before anything is started, so that an early Ctrl-C still ends the
    // application in order.
    let mut signals = Signals::new()?;
    let root = project_dir.root();
    let settings = Settings::resolve(&args.settings, |name| std::env::var(name).ok(), &root)?;
    let mut command = command(&args, &settings, &root)?;
    check_not_running(&root).await?;
    // The check above asks running tools for an answer; the lock decides between two tools that
    // start at the same moment. It is held until this function returns.
    let _claim = project::claim(&root).map_err(Failure::unavailable)?;
    let console = Console::start(&command.name, is_json);
    show_own_log(&console);
    let mut options = settings.server_options(root.clone());
    if args.demo {
        add_demo_prompts(&mut options)?;
    }
    let server = DevServer::start(options).await;
    let server = server.map_err(|error| Failure::unavailable(error.to_string()))?;
    let watcher = settings.watch.value.then(|| watch_files(&root)).transpose();
    let watcher = watcher.map_err(|error| Failure::internal(error.to_string()))?;
    show_startup(&console, &server, &command, &args, &settings);

    command.env = environment(&server, args.reflection_v1);
    let guard = Guard::start()?;
    let runtimes = server.runtimes().watch();
    let (app, work) = App::start(command, console.clone(), guard, Some(runtimes));
    // The application needs the addresses of the server, so the server starts first and gets
    // the handle to the application afterwards.
    server.set_app(Arc::new(app.clone()));
    server.set_doctor(Arc::new(ProjectDoctor(project_dir.clone())));
    run_until_quit(&server, &app, &console, watcher, &mut signals).await;

    console.info("shutting down");
    tokio::select! {
        () = end(app, server) => {
            // The supervisor has shown the last lines.
            _ = work.await;
        }
        // A second signal ends the tools at once. The guard then ends the application.
        () = signals.next() => {}
    }
    console.flush(FLUSH_TIMEOUT).await;
    Ok(())
}

/// Writes the prompts of the demo, and serves them beside those of the project.
fn add_demo_prompts(options: &mut DevServerOptions) -> io::Result<()> {
    let folder = demo_prompts::write(&options.root)?;
    if options.prompts.is_empty() {
        options.prompts = project_directories(&options.root);
    }
    options.prompts.push(folder);
    Ok(())
}

/// Ends the application first, so that the developer tools still receive its last spans.
async fn end(app: App, server: DevServer) {
    app.end().await;
    server.close().await;
}

/// The command of the application: the demo, the command line, the setting `command`, or the
/// one that is detected from the files of the project.
pub(super) fn command(
    args: &StartArgs,
    settings: &Settings,
    root: &Path,
) -> Result<AppCommand, Failure> {
    let here = |name: String, arguments: Vec<OsString>, dir: PathBuf| AppCommand {
        name,
        arguments,
        dir,
        env: Vec::new(),
    };
    if args.demo {
        let program = std::env::current_exe()?.into_os_string();
        return Ok(here("demo".to_owned(), vec![program, DEMO_COMMAND.into()], root.to_owned()));
    }
    if let Some(program) = args.command.first() {
        // Relative paths in the command refer to the working directory of the user.
        let dir = std::env::current_dir()?;
        return Ok(here(short_name(program), args.command.clone(), dir));
    }
    if let Some(arguments) =
        settings.command.value.as_ref().filter(|arguments| !arguments.is_empty())
    {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        return Ok(here(short_name(&arguments[0]), arguments, root.to_owned()));
    }
    let detected = project::detect(root).map_err(Failure::usage)?;
    let arguments = detected.arguments.into_iter().map(OsString::from).collect();
    Ok(here(detected.name, arguments, root.to_owned()))
}

/// The environment that makes the application connect to the developer tools. With V1 the
/// address for V2 is removed, so that the application waits for a connection of the tools.
fn environment(server: &DevServer, is_v1: bool) -> Vec<(&'static str, Option<String>)> {
    let value = |name, value| (name != "GENKIT_REFLECTION_V2_SERVER" || !is_v1).then_some(value);
    server.env().into_iter().map(|(name, text)| (name, value(name, text))).collect()
}

fn short_name(program: &OsString) -> String {
    let name = Path::new(program).file_stem().unwrap_or(program);
    name.to_string_lossy().into_owned()
}

/// Fails if developer tools already run for the project: other commands would find only one of
/// the two.
async fn check_not_running(root: &Path) -> Result<(), Failure> {
    // A file that is not valid is overwritten later.
    let Some(manager) = ManagerFile::read(&root.join(DATA_DIR)) else { return Ok(()) };
    let (pid, url) = (manager.pid, manager.api_url.clone());
    if manager.is_alive() && Client::of(manager)?.get("/api/v1/info").await.is_ok() {
        return Err(Failure::unavailable(format!(
            "the developer tools run already for this project (process {pid}, {url}): end them first, or connect the application to them with `export $(oxikit env) && <command>`"
        )));
    }
    Ok(())
}

/// Shows the log of the developer tools on the console. `RUST_LOG` sets the level.
pub(super) fn show_own_log(console: &Console) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let console = console.clone();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || console.log_writer())
        .with_ansi(false)
        .without_time()
        .log_internal_errors(false);
    // An error means that a log is already installed, which then stays.
    _ = log.try_init();
}

fn show_startup(
    console: &Console,
    server: &DevServer,
    command: &AppCommand,
    args: &StartArgs,
    settings: &Settings,
) {
    let urls = server.urls();
    // The URL with the code is shown on a terminal only: a redirected output may be stored in a
    // log.
    let page = if terminal::is_out_terminal() { &*urls.page } else { urls.base() };
    console.info(format!("tools      {page}"));
    if !terminal::is_out_terminal() {
        console.info("`oxikit open` opens this page in a browser");
    }
    console.info(format!("runtimes   {}", without_token(&urls.reflection)));
    console.info(format!("telemetry  {}", without_token(&urls.telemetry)));
    if !settings.host.value.is_loopback() {
        let host = settings.host.value;
        let warning = format!(
            "other machines can reach the developer tools at {host}; only the token protects them"
        );
        console.warn(warning);
    }
    if args.demo {
        let oxikit = own_command();
        console.info("try in another terminal, in the same folder:");
        for arguments in DEMO_COMMANDS {
            console.info(format!("  {oxikit} {arguments}"));
        }
        let file = demo_prompts::folder(Path::new("")).join("joke.prompt");
        console.info(format!(
            "edit {}, here or at /prompts of the tools, and run the joke again",
            file.display()
        ));
        return;
    }
    let arguments: Vec<_> =
        command.arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    console.info(format!("starting   {}", arguments.join(" ")));
}

/// The command of this program for the user: its name if it is in `PATH`, else its path.
fn own_command() -> String {
    const NAME: &str = "oxikit";
    let Ok(program) = std::env::current_exe() else { return NAME.to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(NAME)).find(|file| file.exists());
    let is_found = found
        .and_then(|file| file.canonicalize().ok())
        .is_some_and(|file| program.canonicalize().is_ok_and(|program| program == file));
    if is_found {
        return NAME.to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    program.strip_prefix(here).unwrap_or(&program).display().to_string()
}

/// The URL without its path, which contains the token.
fn without_token(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    url[host..].find('/').map_or(url, |path| &url[..host + path])
}

/// Handles signals, keys, file changes and requests until one of them asks to quit.
async fn run_until_quit(
    server: &DevServer,
    app: &App,
    console: &Console,
    mut watcher: Option<FileWatcher>,
    signals: &mut Signals,
) {
    let (restart, restarting) = restarter(app.clone());
    let mut pid = app.pid();
    let mut key_commands = keyboard::key_commands();
    loop {
        tokio::select! {
            () = signals.next() => break,
            () = server.quit_requested() => break,
            changed = pid.changed() => {
                if changed.is_err() {
                    break;
                }
                let own = pid.borrow_and_update().map(Preferred::Process);
                // While no process runs, the last preference stays.
                if own.is_some() {
                    server.runtimes().set_preferred(own);
                }
            }
            Some(file) = changed_file(&mut watcher) => {
                console.info(format!("{} changed", file.display()));
                restart.notify_one();
            }
            Some(key_command) = next_key_command(&mut key_commands) => match key_command {
                KeyCommand::Restart => restart.notify_one(),
                KeyCommand::Quit => break,
                KeyCommand::Unknown => {
                    console.info("press r and Enter to restart the application, q and Enter to quit");
                },
            },
        }
    }
    restarting.abort();
}

/// A task that restarts the application when notified. Notifications during a restart are
/// merged into one further restart.
fn restarter(app: App) -> (Arc<Notify>, tokio::task::JoinHandle<()>) {
    let restart = Arc::new(Notify::new());
    let requested = restart.clone();
    let task = tokio::spawn(async move {
        loop {
            requested.notified().await;
            // The supervisor has shown an error.
            _ = app.restart().await;
        }
    });
    (restart, task)
}

async fn changed_file(watcher: &mut Option<FileWatcher>) -> Option<PathBuf> {
    match watcher {
        Some(watcher) => watcher.changed().await,
        None => std::future::pending().await,
    }
}

async fn next_key_command(
    key_commands: &mut Option<mpsc::Receiver<KeyCommand>>,
) -> Option<KeyCommand> {
    match key_commands {
        Some(key_commands) => key_commands.recv().await,
        None => std::future::pending().await,
    }
}

/// The signals that ask a process to end.
pub(super) struct Signals([Signal; 3]);

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    /// Waits for the next signal. Cancel safe.
    pub(super) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
