//! The cases by name.

use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use oxikit_client::{RemoteAction, RemoteStream, Status, StatusCode};
use serde_json::{Value, json};

type Case = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Every status but `OK`.
const CODES: [StatusCode; 16] = [
    StatusCode::Cancelled,
    StatusCode::Unknown,
    StatusCode::InvalidArgument,
    StatusCode::DeadlineExceeded,
    StatusCode::NotFound,
    StatusCode::AlreadyExists,
    StatusCode::PermissionDenied,
    StatusCode::Unauthenticated,
    StatusCode::ResourceExhausted,
    StatusCode::FailedPrecondition,
    StatusCode::Aborted,
    StatusCode::OutOfRange,
    StatusCode::Unimplemented,
    StatusCode::Internal,
    StatusCode::Unavailable,
    StatusCode::DataLoss,
];

/// All cases against the server at this address.
pub(crate) fn all(base: &str) -> Vec<(String, Case)> {
    let mut cases: Vec<(String, Case)> = Vec::new();
    let mut add = |name: &str, case: Case| cases.push((name.to_owned(), case));
    let server = Server(base.to_owned());
    macro_rules! case {
        ($name:expr, $function:expr) => {
            add($name, Box::pin($function(server.clone())));
        };
    }
    case!("run: values", values);
    case!("run: unicode both ways", unicode);
    case!("run: no input", no_input);
    case!("run: no output", no_output);
    case!("run: 1 MB both ways", large);
    case!("run: an input that does not fit", bad_input);
    case!("run: init", init);
    case!("run: an init that does not fit", bad_init);
    case!("run: headers", headers);
    case!("run: an unknown path, an HTML page", unknown_path);
    case!("run: an error of no status", masked);
    case!("auth: missing, wrong, right", auth);
    case!("auth: missing on a stream", auth_of_stream);
    case!("stream: chunks in order, then the result", chunks);
    case!("stream: a chunk arrives before the run ends", early_chunk);
    case!("stream: no chunk", no_chunk);
    case!("stream: no output", no_stream_output);
    case!("stream: null, 0, {} and line breaks as chunks", odd_chunks);
    case!("stream: 2000 chunks of multi-byte characters", multi_byte);
    case!("stream: a chunk of 200 kB", big_chunk);
    case!("stream: an input that does not fit", bad_stream_input);
    case!("stream: an error after chunks", late_error);
    case!("stream: the output without reading chunks", only_output);
    case!("timeout: a call that takes too long", timeout);
    case!("durable: resume a finished stream", resume_finished);
    case!("durable: resume in flight, after the first reader left", resume_in_flight);
    case!("durable: resume after some chunks", resume_from);
    case!("durable: resume a stream that failed", resume_failed);
    case!("durable: an unknown id", unknown_id);
    for code in CODES {
        let name = code.name();
        add(&format!("status: {name}, unary"), Box::pin(status(server.clone(), code)));
        add(&format!("status: {name}, in-band"), Box::pin(stream_status(server.clone(), code)));
    }
    cases
}

#[derive(Clone)]
struct Server(String);

impl Server {
    fn action(&self, name: &str) -> Result<RemoteAction> {
        Ok(RemoteAction::new(&format!("{}/{name}", self.0))?)
    }

    async fn run(&self, name: &str, input: Value) -> Result<Value> {
        Ok(self.action(name)?.run(&input).await?)
    }

    async fn stream(&self, name: &str, input: Value) -> Result<RemoteStream<Value, Value>> {
        Ok(self.action(name)?.stream(&input).await?)
    }

    /// The status that a unary call ends with.
    async fn refusal(&self, name: &str, input: Value) -> Result<Status> {
        failure(self.action(name)?.run(&input).await)
    }
}

fn failure(result: Result<Value, Status>) -> Result<Status> {
    match result {
        Ok(value) => bail!("it answered {value}"),
        Err(status) => Ok(status),
    }
}

/// Chunks, and how it ended.
async fn read(mut stream: RemoteStream<Value, Value>) -> (Vec<Value>, Result<Value, Status>) {
    let mut chunks = Vec::new();
    while let Some(Ok(chunk)) = stream.next().await {
        chunks.push(chunk);
    }
    (chunks, stream.finish().await)
}

#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(actual: T, expected: T) -> Result<()> {
    ensure!(actual == expected, "expected {expected:?}, got {actual:?}");
    Ok(())
}

async fn values(server: Server) -> Result<()> {
    for input in [
        json!({ "a": 1 }),
        json!(0),
        json!(-1.5),
        json!(""),
        json!([1, "a"]),
        json!(false),
        Value::Null,
    ] {
        same(server.run("echo", input.clone()).await?, json!({ "got": input }))?;
    }
    Ok(())
}

