//! `oxikit start`: the tools, and an application with them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};

use super::Place;
use super::args::StartArgs;
use super::client::Client;
use super::failure::Failure;
use super::keyboard::{self, Wish};
use super::settings::Settings;
use crate::app::{App, AppCommand, FileWatcher, Guard, watch_files};
use crate::console::Console;
use crate::demo::DEMO_COMMAND;
use crate::manager::Preferred;
use crate::project::{self, DATA_DIR};
use crate::server::{AppControl, DevServer, ManagerFile};
use crate::terminal;

/// What to try with the demo.
const DEMO_TRIES: [&str; 4] = [
    "flow run hello '\"Ada\"' -s",
    "agent chat teashop 'please order \"green tea\"'",
    "trace show latest",
    "--help",
];

/// Time for the last lines to be written. A pipe that nobody reads does not keep the
/// tools from ending.
pub(super) const LAST_LINES_TIME: Duration = Duration::from_millis(500);

/// Runs until somebody ends it.
pub(super) async fn start(args: StartArgs, place: &Place, is_json: bool) -> Result<(), Failure> {
    // From the first moment on, so that nobody is left behind.
    let mut signals = Signals::new()?;
    let root = place.root();
    let settings = Settings::resolve(&args.settings, |name| std::env::var(name).ok(), &root)?;
    let mut command = command(&args, &settings, &root)?;
    refuse_second(&root).await?;
    let _claim = project::claim(&root).map_err(Failure::nobody_there)?;
    let console = Console::start(&command.name, is_json);
    show_own_log(&console);
    let server = DevServer::start(settings.server_options(root.clone())).await;
    let server = server.map_err(|error| Failure::nobody_there(error.to_string()))?;
    let watcher = settings.watch.value.then(|| watch_files(&root)).transpose();
    let watcher = watcher.map_err(|error| Failure::internal(error.to_string()))?;
    greet(&console, &server, &command, &args, &settings);

    command.env = environment(&server, args.reflection_v1);
    let guard = Guard::start()?;
    let runtimes = server.runtimes().watch();
    let (app, work) = App::start(command, console.clone(), guard, Some(runtimes));
    server.set_app(Arc::new(app.clone()));
    attend(&server, &app, &console, watcher, &mut signals).await;

    console.say("ending");
    tokio::select! {
        () = end(app, server) => {
            // It has said all it had to say.
            _ = work.await;
        }
        // Who asks twice does not want to wait; the guard sees to the application.
        () = signals.next() => {}
    }
    console.flush(LAST_LINES_TIME).await;
    Ok(())
}

/// The application first: its last spans are still taken.
async fn end(app: App, server: DevServer) {
    app.end().await;
    server.close().await;
}

/// What to start, where.
pub(super) fn command(
    args: &StartArgs,
    settings: &Settings,
    root: &Path,
) -> Result<AppCommand, Failure> {
    let here = |name: String, words: Vec<OsString>, dir: PathBuf| AppCommand {
        name,
        words,
        dir,
        env: Vec::new(),
    };
    if args.demo {
        let program = std::env::current_exe()?.into_os_string();
        return Ok(here("demo".to_owned(), vec![program, DEMO_COMMAND.into()], root.to_owned()));
    }
    if let Some(program) = args.command.first() {
        // As the shell would: where the user is.
        let dir = std::env::current_dir()?;
        return Ok(here(short_name(program), args.command.clone(), dir));
    }
    if let Some(words) = settings.command.value.as_ref().filter(|words| !words.is_empty()) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        return Ok(here(short_name(&words[0]), words, root.to_owned()));
    }
    let detected = project::detect(root).map_err(Failure::usage)?;
    let words = detected.words.into_iter().map(OsString::from).collect();
    Ok(here(detected.name, words, root.to_owned()))
}

/// What leads the application to the tools. One that is not told where to dial waits
/// to be found.
fn environment(server: &DevServer, is_v1: bool) -> Vec<(&'static str, Option<String>)> {
    let value = |name, value| (name != "GENKIT_REFLECTION_V2_SERVER" || !is_v1).then_some(value);
    server.env().into_iter().map(|(name, text)| (name, value(name, text))).collect()
}

