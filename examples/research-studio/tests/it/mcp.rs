//! The studio as an MCP server, used by the client of the library; and a studio without its Toolbox.

use oxikit::mcp::McpClient;
use oxikit::prelude::*;
use research_studio::settings::ToolboxSetting;
use research_studio::{App, Settings, tools};

#[tokio::test]
async fn the_tools_of_the_studio_are_used_over_mcp() {
    let program = env!("CARGO_BIN_EXE_research-studio");
    let client = McpClient::spawn(program, ["--mcp"]).await.unwrap();
    let tools = client.tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, tools::NAMES);
    let metadata = tools[0].descriptor().metadata.as_ref().unwrap();
    assert_eq!(metadata["mcp"]["readOnlyHint"], true);
    assert_eq!(metadata["tool"]["readOnly"], true);

    // They are ordinary tools of another application.
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build().unwrap();
    ai.registry().register(client.tool("weather").await.unwrap());
    let call = ai.generate().prompt("Ask weather about \"Lisbon\".").tool_named("weather");
    let text = call.await.unwrap().text();
    assert!(text.contains("\"temperature\":18.0"), "{text}");

    let document = client.tool("readDocument").await.unwrap();
    let read = |path: &str| document.run(oxikit::Call::new(json!({ "path": path })));
    let page: Value = read("handbook.md").await.unwrap().parse().unwrap();
    assert_eq!(page["title"], "Handbook of the studio's own battery");
    let refused = read("../secret").await.unwrap_err();
    assert!(refused.message().contains("is not below the folder of documents"), "{refused}");
    let wrong = document.run(oxikit::Call::new(json!({ "file": 1 }))).await.unwrap_err();
    assert_eq!(wrong.code(), StatusCode::InvalidArgument);
    assert_eq!(client.tool("poem").await.unwrap_err().code(), StatusCode::NotFound);
    // The server has neither.
    assert!(client.prompts().await.unwrap().is_empty());
    assert!(client.resources().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_program_that_is_not_a_server_is_reported() {
    let missing = McpClient::spawn("no-such-program-of-the-studio", [""; 0]).await.unwrap_err();
    assert_eq!(missing.code(), StatusCode::Unavailable);
    let silent = McpClient::spawn("true", [""; 0]).await.unwrap_err();
    assert_eq!(silent.code(), StatusCode::Unavailable);
}

#[tokio::test]
async fn the_studio_goes_on_without_its_toolbox() {
    let toolbox = Some(ToolboxSetting { url: "http://127.0.0.1:1".to_owned(), toolset: None });
    let app = App::build(Settings { toolbox, ..Settings::default() }).await.unwrap();
    assert_eq!(app.database.tools, [] as [String; 0]);
    assert_eq!(
        app.database.state,
        "Toolbox at http://127.0.0.1:1 cannot be reached; going on without"
    );
}
