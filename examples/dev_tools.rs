//! A flow to be looked at and run by Genkit's developer tools.
//!
//! `genkit start -- cargo run --bin dev-tools` opens them; without them the
//! program says so and ends.

use oxikit::prelude::*;

#[tokio::main]
async fn main() {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();
    ai.define_flow("hello", |name: String, ctx: Context| async move {
        Ok(ctx.generate().prompt(format!("Say hello to {name}.")).await?.text())
    });
    if let Err(error) = oxikit_serve::reflect(&ai).await {
        println!("{error}");
    }
}
