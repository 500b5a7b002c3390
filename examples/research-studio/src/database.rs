//! The tools of a database, from MCP Toolbox. The studio goes on without them.

use oxikit::mcp::McpClient;
use oxikit::prelude::*;

use crate::settings::ToolboxSetting;

/// The tools that were loaded, and why there are none if there are none.
#[derive(Debug, Clone, Default)]
pub struct Database {
    /// Names of the tools in the application.
    pub tools: Vec<String>,
    /// For people.
    pub state: String,
}

impl Database {
    /// Loads the tools of a Toolbox into the application, those of one set if it is named. A Toolbox
    /// that cannot be reached is logged.
    pub async fn load(ai: &Oxikit, setting: Option<&ToolboxSetting>) -> Self {
        let Some(setting) = setting else {
            return Self { tools: Vec::new(), state: "none; TOOLBOX_URL names one".to_owned() };
        };
        match load(ai, setting).await {
            Ok(tools) => {
                let state = format!("{} tools of Toolbox at {}", tools.len(), setting.url);
                Self { tools, state }
            }
            Err(error) => {
                tracing::warn!(url = %setting.url, %error, "the tools of the database are missing");
                let state =
                    format!("Toolbox at {} cannot be reached; going on without", setting.url);
                Self { tools: Vec::new(), state }
            }
        }
    }

    /// Offers the tools to a call of a model.
    pub fn offer<T>(&self, call: oxikit::Generate<T>) -> oxikit::Generate<T> {
        self.tools.iter().fold(call, |call, name| call.tool_named(name))
    }
}

async fn load(ai: &Oxikit, setting: &ToolboxSetting) -> Result<Vec<String>> {
    let base = setting.url.trim_end_matches('/');
    let url = match &setting.toolset {
        Some(toolset) => format!("{base}/mcp/{toolset}"),
        None => format!("{base}/mcp"),
    };
    let tools = McpClient::connect(&url).await?.tools().await?;
    let names = tools.iter().map(|tool| tool.name().to_owned()).collect();
    for tool in tools {
        ai.registry().register(tool);
    }
    Ok(names)
}
