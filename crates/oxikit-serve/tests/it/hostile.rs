//! Bad input: each form on every route, unary and as a stream. The answer is an
//! error in the protocol's form, nothing runs, and the server lives on.

use crate::kit::{Answer, App, app, app_within, post};

/// A body with its headers.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) headers: &'static str,
    pub(crate) body: Vec<u8>,
}

fn form(name: &'static str, body: impl Into<Vec<u8>>) -> Form {
    Form { name, headers: "", body: body.into() }
}

fn typed(name: &'static str, headers: &'static str) -> Form {
    Form { name, headers, body: br#"{"data":1}"#.to_vec() }
}

/// Requests that every route rejects, whatever its input is.
pub(crate) fn malformed() -> Vec<Form> {
    let gzip = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0; 20]].concat();
    vec![
        form("truncated object", "{"),
        form("truncated key", r#"{"da"#),
        form("no value", r#"{"data""#),
        form("no value after colon", r#"{"data":"#),
        form("truncated number", r#"{"data":1"#),
        form("truncated string", r#"{"data":"x"#),
        form("truncated list", r#"{"data":[1,"#),
        form("truncated escape", r#"{"data":"\u00"#),
        form("bad escape", r#"{"data":"\x"}"#),
        form("bad unicode escape", r#"{"data":"\uZZZZ"}"#),
        form("trailing comma", r#"{"data":1,}"#),
        form("trailing comma in list", r#"{"data":[1,]}"#),
        form("two values", r#"{"data":1}{"data":2}"#),
        form("garbage after", r#"{"data":1}x"#),
        form("single quotes", "{'data':1}"),
        form("bare key", "{data:1}"),
        form("comment", r#"{"data":1/*x*/}"#),
        form("NaN", r#"{"data":NaN}"#),
        form("Infinity", r#"{"data":-Infinity}"#),
        form("hex number", r#"{"data":0x10}"#),
        form("leading zero", r#"{"data":01}"#),
        form("leading plus", r#"{"data":+1}"#),
        form("bare point", r#"{"data":1.}"#),
        form("bare exponent", r#"{"data":1e}"#),
        form("undefined", r#"{"data":undefined}"#),
        form("NUL in string", b"{\"data\":\"a\0b\"}".to_vec()),
        form("NUL after", b"{\"data\":1}\0".to_vec()),
        form("only NUL", b"\0".to_vec()),
        form("newline in string", "{\"data\":\"a\nb\"}"),
        form("tab in string", "{\"data\":\"a\tb\"}"),
        form("invalid UTF-8 in string", b"{\"data\":\"\xff\xfe\"}".to_vec()),
        form("overlong UTF-8", b"{\"data\":\"\xc0\xaf\"}".to_vec()),
        form("surrogate as UTF-8", b"{\"data\":\"\xed\xa0\x80\"}".to_vec()),
        form("cut UTF-8", b"{\"data\":\"\xe2\x82\"}".to_vec()),
        form("invalid UTF-8 in key", b"{\"\xff\":1,\"data\":1}".to_vec()),
        form("invalid UTF-8 in a member nobody reads", b"{\"x\":\"\xff\",\"data\":1}".to_vec()),
        form("UTF-16", b"\xff\xfe{\0\"\0d\0".to_vec()),
        form("BOM twice", "\u{feff}\u{feff}{}"),
        form("data twice", r#"{"data":1,"data":2}"#),
        form("init twice", r#"{"data":1,"init":1,"init":2}"#),
        form("data twice, once escaped", r#"{"data":1,"d\u0061ta":2}"#),
        form("list", "[]"),
        form("list with wrapper", r#"[{"data":1}]"#),
        form("number", "1"),
        form("string", r#""data""#),
        form("null", "null"),
        form("true", "true"),
        form("no data", r#"{"input":1}"#),
        form("other case", r#"{"Data":1}"#),
        form("only prototype", r#"{"__proto__":{"data":1}}"#),
        form("form fields", "data=1&init=2"),
        form("a page", "<html><script>alert(1)</script></html>"),
        form("gzip without saying so", gzip),
        form("deep list", "[".repeat(20_000)),
        form("deep objects", "{\"data\":".repeat(20_000)),
        form("deep data, not closed", format!("{{\"data\":{}", "[".repeat(20_000))),
        form("deep init, not closed", format!("{{\"init\":{}", "[".repeat(20_000))),
        form("deep other, not closed", format!("{{\"data\":1,\"x\":{}", "{\"a\":".repeat(20_000))),
        typed("text", "content-type: text/plain\r\n"),
        typed("fields", "content-type: application/x-www-form-urlencoded\r\n"),
        typed("multipart", "content-type: multipart/form-data; boundary=x\r\n"),
        typed("empty type", "content-type: \r\n"),
        typed("no subtype", "content-type: application\r\n"),
        typed("list of types", "content-type: text/plain, application/json\r\n"),
        typed("two types", "content-type: application/json\r\ncontent-type: text/plain\r\n"),
        typed(
            "two types, the other way",
            "content-type: text/plain\r\ncontent-type: application/json\r\n",
        ),
        typed("type beyond ASCII", "content-type: application/j\u{e9}son\r\n"),
        typed("charset", "content-type: application/json; charset=utf-7\r\n"),
        typed("charset beyond ASCII", "content-type: application/json; charset=\u{e9}\r\n"),
        typed("gzip", "content-encoding: gzip\r\n"),
        typed("gzip twice", "content-encoding: identity\r\ncontent-encoding: gzip\r\n"),
    ]
}

#[tokio::test]
async fn malformed_bodies_are_refused_on_every_route() {
    let app = app().await;
    let forms = malformed();
    assert!(forms.len() >= 50, "{}", forms.len());
    for form in &forms {
        for path in &app.paths {
            let is_page = !app.flows.contains(path);
            let is_agents = path.contains("{agent}") || path == "/api/agents";
            for accept in ["", "accept: text/event-stream\r\n"] {
                let headers = format!("{accept}{}", form.headers);
                let answer = app.ask(post(path, &headers, &form.body)).await;
                let is_refused = match answer.status {
                    // An action too, and a session that is not there.
                    400 | 404 | 405 | 415 if is_agents => true,
                    400 | 415 => !is_page,
                    405 => is_page,
                    _ => false,
                };
                assert!(is_refused, "{} {path} {answer:?}", form.name);
                answer.assert_error_form();
                assert!(answer.body.len() < 1000, "{} {path} {answer:?}", form.name);
            }
        }
    }
    assert_eq!(app.effects(), 0);
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn depth_is_kept_or_refused_and_costs_no_stack() {
    let app = app().await;
    for depth in [1_000, 100_000, 2_000_000] {
        let kinds = [("[", "]"), ("{\"a\":", "}")];
        for (open, close) in &kinds[..if depth > 100_000 { 1 } else { 2 }] {
            let (open, close) = (open.repeat(depth), close.repeat(depth));
            let deep = format!("{open}1{close}");
            // The action does not parse it: the text is passed on unchanged.
            let ways = ["", "accept: text/event-stream\r\n"];
            for accept in &ways[..if depth > 100_000 { 1 } else { 2 }] {
                for body in [
                    format!(r#"{{"data":1,"init":{deep}}}"#),
                    format!(r#"{{"data":1,"x":{deep}}}"#),
                ] {
                    // The largest bodies are over the limit of size.
                    let answer = app.ask(post("/echo", accept, &body)).await;
                    assert!(matches!(answer.status, 200 | 400 | 413), "{depth} {}", answer.status);
                }
            }
            let body = format!(r#"{{"data":{deep}}}"#);
            let is_within = body.len() <= 16 << 20;
            let effects = app.effects();
            for path in ["/typed", "/tree"] {
                let answer = app.post(path, &body).await;
                let status = if is_within { 400 } else { 413 };
                assert_eq!(answer.status, status, "{path} {depth}");
                answer.assert_error_form();
                assert!(answer.body.len() < 2000, "{}", answer.body.len());
                let answer = app.stream(path, &body).await;
                assert!(answer.text().contains(if is_within {
                    "INVALID_ARGUMENT"
                } else {
                    "RESOURCE_EXHAUSTED"
                }));
            }
            assert_eq!(app.effects(), effects);
            let answer = app.post("/echo", &body).await;
            if answer.status == 200 {
                assert_eq!(answer.text(), format!(r#"{{"result":{deep}}}"#));
            } else {
                answer.assert_error_form();
            }
        }
    }
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn odd_values_are_kept_exactly_or_refused() {
    let app = app().await;
    for data in [
        "18446744073709551615",
        "-9223372036854775808",
        "9007199254740993",
        "340282366920938463463374607431768211456",
        "1e999",
        "-1e-999",
        "0.1000000000000000055511151231257827",
        "1.0",
        "-0",
        "-0.0",
        "1E+2",
        r#"{"a":1,"a":2}"#,
        r#"{"__proto__":{"polluted":true}}"#,
        r#"{"constructor":{"prototype":1}}"#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\u0000""#,
        r#""\/\b\f""#,
        r#"{"":{"":[]}}"#,
        r#"{"$serde_json::private::Number":"1"}"#,
        r#"{"$serde_json::private::RawValue":"[1"}"#,
    ] {
        let answer = app.post("/echo", &format!(r#"{{"data":{data}}}"#)).await;
        assert_eq!(answer.text(), format!(r#"{{"result":{data}}}"#));
        let answer = app.stream("/echo", &format!(r#"{{"data":{data}}}"#)).await;
        assert!(answer.text().ends_with(&format!("data: {{\"result\":{data}}}\n\n")), "{answer:?}");
    }
    let effects = app.effects();
    for data in [
        r#"{"name":"a","count":4294967296}"#,
        r#"{"name":"a","count":-1}"#,
        r#"{"name":"a","count":1.5}"#,
        r#"{"name":"a","count":1e999}"#,
        r#"{"name":"a","count":"1"}"#,
        r#"{"name":"a","count":null}"#,
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"\ud800"}"#,
        r#"{"name":null}"#,
        r#"{"name":["a"]}"#,
        r#"{"Name":"a"}"#,
        r#"["a",1]"#,
        r#"{"__proto__":{"name":"a"}}"#,
    ] {
        let body = format!(r#"{{"data":{data}}}"#);
        app.post("/typed", &body).await.assert_error(400, "INVALID_ARGUMENT");
        let answer = app.stream("/typed", &body).await;
        assert!(
            answer.text().starts_with("error: ") && answer.text().contains("INVALID_ARGUMENT"),
            "{data}"
        );
        answer.assert_says_nothing();
    }
    assert_eq!(app.effects(), effects);
}

#[tokio::test]
async fn many_keys_are_no_trouble() {
    let app = app().await;
    let keys: Vec<_> = (0..100_000).map(|key| format!("\"k{key}\":{key}")).collect();
    let keys = keys.join(",");
    assert_eq!(
        app.post("/echo", &format!(r#"{{{keys},"data":1}}"#)).await.text(),
        r#"{"result":1}"#
    );
    let answer = app.post("/echo", &format!(r#"{{"data":{{{keys}}}}}"#)).await;
    assert_eq!(answer.text(), format!(r#"{{"result":{{{keys}}}}}"#));
    let body = format!(r#"{{"data":{{{keys}}}}}"#);
    let answer = app.post("/typed", &body).await;
    answer.assert_error(400, "INVALID_ARGUMENT");
    assert!(answer.body.len() < body.len(), "{}", answer.body.len());
}

/// Fails unless the server refuses the head and closes: 4xx, no page, nothing run.
/// Whether the answer arrived: what is sent after it may reset the connection.
pub(crate) async fn assert_refused(app: &App, request: impl AsRef<[u8]>, statuses: &[u16]) -> bool {
    let request = request.as_ref();
    let shown = String::from_utf8_lossy(&request[..request.len().min(120)]).into_owned();
    let mut client = app.connect().await;
    client.try_send(request).await;
    client.try_send(post("/echo", "", r#"{"data":"smuggled"}"#)).await;
    let answer = client.answer().await;
    if let Some(answer) = &answer {
        assert!(statuses.contains(&answer.status), "{shown}: {answer:?}");
        assert_plain(answer);
    }
    assert_eq!(client.rest().await, b"", "{shown}");
    assert_eq!(app.effects(), 0, "{shown}");
    answer.is_some()
}

/// The HTTP layer refuses without a body; all others in the protocol's form.
#[track_caller]
fn assert_plain(answer: &Answer) {
    if answer.body.is_empty() { answer.assert_says_nothing() } else { answer.assert_error_form() }
}

#[tokio::test]
async fn floods_of_headers_are_refused() {
    let app = app().await;
    let start = "POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n";
    let one = format!("{start}x: {}\r\n\r\n", "y".repeat(20_000));
    assert_refused(&app, one, &[431]).await;
    let many = format!("{start}{}\r\n", "x: y\r\n".repeat(101));
    assert_refused(&app, many, &[431]).await;
    let endless = format!("{start}{}", "x: yyyyyyyyyyyyyyyyyy\r\n".repeat(20_000));
    assert_refused(&app, endless, &[431]).await;
    let line = format!("POST /echo?{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "q".repeat(20_000));
    assert_refused(&app, line, &[414, 431]).await;
    let name = format!("{start}{}: 1\r\n\r\n", "n".repeat(70_000));
    assert_refused(&app, name, &[400, 431]).await;
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn small_limits_of_headers_do_not_break_connections() {
    let app = app_within(|limits| limits.header_bytes = 100).await;
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn doubled_and_missing_headers_are_refused_where_two_readers_could_differ() {
    let app = app().await;
    for headers in [
        "host: localhost\r\nhost: localhost\r\n",
        "host: localhost\r\nhost: evil.example\r\n",
        "host: localhost\r\norigin: http://localhost\r\norigin: http://localhost\r\n",
        "host: localhost, evil.example\r\n",
        "host: \r\n",
        "",
    ] {
        let request =
            format!("POST /echo HTTP/1.1\r\n{headers}content-length: 10\r\n\r\n{{\"data\":1}}");
        let answer = app.ask(request).await;
        assert!(matches!(answer.status, 400 | 403), "{headers} {answer:?}");
        answer.assert_error_form();
    }
    assert_eq!(app.effects(), 0);
}

#[tokio::test]
async fn bodies_that_end_early_are_not_run() {
    let app = app().await;
    for accept in ["", "accept: text/event-stream\r\n"] {
        let mut client = app.connect().await;
        client.send(format!("POST /echo HTTP/1.1\r\nhost: localhost\r\n{accept}content-length: 100\r\n\r\n{{\"data\":1}}")).await;
        client.half_close().await;
        if let Some(answer) = client.answer().await {
            answer.assert_error(400, "INVALID_ARGUMENT");
        }
        let mut client = app.connect().await;
        client.send(format!("POST /echo HTTP/1.1\r\nhost: localhost\r\n{accept}transfer-encoding: chunked\r\n\r\na\r\n{{\"data\":1}}\r\n")).await;
        client.half_close().await;
        if let Some(answer) = client.answer().await {
            answer.assert_error(400, "INVALID_ARGUMENT");
        }
    }
    assert_eq!(app.effects(), 0);
    assert!(app.is_alive().await);
}

/// Runs once more in a process of its own, where no other test takes memory.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn large_bad_bodies_leave_no_memory_behind() {
    const ALONE: &str = "OXIKIT_SERVE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "hostile::large_bad_bodies_leave_no_memory_behind"])
            .env(ALONE, "1")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let app = app_within(|limits| limits.body_bytes = 4 << 20).await;
    let deep = format!("{{\"data\":{}", "[".repeat(2_000_000));
    let large = vec![b'['; 5 << 20];
    let mut before = 0;
    for round in 0..8 {
        app.post("/typed", &deep).await.assert_error(400, "INVALID_ARGUMENT");
        app.ask(post("/typed", "", &large)).await.assert_error(413, "RESOURCE_EXHAUSTED");
        if round == 1 {
            before = resident_kilobytes();
        }
    }
    // Of 42 MB that were sent since, nothing stays.
    let grown = resident_kilobytes().saturating_sub(before);
    assert!(grown < 10 << 10, "{grown} KiB");
}

#[cfg(target_os = "linux")]
pub(crate) fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
