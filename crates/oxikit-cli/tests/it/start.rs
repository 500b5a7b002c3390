//! `oxikit start`: an application that runs, exits, and is restarted.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use super::kit::{Started, TIMEOUT, is_alive, oxikit, run, signal, until};

const SECOND: Duration = Duration::from_secs(1);
/// Maximum time for steps that take less than a second on an idle machine.
const SOON: Duration = Duration::from_secs(3);
/// A script that prints its process id and that of its child, and keeps running.
const FAMILY: &str = "sleep 600 & echo child $!; echo parent $$; wait";

/// Starts the script. Returns the process ids of the child and the parent.
fn family(dir: &Path, before: &str) -> (Started, [u32; 2]) {
    let mut started = Started::script(dir, &format!("{before} {FAMILY}"));
    let pids = [started.number("| child "), started.number("| parent ")];
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    (started, pids)
}

#[test]
fn lines_have_the_prefix_of_their_process_and_no_colours() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::script(dir.path(), "echo out; echo err >&2; sleep 600");
    started.line("sh     | out");
    if !started.seen.iter().any(|line| line == "sh     | err") {
        started.line("sh     | err");
    }
    started.signal(Signal::TERM);
    assert_eq!(started.end(2 * SOON).code(), Some(0));
    let lines = &started.seen;
    assert!(lines.iter().all(|line| line.starts_with("sh     |") || line.starts_with("oxikit |")));
    assert_eq!(lines.iter().filter(|line| line.contains("tools      http://")).count(), 1);
    assert!(!lines.concat().contains('\u{1b}'));
}

#[test]
fn the_access_log_of_the_tools_is_off_until_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = oxikit(dir.path());
    command.stdin(Stdio::null()).env("RUST_LOG", "oxikit::access=info");
    let mut started = Started::with_command(dir.path(), &mut command, &["--", "sleep", "600"]);
    started.line("tools      http://");
    assert_eq!(started.run(&["app", "status"]).code, 0);
    let line = started.line("path=\"/api/v1/");
    assert!(line.contains("oxikit::access") && line.contains("status=200"), "{line}");
    drop(started);
    let mut quiet = Started::new(dir.path(), &["--", "sleep", "600"]);
    quiet.line("tools      http://");
    assert_eq!(quiet.run(&["app", "status"]).code, 0);
    quiet.signal(Signal::TERM);
    quiet.end(2 * SOON);
    assert!(!quiet.seen.concat().contains("oxikit::access"), "{:?}", quiet.seen);
}

#[test]
fn as_json_each_line_is_an_object() {
    let dir = tempfile::tempdir().unwrap();
    let mut started =
        Started::new(dir.path(), &["--json", "--", "sh", "-c", "echo out; sleep 600"]);
    let line = started.line("\"sh\"");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line, json!({"process": "sh", "stream": "stdout", "line": "out"}));
}

#[test]
fn an_application_that_exits_is_reported_and_restarted_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let script =
        "if [ -e again ]; then echo back; sleep 600; fi; touch again; echo one; echo two; exit 3";
    let mut started = Started::script(dir.path(), script);
    started.line("sh ended (exit status: 3); its last lines:");
    assert_eq!(started.line("one"), "oxikit |   one");
    assert_eq!(started.line("two"), "oxikit |   two");
    started.line("start it again with `oxikit app restart`");
    let run = started.run(&["flow", "run", "hello", "1"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("has ended (exit status: 3)"), "{run:?}");
    assert!(run.stderr.contains("`oxikit app restart`"), "{run:?}");

    let app = started.app();
    assert_eq!(app["state"], "stopped");
    assert_eq!(app["exit"], "exit status: 3");
    assert_eq!(app["lastLines"], json!(["one", "two"]));

    let asked = Instant::now();
    let app = started.run(&["app", "restart", "--json"]).json();
    started.line("sh     | back");
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!((&app["state"], &app["restarts"]), (&json!("running"), &json!(1)));

    assert_eq!(started.run(&["app", "stop"]).code, 0);
    assert_eq!(started.app()["state"], "stopped");
    assert!(started.child.try_wait().unwrap().is_none(), "the developer tools keep running");
}

