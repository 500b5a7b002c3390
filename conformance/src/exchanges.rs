//! The recorded exchanges of Genkit's action protocol, replayed against our
//! server: the same request bytes, the same answer, or a difference that stands
//! in the table of `differences` and in `docs/action-http.md`.

mod differences;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::suite::{Outcome, Places, Report};

const DATA: &str = "action-http/exchanges.json";
const PAGE: &str = "../docs/action-http.md";

/// The host and port of the recorded server, as answers repeat it.
const RECORDED_HOST: &str = "127.0.0.1:3411";

#[derive(Deserialize)]
struct Exchange {
    name: String,
    request: String,
    /// The status line.
    status: String,
    headers: HashMap<String, String>,
    body: Option<String>,
    chunks: Option<Vec<String>>,
}

/// An answer without what is different at every call: ids, dates, framing.
#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    content: Content,
}

#[derive(Debug, PartialEq)]
enum Content {
    Empty,
    Json(Value),
    /// Prefix and value of each block.
    Blocks(Vec<(String, Value)>),
    Other(String),
}

pub(crate) fn run(places: &Places) -> anyhow::Result<Outcome> {
    let exchanges: Vec<Exchange> = serde_json::from_value(oxikit_recordings::json(DATA))?;
    let page = fs::read_to_string(places.here.join(PAGE)).context(PAGE)?;

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = runtime.block_on(oxikit_interop_app::server().port(0).bind())?;
    let address = server.local_addr()?;
    runtime.spawn(server.run(std::future::pending()));

    let mut report = Report::default();
    let mut differing = BTreeSet::new();
    for exchange in &exchanges {
        let result = replay(exchange, address);
        if let Ok(Verdict::Documented) = &result {
            differing.insert(exchange.name.as_str());
        }
        report.case(exchange.name.as_str(), result.map(drop));
    }
    let documented: BTreeSet<&str> = exchanges
        .iter()
        .map(|exchange| exchange.name.as_str())
        .filter(|name| page.contains(&format!("`{name}`")))
        .collect();
    for name in differing.symmetric_difference(&documented) {
        report.fail(format!("{name} in {PAGE}"), "the page and the table here are not the same");
    }
    let same = exchanges.len() - differing.len();
    report.note = format!("{same} as recorded, {} documented differences", differing.len());
    runtime.shutdown_background();
    Ok(Outcome::Ran(report))
}

enum Verdict {
    AsRecorded,
    Documented,
}

fn replay(exchange: &Exchange, address: SocketAddr) -> Result<Verdict, String> {
    let (head, body) = send(&request_bytes(&exchange.request, address), address)
        .map_err(|error| format!("{error:#}"))?;
    let actual = Answer::read(&head, &body)?;
    let expected = Answer::recorded(exchange, address)?;
    match (differences::find(&exchange.name), actual == expected) {
        (None, true) => Ok(Verdict::AsRecorded),
        (None, false) => Err(format!("- recorded: {expected:?}\n+ actual:   {actual:?}")),
        (Some(_), true) => Err("it stands in the table, but is as recorded".to_owned()),
        (Some(ours), false) => ours.check(&expected, &actual).map(|()| Verdict::Documented),
    }
}

/// The recorded bytes, with our host. What the recording shows as U+FFFD was a
/// byte that is not UTF-8.
fn request_bytes(request: &str, address: SocketAddr) -> Vec<u8> {
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
    let mut text = String::new();
    for line in head.split("\r\n") {
        let is_host = line.starts_with("Host: ");
        text += &if is_host { format!("Host: {address}") } else { line.to_owned() };
        text += "\r\n";
    }
    text += "\r\n";
    text += &uncut(body, number_after(head, "Content-Length: "), "");
    let mut bytes = Vec::new();
    for character in text.chars() {
        match character {
            '\u{fffd}' => bytes.push(0xff),
            character => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

/// Long texts are recorded as `xxx…[+N chars]`, where N tells little: more of the
/// same character, and what closes the JSON, up to the length that it had.
fn uncut(text: &str, length: usize, end: &str) -> String {
    let Some((start, _)) = text.split_once("…[+") else {
        return text.to_owned();
    };
    let closing = format!("\"{}{end}", "}".repeat(start.matches('{').count()));
    let filler = start.chars().next_back().map(String::from).unwrap_or_default();
    let missing = length.saturating_sub(start.len() + closing.len());
    format!("{start}{}{closing}", filler.repeat(missing))
}

/// The number after `name`, which is a header or a member.
fn number_after(text: &str, name: &str) -> usize {
    let rest = text.split_once(name).map_or("", |(_, rest)| rest);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or(0)
}

/// Sends the bytes and reads one answer, its framing removed.
fn send(request: &[u8], address: SocketAddr) -> anyhow::Result<(String, Vec<u8>)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(request)?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        anyhow::ensure!(reader.read_line(&mut head)? > 0, "the head ended early: {head:?}");
    }
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let mut body = Vec::new();
    if header("transfer-encoding") == Some("chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).context("a chunk's length")?;
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk)?;
            if length == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..length]);
        }
    } else if let Some(length) = header("content-length") {
        body.resize(length.parse()?, 0);
        reader.read_exact(&mut body)?;
    } else if !head.contains(" 204 ") {
        reader.read_to_end(&mut body)?;
    }
    Ok((head, body))
}

impl Answer {
    fn recorded(exchange: &Exchange, address: SocketAddr) -> Result<Self, String> {
        let chunk_length =
            number_after(&exchange.request, "\"size\":") + "data: {\"message\":\"\"}\n\n".len();
        let body = match &exchange.chunks {
            Some(chunks) => chunks.iter().map(|chunk| uncut(chunk, chunk_length, "\n\n")).collect(),
            None => {
                let length = exchange.headers.get("content-length").map(String::as_str);
                let length = number_after(length.unwrap_or_default(), "");
                uncut(exchange.body.as_deref().unwrap_or_default(), length, "")
            }
        };
        let body = body.replace(RECORDED_HOST, &address.to_string());
        Self::read(&exchange.status, body.as_bytes())
    }

    fn read(head: &str, body: &[u8]) -> Result<Self, String> {
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| format!("no HTTP status in {head:?}"))?;
        let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
        let content = if text.is_empty() {
            Content::Empty
        } else if text.starts_with("data: ") || text.starts_with("error: ") {
            Content::Blocks(blocks(text)?)
        } else {
            match serde_json::from_str(text) {
                Ok(json) => Content::Json(without_code(json)),
                Err(_) => Content::Other(text.to_owned()),
            }
        };
        Ok(Self { status, content })
    }
}

fn blocks(text: &str) -> Result<Vec<(String, Value)>, String> {
    let text = text.strip_suffix("\n\n").ok_or("the last block is not closed")?;
    let parse = |block: &str| {
        let (prefix, json) = block.split_once(": ").ok_or_else(|| format!("block {block:?}"))?;
        let value = serde_json::from_str(json).map_err(|error| format!("{error}: {json}"))?;
        Ok((prefix.to_owned(), value))
    };
    text.split("\n\n").map(parse).collect()
}

/// Our error bodies have `code`; the recorded ones have not.
fn without_code(mut json: Value) -> Value {
    if let Some(members) = json.as_object_mut()
        && members.contains_key("status")
    {
        members.shift_remove("code");
    }
    json
}