async fn unicode(server: Server) -> Result<()> {
    let input = json!("héllo 😀 \n\n 漢字 \u{2028} \"quoted\"");
    same(server.run("echo", input.clone()).await?, json!({ "got": input }))
}

async fn no_input(server: Server) -> Result<()> {
    let got: Value = server.action("echo")?.run(&()).await?;
    same(got, json!({ "got": "undefined" }))
}

async fn no_output(server: Server) -> Result<()> {
    same(server.run("undefOut", json!({})).await?, Value::Null)
}

async fn large(server: Server) -> Result<()> {
    let input = json!("x".repeat(1_000_000));
    let output = server.run("echo", input.clone()).await?;
    ensure!(output["got"] == input, "it came back otherwise");
    Ok(())
}

async fn bad_input(server: Server) -> Result<()> {
    let status = server.refusal("typed", json!({ "question": 5 })).await?;
    same(status.code(), StatusCode::InvalidArgument)?;
    let errors =
        status.details().and_then(|details| details.get("errors")).context("no details")?;
    same(errors, &json!([{ "path": "question", "message": "must be string" }]))
}

async fn init(server: Server) -> Result<()> {
    let action = server.action("initFlow")?.with_init(json!({ "sid": "s" }));
    let output: Value = action.run(&1).await?;
    same(output, json!({ "i": 1, "init": { "sid": "s" } }))
}

async fn bad_init(server: Server) -> Result<()> {
    let action = server.action("initFlow")?.with_init(json!({ "sid": 5 }));
    same(failure(action.run(&1).await)?.code(), StatusCode::InvalidArgument)
}

async fn headers(server: Server) -> Result<()> {
    let output: Value = server.action("ctxFlow")?.with_header("x-a", "b").run(&7).await?;
    same(&output["seen"]["x-a"], &json!("b"))
}

async fn unknown_path(server: Server) -> Result<()> {
    same(server.refusal("nope", json!(1)).await?.code(), StatusCode::NotFound)?;
    let stream = server.action("nope")?.stream::<Value, Value>(&1).await;
    let status = stream.err().context("it streamed")?;
    same(status.code(), StatusCode::NotFound)
}

async fn masked(server: Server) -> Result<()> {
    let status = server.refusal("throwing", json!({ "kind": "plain" })).await?;
    same((status.code(), status.message()), (StatusCode::Internal, "Internal Error"))
}

async fn auth(server: Server) -> Result<()> {
    same(server.refusal("authed", json!(1)).await?.code(), StatusCode::Unauthenticated)?;
    let wrong = server.action("authed")?.with_header("authorization", "bad");
    same(failure(wrong.run(&1).await)?.code(), StatusCode::PermissionDenied)?;
    let right = server.action("authed")?.with_header("authorization", "sekret");
    let output: Value = right.run(&1).await?;
    same(output, json!({ "context": { "auth": { "apiKey": "sekret" } } }))
}

async fn auth_of_stream(server: Server) -> Result<()> {
    let stream = server.action("authed")?.stream::<Value, Value>(&1).await;
    same(stream.err().context("it streamed")?.code(), StatusCode::Unauthenticated)
}

async fn chunks(server: Server) -> Result<()> {
    let stream = server.stream("count", json!({ "n": 100 })).await?;
    ensure!(stream.stream_id().is_none(), "it has a stream id");
    let (chunks, output) = read(stream).await;
    same(chunks, (0..100).map(|count| json!({ "count": count })).collect())?;
    same(output?, json!("done"))
}

async fn early_chunk(server: Server) -> Result<()> {
    let mut stream = server.stream("count", json!({ "n": 3, "delay": 200 })).await?;
    same(stream.next().await.transpose()?, Some(json!({ "count": 0 })))?;
    let came = Instant::now();
    same(stream.finish().await?, json!("done"))?;
    ensure!(came.elapsed() > Duration::from_millis(150), "the first chunk was held back");
    Ok(())
}

async fn no_chunk(server: Server) -> Result<()> {
    let (chunks, output) = read(server.stream("voidIn", Value::Null).await?).await;
    same((chunks, output?), (vec![], json!("banana")))
}

async fn no_stream_output(server: Server) -> Result<()> {
    let (chunks, output) = read(server.stream("undefOut", json!({})).await?).await;
    same((chunks, output?), (vec![], Value::Null))
}

async fn odd_chunks(server: Server) -> Result<()> {
    let (chunks, output) = read(server.stream("uni", json!(1)).await?).await;
    same(chunks, vec![json!("héllo 😀 \n\n newline"), Value::Null, json!(0), json!({})])?;
    same(output?, json!("é😀"))
}

async fn multi_byte(server: Server) -> Result<()> {
    let text = json!("é漢😀\u{2028}".repeat(40));
    let input = json!({ "n": 2000, "text": text });
    let (chunks, output) = read(server.stream("lines", input).await?).await;
    same(chunks.len(), 2000)?;
    ensure!(chunks.iter().all(|chunk| *chunk == text), "a chunk was garbled");
    same(output?, text)
}