#[test]
fn a_hint_is_shown_if_an_application_does_not_connect() {
    let dir = tempfile::tempdir().unwrap();
    let script = "if [ -e again ]; then exit 0; fi; touch again; echo works; sleep 600";
    let mut started = Started::script(dir.path(), script);
    started.line("works");
    let run = started.run(&["flow", "run", "hello", "1"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("runs and has not connected"), "{run:?}");
    assert!(run.stderr.contains("oxikit_serve::reflect(&ai)"), "{run:?}");

    let late = started.line("sh runs and has not connected yet: ");
    assert!(late.contains("`oxikit_serve::reflect(&ai).await`"), "{late}");

    assert_eq!(started.run(&["app", "restart"]).code, 0);
    let ended = started.line("sh ended (exit status: 0) and had not connected: ");
    assert!(ended.contains("`oxikit_serve::reflect(&ai).await`"), "{ended}");
    started.line("start it again with `oxikit app restart`");
}

#[test]
fn no_hint_is_shown_if_an_application_has_connected() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::new(dir.path(), &["--demo"]);
    let has_one = || started.run(&["runtimes", "--json"]).json()["current"].is_string();
    assert!(until(TIMEOUT, has_one));
    // Asks it to end, which the demo does with success.
    signal(started.app()["pid"].as_u64().unwrap() as u32, Signal::TERM);
    started.line("demo ended (exit status: 0)");
    started.line("start it again with `oxikit app restart`");
    assert!(!started.seen.iter().any(|line| line.contains("not connected")), "{:?}", started.seen);
}

#[test]
fn an_application_that_cannot_be_started_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::new(dir.path(), &["--", "./not-there"]);
    started.line("`./not-there` cannot be started");
    let restart = started.run(&["app", "restart"]);
    assert_eq!(restart.code, 1);
    assert!(restart.stderr.contains("`./not-there` cannot be started"), "{restart:?}");
}

#[test]
fn a_restart_ends_all_that_was_started() {
    let dir = tempfile::tempdir().unwrap();
    let (mut started, previous) = family(dir.path(), "");
    assert_eq!(started.run(&["app", "restart"]).code, 0);
    let now = [started.number("| child "), started.number("| parent ")];
    assert!(!previous.iter().any(|pid| is_alive(*pid)));
    assert!(now.iter().all(|pid| is_alive(*pid)));
}

#[test]
fn whatever_asks_the_tools_to_end_ends_the_application() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let dir = tempfile::tempdir().unwrap();
        let (mut started, pids) = family(dir.path(), "");
        started.signal(signal);
        assert!(until(SOON, || !pids.iter().any(|pid| is_alive(*pid))), "{signal:?}");
        assert_eq!(started.end(2 * SOON).code(), Some(0), "{signal:?}");
        assert!(!dir.path().join(".oxikit/manager.json").exists());
    }
}

#[test]
fn when_the_tools_are_killed_the_application_ends_soon() {
    // Also an application that ignores signals.
    for before in ["", "trap '' TERM;"] {
        let dir = tempfile::tempdir().unwrap();
        let (mut started, pids) = family(dir.path(), before);
        started.child.kill().unwrap();
        assert!(until(SOON, || !pids.iter().any(|pid| is_alive(*pid))), "{before}");
    }
}

/// The guard of these tools.
fn guard_of(tools: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{tools}/task/{tools}/children"));
    let children = children.unwrap_or_default();
    let mut children = children.split_whitespace().map(|pid| pid.parse().unwrap());
    let is_guard = |pid: &u32| {
        let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.contains("__guard")
    };
    children.find(is_guard).expect("a guard")
}

#[test]
fn a_signal_to_all_processes_of_the_tools_ends_them_without_a_warning() {
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        let dir = tempfile::tempdir().unwrap();
        let (mut started, pids) = family(dir.path(), "");
        let guard = guard_of(started.pid());
        signal(guard, kind);
        started.signal(kind);
        assert_eq!(started.end(2 * SOON).code(), Some(0), "{kind:?}");
        assert!(!pids.iter().any(|pid| is_alive(*pid)), "{kind:?}");
        assert!(!started.seen.iter().any(|line| line.contains("guard")), "{:?}", started.seen);
        assert!(until(SOON, || !is_alive(guard)), "{kind:?}");
    }
}

#[test]
fn a_killed_guard_is_reported_only_while_an_application_runs() {
    let dir = tempfile::tempdir().unwrap();
    let (mut started, _) = family(dir.path(), "");
    signal(guard_of(started.pid()), Signal::KILL);
    assert_eq!(started.run(&["app", "stop"]).code, 0);
    assert_eq!(started.run(&["app", "restart"]).code, 0);
    started.line("the guard is gone");
    started.signal(Signal::INT);
    assert_eq!(started.end(2 * SOON).code(), Some(0));
    let reports = started.seen.iter().filter(|line| line.contains("guard is gone"));
    assert_eq!(reports.count(), 1, "{:?}", started.seen);
}

