//! Serves the application of the recorded exchanges on 127.0.0.1 and the port of
//! `PORT` (0 takes a free one), and says where.

#![expect(clippy::print_stdout, reason = "whoever started it reads the address")]

use std::future::pending;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let port = std::env::var("PORT").unwrap_or_else(|_| "0".to_owned()).parse()?;
    let server = oxikit_interop_app::server().port(port).bind().await?;
    println!("listening on http://{}", server.local_addr()?);
    // The process runs until the test that started it ends it.
    server.run(pending()).await;
    Ok(())
}
