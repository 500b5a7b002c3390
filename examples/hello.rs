//! A flow that asks a model and streams the answer.
//!
//! `cargo run --bin hello [name]`: no key and no network needed, because the
//! model is `offline/demo`. With a provider plugin and its key, only the two
//! lines that name the model change.

use oxikit::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();

    let hello =
        ai.define_flow("hello", |name: String, ctx: Context, out: Emitter<String>| async move {
            let mut answer = ctx.generate().prompt(format!("Say hello to {name}.")).stream();
            while let Some(chunk) = answer.next().await {
                out.send(chunk.to_text()).await?;
            }
            Ok(answer.finish().await?.text().len())
        });

    let name = std::env::args().nth(1).unwrap_or_else(|| "Ada".to_owned());
    let mut run = hello.stream(name)?;
    while let Some(text) = run.next().await {
        print(&text);
    }
    println!("\n({} bytes streamed)", run.output().await?);
    Ok(())
}

/// Shows each piece at once.
fn print(text: &str) {
    use std::io::Write;
    print!("{text}");
    let _ = std::io::stdout().flush();
}
