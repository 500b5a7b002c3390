//! Typed output: the output of the model must match the schema of a Rust type.

use oxikit::prelude::*;

/// The structure of the model's output.
#[derive(Debug, Deserialize, JsonSchema)]
struct Recipe {
    /// The name of the dish.
    title: String,
    /// The duration of the preparation.
    minutes: u32,
    ingredients: Vec<Ingredient>,
    difficulty: Difficulty,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Ingredient {
    name: String,
    grams: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Difficulty {
    Easy,
    Medium,
    Hard,
}

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    let recipe = ai.generate().prompt("A quick soup.").output::<Recipe>().await?.output()?;
    println!("{} ({} minutes, {:?})", recipe.title, recipe.minutes, recipe.difficulty);
    for Ingredient { name, grams } in recipe.ingredients {
        println!("- {name} {}", grams.map(|grams| format!("{grams} g")).unwrap_or_default());
    }

    // One value of an enumeration.
    let mood = ai
        .generate()
        .prompt("Is `what a lovely day` positive or negative?")
        .output_schema(json!({ "type": "string", "enum": ["positive", "negative"] }))
        .output_format("enum")
        .await?
        .output()?;
    println!("mood: {mood}");
    Ok(())
}
