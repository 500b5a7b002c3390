//! Serves the application to the developer tools, until the process is ended.

#![expect(clippy::print_stdout, reason = "whoever started it sees that it is up")]

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let ai = oxikit_interop_reflection_app::app()?;
    println!("app ready pid {}", std::process::id());
    oxikit_serve::reflect(&ai).await?;
    Ok(())
}
