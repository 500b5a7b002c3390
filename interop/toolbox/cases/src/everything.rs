//! The reference server of MCP, which has tools, prompts and resources: over standard input and output,
//! and over HTTP.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use oxikit::mcp::McpClient;
use oxikit::offline::Offline;
use oxikit::{Call, Oxikit, Part};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const DOCUMENT: &str = "demo://resource/static/document/architecture.md";

/// Runs the cases over both transports, and returns the number of those that failed.
pub(crate) async fn run(script: &Path) -> u32 {
    let stdio = async {
        let script = script.to_str().context("the path is not UTF-8")?;
        check(&McpClient::spawn("node", [script, "stdio"]).await?).await
    };
    let http = async {
        let (_server, url) = over_http(script).await?;
        check(&McpClient::connect(&url).await?).await
    };
    let results = [
        ("tools, prompts and resources of a program", stdio.await),
        ("tools, prompts and resources over HTTP", http.await),
    ];
    crate::report("everything", results)
}

async fn over_http(script: &Path) -> Result<(Child, String)> {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let mut server = Command::new("node")
        .arg(script)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(server.stderr.take().context("stderr is piped")?).lines();
    while let Some(line) = lines.next_line().await? {
        eprintln!("{line}");
        if line.contains("listening on port") {
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok((server, format!("http://127.0.0.1:{port}/mcp")));
        }
    }
    anyhow::bail!("the server did not start")
}

async fn check(client: &McpClient) -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    for tool in client.tools().await? {
        ai.registry().register(tool);
    }
    let sum = ai.registry().get("/tool/get-sum").context("there is no `get-sum`")?;
    let answer: Value = sum.run(Call::new(json!({ "a": 2, "b": 3 }))).await?.parse()?;
    ensure!(answer == "The sum of 2 and 3 is 5.", "{answer}");
    let call = ai.generate().prompt("Please echo \"good morning\".").tool_named("echo");
    let text = call.await?.text();
    ensure!(text.contains("Echo: good morning"), "{text}");

    let prompts = client.prompts().await?;
    let prompt = prompts.iter().find(|it| it.name() == "args-prompt").context("the prompt")?;
    let rendered: Value = prompt.run(Call::new(json!({ "city": "Lisbon" }))).await?.parse()?;
    let said = rendered["messages"][0]["content"][0]["text"].as_str().unwrap_or_default();
    ensure!(said.contains("Lisbon"), "{rendered}");
    ensure!(prompt.run(Call::new(json!({}))).await.is_err(), "the city is required");

    for resource in client.resources().await? {
        ai.registry().register(resource);
    }
    let reply = ai.generate().prompt(Part::resource(DOCUMENT)).await?.text();
    ensure!(reply.contains("Everything Server"), "{reply}");
    ensure!(client.read_resource("demo://nothing").await.is_err(), "an unknown resource");
    Ok(())
}