fn short_name(program: &OsString) -> String {
    let name = Path::new(program).file_stem().unwrap_or(program);
    name.to_string_lossy().into_owned()
}

/// Two tools for one project would hide each other.
async fn refuse_second(root: &Path) -> Result<(), Failure> {
    // A file that does not count is replaced.
    let Some(manager) = ManagerFile::read(&root.join(DATA_DIR)) else { return Ok(()) };
    let (pid, url) = (manager.pid, manager.api_url.clone());
    if project::is_alive(&manager) && Client::of(manager)?.get("/api/v1/info").await.is_ok() {
        return Err(Failure::nobody_there(format!(
            "the tools run already for this project (process {pid}, {url}): end them first, or start the application beside them with `export $(oxikit env) && <command>`"
        )));
    }
    Ok(())
}

/// What the tools have to say about themselves stands among their lines.
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
    // A second one is not started.
    _ = log.try_init();
}

fn greet(
    console: &Console,
    server: &DevServer,
    command: &AppCommand,
    args: &StartArgs,
    settings: &Settings,
) {
    let urls = server.urls();
    // A log keeps what is written into it: only a terminal gets the token.
    let page = if terminal::is_out_terminal() { &*urls.page } else { urls.base() };
    console.say(format!("tools      {page}"));
    console.say(format!("runtimes   {}", without_token(&urls.reflection)));
    console.say(format!("telemetry  {}", without_token(&urls.telemetry)));
    if !settings.host.value.is_loopback() {
        let host = settings.host.value;
        let warning = format!("others can reach the tools at {host}; the token keeps them out");
        console.warn(warning);
    }
    if args.demo {
        let oxikit = own_command();
        console.say("in another terminal, here:");
        for words in DEMO_TRIES {
            console.say(format!("  {oxikit} {words}"));
        }
        return;
    }
    let words: Vec<_> = command.words.iter().map(|word| word.to_string_lossy()).collect();
    console.say(format!("starting   {}", words.join(" ")));
}

/// How the user can call this program: by its name, if the shell finds it so.
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

/// Up to the path that holds the token.
fn without_token(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    url[host..].find('/').map_or(url, |path| &url[..host + path])
}

/// Does what it is asked to until it is asked to end.
async fn attend(
    server: &DevServer,
    app: &App,
    console: &Console,
    mut watcher: Option<FileWatcher>,
    signals: &mut Signals,
) {
    let (again, restarting) = restarter(app.clone());
    let mut pid = app.pid();
    let mut wishes = keyboard::wishes();
    loop {
        tokio::select! {
            () = signals.next() => break,
            () = server.quit_requested() => break,
            changed = pid.changed() => {
                if changed.is_err() {
                    break;
                }
                let own = pid.borrow_and_update().map(Preferred::Process);
                // One that is gone may come back under its old number.
                if own.is_some() {
                    server.runtimes().set_preferred(own);
                }
            }
            Some(file) = changed_file(&mut watcher) => {
                console.say(format!("{} changed", file.display()));
                again.notify_one();
            }
            Some(wish) = next_wish(&mut wishes) => match wish {
                Wish::Restart => again.notify_one(),
                Wish::Quit => break,
                Wish::Unclear => console.say("r restarts the application, q ends"),
            },
        }
    }
    restarting.abort();
}

/// Restarts one at a time; what is asked for meanwhile is one restart more.
fn restarter(app: App) -> (Arc<Notify>, tokio::task::JoinHandle<()>) {
    let again = Arc::new(Notify::new());
    let asked = again.clone();
    let task = tokio::spawn(async move {
        loop {
            asked.notified().await;
            // What went wrong was shown.
            _ = app.restart().await;
        }
    });
    (again, task)
}

async fn changed_file(watcher: &mut Option<FileWatcher>) -> Option<PathBuf> {
    match watcher {
        Some(watcher) => watcher.changed().await,
        None => std::future::pending().await,
    }
}

async fn next_wish(wishes: &mut Option<mpsc::Receiver<Wish>>) -> Option<Wish> {
    match wishes {
        Some(wishes) => wishes.recv().await,
        None => std::future::pending().await,
    }
}

/// The ways to ask a process to end.
pub(super) struct Signals([Signal; 3]);

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    /// Ready when one has come. It is cancel safe.
    pub(super) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
