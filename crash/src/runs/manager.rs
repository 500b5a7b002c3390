//! The manager that is killed: it keeps a number of runs active, and notes every message that it
//! receives. It implements only the part of Reflection V2 that the trial needs.

use std::collections::HashSet;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::notes::{Notes, What};
use super::{FLOW, Work};
use crate::Args;

/// Number of request ids per manager process, unless `--counts-anew` is set. Then each process
/// begins with 1.
const IDS: u64 = 1_000_000;

/// Serves one application until the process is killed, or until standard input ends with the
/// process that started it. Prints `registered`. After the command `drain` it starts no more
/// runs, and prints `drained` when all of its own runs are answered.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let port: u16 = args.get("--port")?.parse().context("--port takes a number")?;
    let process: u32 = args.get("--process")?.parse().context("--process takes a number")?;
    let counts_anew = args.has("--counts-anew");
    let mut manager = Manager {
        notes: Notes::open(args.get("--log")?, process)?,
        process,
        runs: args.number("--runs")?.context("--runs is missing")?,
        last_id: if counts_anew { 0 } else { u64::from(process) * IDS },
        waiting: HashSet::new(),
        is_draining: false,
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening");
    let mut commands = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            command = commands.next_line() => match command? {
                Some(_) => bail!("there is no application to drain"),
                None => return Ok(()),
            },
        };
        stream.set_nodelay(true)?;
        let socket = tokio_tungstenite::accept_async(stream).await?;
        if manager.serve(socket, &mut commands).await? {
            return Ok(());
        }
    }
}

struct Manager {
    notes: Notes,
    process: u32,
    /// Number of runs that stream.
    runs: usize,
    last_id: u64,
    /// Runs of this process that are not answered yet.
    waiting: HashSet<String>,
    is_draining: bool,
}

type Socket = WebSocketStream<TcpStream>;

impl Manager {
    /// Serves one connection. Returns whether the manager should end.
    async fn serve(
        &mut self,
        mut socket: Socket,
        commands: &mut Lines<BufReader<Stdin>>,
    ) -> Result<bool> {
        loop {
            tokio::select! {
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        self.receive(&mut socket, serde_json::from_str(&text)?).await?;
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Ok(false),
                },
                command = commands.next_line() => match command?.as_deref() {
                    Some("drain") => {
                        self.is_draining = true;
                        self.report_if_drained();
                    }
                    Some(_) => bail!("the only command is `drain`"),
                    None => return Ok(true),
                },
            }
        }
    }

    async fn receive(&mut self, socket: &mut Socket, message: Value) -> Result<()> {
        let params = &message["params"];
        let id = text(&params["requestId"]);
        match message["method"].as_str() {
            Some("register") => {
                let answer = json!({"jsonrpc": "2.0", "result": {}, "id": message["id"]});
                socket.send(Message::text(answer.to_string())).await?;
                self.notes.add(What::Registered)?;
                println!("registered");
                self.fill(socket).await?;
            }
            Some("runActionState") => self.notes.add(What::State { id })?,
            Some("streamChunk") => {
                let number = params["chunk"]["number"].as_u64().unwrap_or(u64::MAX);
                let nonce = text(&params["chunk"]["nonce"]);
                self.notes.add(What::Chunk { id, nonce, number })?;
            }
            Some(other) => bail!("an application does not call {other}"),
            None => {
                let id = text(&message["id"]);
                self.notes.add(answer(id.clone(), &message))?;
                self.waiting.remove(&id);
                self.report_if_drained();
                self.fill(socket).await?;
            }
        }
        Ok(())
    }

    /// Starts runs until `runs` of them are active.
    async fn fill(&mut self, socket: &mut Socket) -> Result<()> {
        while !self.is_draining && self.waiting.len() < self.runs {
            self.last_id += 1;
            let id = self.last_id.to_string();
            let (process, chunks) = (self.process, fastrand::u64(2..30));
            let work = Work { nonce: format!("{process}.{id}"), chunks, fails: chunks % 7 == 0 };
            let Work { nonce, fails, .. } = work.clone();
            let key = format!("/flow/{FLOW}");
            let params = json!({"key": key, "input": work, "stream": true, "streamInput": false});
            let request =
                json!({"jsonrpc": "2.0", "method": "runAction", "params": params, "id": id});
            self.notes.add(What::Asked { id: id.clone(), nonce, chunks, fails })?;
            self.waiting.insert(id);
            socket.send(Message::text(request.to_string())).await?;
        }
        Ok(())
    }

    fn report_if_drained(&mut self) {
        if self.is_draining && self.waiting.is_empty() {
            println!("drained");
        }
    }
}

fn answer(id: String, message: &Value) -> What {
    match message.get("error") {
        Some(error) => {
            // The message begins with the status; the nonce is its last part.
            let message = text(&error["data"]["message"]);
            let nonce = message.rsplit(' ').next().unwrap_or_default().to_owned();
            What::Answer { id, nonce, failed: true }
        }
        None => What::Answer { id, nonce: text(&message["result"]["result"]), failed: false },
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
