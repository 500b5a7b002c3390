//! A flow that Genkit's developer tools can show and run.
//!
//! `genkit start -- cargo run --bin dev-tools` starts the tools with this program. Without
//! the tools the program prints an error and ends.

use oxikit::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    ai.define_flow("hello", |name: String, ctx: Context| async move {
        Ok(ctx.generate().prompt(format!("Say hello to {name}.")).await?.text())
    });
    if let Err(error) = oxikit::serve::reflect(&ai).await {
        println!("{error}");
    }
    Ok(())
}
