//! Callers of an application of oxikit leave or wait, while the connection between the application
//! and the tools breaks repeatedly. A caller that waits receives its own result once; the runs of
//! callers that left are cancelled.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Setting;
use super::tools::{PATIENCE, Project, Tools};
use crate::figures::Figures;

/// A longer grace period than the default: on a busy machine an application may need more time to
/// reconnect.
const SETTINGS: &str = "limits = { reconnect_ms = 20000 }";
const RUNTIME: &str = "application";
/// Number of concurrent callers. Half of them leave.
const CALLERS: usize = 16;
const BREAKS: u32 = 6;
/// Time between two breaks. The application reconnects at once after a connection that lasted at
/// least a second.
const BETWEEN: Duration = Duration::from_millis(1300);
/// Maximum time after which a caller leaves.
const STAY: Duration = Duration::from_millis(1500);
/// Number of chunks of a run whose caller leaves. Without cancellation it would take minutes.
const ENDLESS: u64 = 10_000;

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "left-callers", SETTINGS)?;
    let tools = Arc::new(project.start().await?);
    let proxy = CuttableProxy::to(&tools).await?;
    let mut application = Application::start(&proxy, &project).await?;
    tools.wait_for_runtime(RUNTIME).await?;
    let (is_over, over) = watch::channel(false);
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        callers.spawn(call_on(tools.clone(), number, over.clone()));
    }
    for _ in 0..BREAKS {
        sleep(BETWEEN).await;
        proxy.cuts.send_modify(|cuts| *cuts += 1);
    }
    sleep(BETWEEN).await;
    is_over.send_replace(true);
    let ended = callers.join_all().await;
    let mut seen = Seen::default();
    for one in ended {
        seen.add(one?);
    }
    let left_behind = application.let_runs_end().await?;
    let mut figures = Figures::default();
    figures.all("waiting callers answered", seen.answered, seen.waited);
    figures.holds(&format!("{} left", seen.left), seen.left > 0);
    figures.none(&format!("{} rejected at a break, wrong answers", seen.rejected), &seen.wrong);
    figures.all("breaks", proxy.connections() as usize - 1, BREAKS as usize);
    figures.time("the last run of a caller that left ended after", left_behind, PATIENCE);
    application.end().await?;
    Ok(figures)
}

/// The responses that callers received.
#[derive(Debug, Default)]
struct Seen {
    /// Calls whose run had begun, and whose caller waited for its end.
    waited: usize,
    answered: usize,
    left: usize,
    /// Calls that failed because it is unknown whether their run has begun.
    rejected: usize,
    wrong: Vec<String>,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.waited += other.waited;
        self.answered += other.answered;
        self.left += other.left;
        self.rejected += other.rejected;
        self.wrong.extend(other.wrong);
    }
}

/// Calls in a loop. Every second caller leaves before its response is complete.
async fn call_on(tools: Arc<Tools>, number: usize, is_over: watch::Receiver<bool>) -> Result<Seen> {
    let (mut seen, leaves) = (Seen::default(), number.is_multiple_of(2));
    for call in 0.. {
        if *is_over.borrow() {
            break;
        }
        let nonce = format!("{number}.{call}");
        let chunks = if leaves { ENDLESS } else { fastrand::u64(2..40) };
        let input = json!({"nonce": nonce, "chunks": chunks, "fails": false});
        let body = json!({"key": "/flow/work", "input": input, "runtimeId": RUNTIME});
        // The head of the response is sent as soon as the run has begun.
        let response = tools.post("/api/v1/run", body.to_string()).await?;
        let has_begun = response.headers().contains_key("x-genkit-trace-id");
        if leaves && has_begun {
            sleep(STAY.mul_f64(fastrand::f64())).await;
            drop(response);
            seen.left += 1;
            continue;
        }
        let text = tokio::time::timeout(PATIENCE, response.text()).await;
        let Ok(text) = text else {
            seen.waited += usize::from(has_begun);
            seen.wrong.push(format!("{nonce} was never answered"));
            break;
        };
        let answer: Value = serde_json::from_str(&text?)?;
        let code = answer["code"].as_u64().or(answer["error"]["code"].as_u64());
        match (has_begun, code) {
            (true, None) => {
                seen.waited += 1;
                seen.answered += usize::from(answer["result"] == *nonce);
                if answer["result"] != *nonce {
                    seen.wrong.push(format!("{nonce} was answered {answer}"));
                }
            }
            // The call was sent during a break, before the application has reconnected.
            (false, _) => {
                seen.rejected += 1;
                sleep(Duration::from_millis(50)).await;
            }
            (true, Some(_)) => {
                seen.waited += 1;
                seen.wrong.push(format!("{nonce} was answered {answer}"));
            }
        }
    }
    Ok(seen)
}

/// A TCP proxy in front of the port for runtimes, whose connections can be cut.
struct CuttableProxy {
    url: String,
    cuts: watch::Sender<u32>,
    connections: watch::Receiver<u32>,
}

impl CuttableProxy {
    async fn to(tools: &Tools) -> Result<Self> {
        let url = &tools.endpoints.reflection_url;
        let rest = url.strip_prefix("ws://").context("a socket")?;
        let (address, path) = rest.split_once('/').context("a path with the token")?;
        let manager: SocketAddr = address.parse()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("ws://{}/{path}", listener.local_addr()?);
        let (cuts, (count, connections)) = (watch::Sender::new(0), watch::channel(0));
        let cut = cuts.subscribe();
        tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                count.send_modify(|count| *count += 1);
                let mut cut = cut.clone();
                cut.mark_unchanged();
                open.spawn(async move {
                    let Ok(mut far) = TcpStream::connect(manager).await else { return };
                    let passing = tokio::io::copy_bidirectional(&mut near, &mut far);
                    tokio::select! { _ = passing => {}, _ = cut.changed() => {} }
                });
            }
        });
        Ok(Self { url, cuts, connections })
    }

    /// Number of connections since the start.
    fn connections(&self) -> u32 {
        *self.connections.borrow()
    }
}

/// The application, a process.
struct Application {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Application {
    async fn start(proxy: &CuttableProxy, project: &Project) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["runtime", "--resting", "--log"]).arg(project.path("application.notes"));
        command.env("GENKIT_ENV", "dev").env_remove("GENKIT_TELEMETRY_SERVER");
        command.env("GENKIT_REFLECTION_V2_SERVER", &proxy.url).env("GENKIT_RUNTIME_ID", RUNTIME);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn()?;
        let output = BufReader::new(child.stdout.take().context("its output")?).lines();
        let mut application = Self { child, output };
        application.line().await?;
        Ok(application)
    }

    async fn line(&mut self) -> Result<Value> {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await??;
        Ok(serde_json::from_str(&line.context("the application has ended")?)?)
    }

    /// Waits until no run is active. Returns the time.
    async fn let_runs_end(&mut self) -> Result<Duration> {
        let began = Instant::now();
        loop {
            let input = self.child.stdin.as_mut().context("its input")?;
            input.write_all(b"report\n").await?;
            if self.line().await?["running"] == 0 {
                return Ok(began.elapsed());
            }
            if began.elapsed() > PATIENCE {
                bail!("runs without a caller do not end");
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn end(mut self) -> Result<()> {
        // The application ends when its standard input is closed.
        drop(self.child.stdin.take());
        tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        Ok(())
    }
}