#[test]
fn an_application_that_does_not_end_is_killed_after_three_seconds() {
    let dir = tempfile::tempdir().unwrap();
    let (mut started, pids) = family(dir.path(), "trap '' TERM;");
    started.signal(Signal::TERM);
    let asked = Instant::now();
    assert_eq!(started.end(3 * SOON).code(), Some(0));
    assert!(asked.elapsed() > 2 * SECOND, "{:?}", asked.elapsed());
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_second_signal_ends_the_tools_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (mut started, pids) = family(dir.path(), "trap '' TERM;");
    started.signal(Signal::INT);
    started.line("shutting down");
    started.signal(Signal::INT);
    assert_eq!(started.end(2 * SECOND).code(), Some(0));
    assert!(until(SOON, || !pids.iter().any(|pid| is_alive(*pid))));
}

#[test]
fn keys_on_a_terminal_restart_and_quit() {
    let dir = tempfile::tempdir().unwrap();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let stdin = Stdio::from(File::open(name).unwrap());
    let script = ["--", "sh", "-c", "echo parent $$; sleep 600"];
    let mut started = Started::with_stdin(dir.path(), &script, stdin);
    let previous = started.number("| parent ");
    rustix::io::write(&master, b"r\n").unwrap();
    let now = started.number("| parent ");
    assert!(!is_alive(previous) && is_alive(now));
    rustix::io::write(&master, b"what\n").unwrap();
    started.line("press r and Enter to restart the application, q and Enter to quit");
    rustix::io::write(&master, b"q\n").unwrap();
    assert_eq!(started.end(2 * SOON).code(), Some(0));
    assert!(!is_alive(now));
}

#[test]
fn the_command_of_the_settings_is_started() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".oxikit")).unwrap();
    let settings = "command = [\"sh\", \"-c\", \"echo by the file; sleep 600\"]\n";
    fs::write(dir.path().join(".oxikit/config.toml"), settings).unwrap();
    Started::new(dir.path(), &[]).line("sh     | by the file");
}

#[test]
fn an_application_finds_the_tools_in_its_environment() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo env $GENKIT_ENV $GENKIT_ENABLE_REALTIME_TELEMETRY; \
        case \"$GENKIT_REFLECTION_V2_SERVER $GENKIT_TELEMETRY_SERVER\" in \
        ws://127.0.0.1:*/r/*http://127.0.0.1:*/t/*) echo urls good;; esac; sleep 600";
    let mut started = Started::script(dir.path(), script);
    started.line("env dev true");
    started.line("urls good");
}

#[test]
fn the_flag_of_the_official_command_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let script = ["--", "sh", "-c", "echo url $GENKIT_REFLECTION_V2_SERVER; sleep 600"];
    let arguments = [&["--experimental-reflection-v2"][..], &script].concat();
    Started::new(dir.path(), &arguments).line("url ws://127.0.0.1:");
}

#[test]
fn a_second_start_for_a_project_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::script(dir.path(), "echo ready; sleep 600");
    started.line("ready");
    let second = run(dir.path(), &["start", "--port=0", "--", "true"]);
    assert_eq!(second.code, 3);
    assert!(second.stderr.contains("run already"), "{second:?}");
}

#[test]
fn a_port_that_is_taken_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = run(dir.path(), &["start", "--port", &port, "--", "true"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains(&port), "{ended:?}");
}

#[test]
fn files_of_the_tools_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::script(dir.path(), "echo ready; sleep 600");
    started.line("ready");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let data = dir.path().join(".oxikit");
    assert_eq!(mode(&data), 0o700);
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn tokens_are_in_no_output_and_no_arguments() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::script(dir.path(), "echo parent $$; sleep 600");
    let app = started.number("| parent ");
    let file = started.manager_file();
    let after = |member: &str, mark: &str| {
        file[member].as_str().unwrap().rsplit_once(mark).unwrap().1.to_owned()
    };
    let tokens = [
        file["token"].as_str().unwrap().to_owned(),
        after("reflectionUrl", "/r/"),
        after("telemetryUrl", "/t/"),
    ];
    let mut texts = Vec::new();
    for arguments in [
        &["app", "status"][..],
        &["runtimes"],
        &["runtimes", "--json"],
        &["action", "list"],
        &["trace", "list"],
        &["doctor"],
        &["doctor", "--json"],
        &["config", "show", "--origin"],
    ] {
        let ended = started.run(arguments);
        texts.extend([ended.stdout, ended.stderr]);
    }
    for process in fs::read_dir("/proc").unwrap().flatten() {
        // Other processes start and end during the test.
        texts.push(fs::read_to_string(process.path().join("cmdline")).unwrap_or_default());
    }
    assert!(is_alive(app));
    started.signal(Signal::TERM);
    started.end(2 * SOON);
    texts.extend(started.seen.iter().cloned());
    for token in tokens {
        assert!(token.len() >= 32);
        assert!(!texts.iter().any(|text| text.contains(&token)));
    }
}
