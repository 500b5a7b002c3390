//! Runs the research studio: `cargo run -p research-studio`.

use anyhow::Result;
use clap::Parser;
use research_studio::records::AgentName;
use research_studio::settings::StoreSetting;
use research_studio::{App, Settings, Studio};

/// Eight agents over A2A and twelve flows over HTTP.
#[derive(Debug, Parser)]
struct Args {
    /// Run only this agent, without the flows; may be repeated.
    #[arg(long, value_name = "AGENT")]
    only: Vec<AgentName>,
    /// The port: of the one agent of `--only`, else of the flows.
    #[arg(long)]
    port: Option<u16>,
    /// Serve the web and file tools over MCP on the standard input and output, and nothing else.
    #[arg(long)]
    mcp: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let mut settings = Settings::from_env()?;
    oxikit::serve::init_log();
    if args.mcp {
        // The tools have no conversations.
        settings.store = StoreSetting::Memory;
        let app = App::build(settings).await?;
        return Ok(research_studio::mcp::server(&app).serve_stdio().await?);
    }
    if args.only.is_empty() {
        settings.port = args.port.unwrap_or(settings.port);
        run_all(settings).await
    } else {
        run_some(settings, &args).await
    }
}

async fn run_all(settings: Settings) -> Result<()> {
    let studio = Studio::start_all(settings).await?;
    let flows = studio.flow_server()?;
    let port = studio.app.settings.port;
    println!("{}\nflows:    http://127.0.0.1:{port}, described at /docs", studio.summary());
    flows.serve().await?;
    studio.stop().await;
    Ok(())
}

async fn run_some(settings: Settings, args: &Args) -> Result<()> {
    let mut studio = Studio::start(settings, &[]).await?;
    for name in &args.only {
        let port = match (args.port, args.only.len()) {
            (Some(port), 1) => port,
            _ => studio.app.settings.agent_port(*name),
        };
        studio.serve_agent(*name, port).await?;
    }
    println!("{}", studio.summary());
    studio.run().await?;
    Ok(())
}