async fn big_chunk(server: Server) -> Result<()> {
    let (chunks, output) = read(server.stream("big", json!({ "size": 200_000 })).await?).await;
    ensure!(chunks == [json!("x".repeat(200_000))], "it came otherwise");
    same(output?, json!({ "len": 200_000 }))
}

async fn bad_stream_input(server: Server) -> Result<()> {
    let (chunks, output) = read(server.stream("typed", json!({ "question": 5 })).await?).await;
    same((chunks, failure(output)?.code()), (vec![], StatusCode::InvalidArgument))
}

async fn late_error(server: Server) -> Result<()> {
    let input = json!({ "chunks": 20, "status": "ABORTED", "message": "later" });
    let (chunks, output) = read(server.stream("throwing", input).await?).await;
    same(chunks.len(), 20)?;
    let status = failure(output)?;
    same((status.code(), status.message()), (StatusCode::Aborted, "later"))
}

async fn only_output(server: Server) -> Result<()> {
    let stream = server.stream("count", json!({ "n": 10 })).await?;
    same(stream.finish().await?, json!("done"))
}

async fn timeout(server: Server) -> Result<()> {
    let action = server.action("slow")?.with_timeout(Duration::from_millis(200));
    let status = failure(action.run(&json!({ "n": 4, "delay": 200 })).await)?;
    same(status.code(), StatusCode::DeadlineExceeded)
}

async fn resume_finished(server: Server) -> Result<()> {
    let stream = server.stream("durableCount", json!({ "n": 3 })).await?;
    let id = stream.stream_id().context("there is no stream id")?.to_owned();
    let (chunks, output) = read(stream).await;
    let again = server.action("durableCount")?.resume(&id).await?;
    let (chunks_again, output_again) = read(again).await;
    same(chunks.len(), 3)?;
    same((chunks_again, output_again?), (chunks, output?))
}

async fn resume_in_flight(server: Server) -> Result<()> {
    let mut stream = server.stream("durableSlow", json!({ "n": 6, "delay": 100 })).await?;
    let id = stream.stream_id().context("there is no stream id")?.to_owned();
    stream.next().await.context("there is no chunk")??;
    drop(stream);
    let (chunks, output) = read(server.action("durableSlow")?.resume(&id).await?).await;
    same(chunks, (0..6).map(|k| json!({ "k": k })).collect())?;
    same(output?, json!({ "finished": true }))
}

async fn resume_from(server: Server) -> Result<()> {
    let mut stream = server.stream("durableSlow", json!({ "n": 5, "delay": 50 })).await?;
    let id = stream.stream_id().context("there is no stream id")?.to_owned();
    stream.next().await.context("there is no chunk")??;
    let position = stream.position();
    drop(stream);
    let rest = server.action("durableSlow")?.resume_from(&id, position).await?;
    let (chunks, output) = read(rest).await;
    same(chunks, (1..5).map(|k| json!({ "k": k })).collect())?;
    same(output?, json!({ "finished": true }))
}

async fn resume_failed(server: Server) -> Result<()> {
    let input = json!({ "chunks": 1, "status": "NOT_FOUND", "message": "gone" });
    let stream = server.stream("durableThrowing", input).await?;
    let id = stream.stream_id().context("there is no stream id")?.to_owned();
    failure(stream.finish().await)?;
    let (chunks, output) = read(server.action("durableThrowing")?.resume(&id).await?).await;
    same(chunks, vec![json!({ "k": 0 })])?;
    let status = failure(output)?;
    same((status.code(), status.message()), (StatusCode::NotFound, "gone"))
}

async fn unknown_id(server: Server) -> Result<()> {
    let stream = server.action("durableCount")?.resume::<Value, Value>("no-such-stream").await;
    same(stream.err().context("it streamed")?.code(), StatusCode::NotFound)
}

async fn status(server: Server, code: StatusCode) -> Result<()> {
    let input = json!({ "status": code.name(), "message": "m", "details": { "d": 1 } });
    let status = server.refusal("throwing", input).await?;
    same((status.code(), status.message(), status.details()), (code, "m", Some(&json!({ "d": 1 }))))
}

async fn stream_status(server: Server, code: StatusCode) -> Result<()> {
    let input =
        json!({ "chunks": 1, "status": code.name(), "message": "m", "details": { "d": 1 } });
    let (chunks, output) = read(server.stream("throwing", input).await?).await;
    same(chunks, vec![json!({ "k": 0 })])?;
    let status = failure(output)?;
    same((status.code(), status.message(), status.details()), (code, "m", Some(&json!({ "d": 1 }))))
}
