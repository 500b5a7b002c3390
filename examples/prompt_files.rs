//! Prompts in files: `prompts/*.prompt`, with a variant and a partial.
//!
//! Edit a file while a program runs, and its next call uses the new text.

use oxikit::prelude::*;

#[derive(Debug, Deserialize, JsonSchema)]
struct Dish {
    dish: String,
    price: f64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/prompts");
    let prompts = ai.load_prompts(directory)?;
    println!("loaded: {}\n", prompts.loaded.join(", "));

    let options = ai.prompt("menu", json!({ "guests": 4 })).render().await?;
    for message in &options.messages {
        println!("{}: {}", message.role.as_str(), message.text());
    }

    let Dish { dish, price } =
        ai.prompt("menu", json!({ "theme": "trains" })).output::<Dish>().await?.output()?;
    println!("\n{dish} for {price:.2} euros\n");

    println!("{}", ai.prompt("menu.playful", json!({ "theme": "tea" })).await?.text());
    Ok(())
}
