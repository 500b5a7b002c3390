//! A flow that asks a model and streams the answer.
//!
//! `cargo run --bin hello [name]` needs no API key and no network, because the model is
//! `offline/demo`. To use a provider, change only the line that selects the plugin and the
//! model.

use oxikit::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;

    let hello =
        ai.define_flow("hello", |name: String, ctx: Context, out: Emitter<String>| async move {
            let mut answer = ctx.generate().prompt(format!("Say hello to {name}.")).stream();
            while let Some(chunk) = answer.next().await {
                out.send(chunk?.to_text()).await?;
            }
            Ok(answer.finish().await?.text().len())
        });

    let name = std::env::args().nth(1).unwrap_or_else(|| "Ada".to_owned());
    let mut run = hello.stream(name)?;
    while let Some(text) = run.next().await {
        print(&text?);
    }
    println!("\n({} bytes streamed)", run.finish().await?);
    Ok(())
}

/// Prints text without waiting for the end of the line.
fn print(text: &str) {
    use std::io::Write;
    print!("{text}");
    let _ = std::io::stdout().flush();
}
