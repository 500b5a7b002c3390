//! Two small flows: one lets the model call a tool, the other returns a typed answer.

use oxikit::Action;
use oxikit::prelude::*;

use crate::App;
use crate::research::checked;
use crate::tools::weather::{self, Weather};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WeatherRequest {
    pub city: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeatherReport {
    pub measured: Weather,
    /// A sentence of the model, which has called the tool `weather` itself.
    pub text: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecipeRequest {
    /// What to cook with.
    pub ingredients: Vec<String>,
    #[serde(default = "two")]
    pub guests: u32,
}

fn two() -> u32 {
    2
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recipe {
    pub title: String,
    pub minutes: u32,
    pub ingredients: Vec<String>,
    pub steps: Vec<String>,
}

pub(super) fn define(app: &App) -> Result<Vec<Action>> {
    let of_app = app.clone();
    let weather = app.ai.define_flow("weather", move |input: WeatherRequest, ctx: Context| {
        let app = of_app.clone();
        async move { report(&app, &ctx, checked(&input.city)?).await }
    });
    app.ai.define_prompt_text("recipe", include_str!("small/recipe.prompt"))?;
    let recipe = app.ai.define_flow("recipe", |input: RecipeRequest, ctx: Context| async move {
        ctx.prompt("recipe", &input).output::<Recipe>().await?.output()
    });
    Ok(vec![weather.action().clone(), recipe.action().clone()])
}

async fn report(app: &App, ctx: &Context, city: &str) -> Result<WeatherReport> {
    let measured = weather::of_city(&app.web, app.places.weather.clone(), city).await?;
    let reply = ctx
        .generate()
        .prompt(format!("Ask the tool weather about \"{city}\" and tell me what to wear."))
        .tool_named("weather")
        .await?;
    Ok(WeatherReport { measured, text: reply.text() })
}
