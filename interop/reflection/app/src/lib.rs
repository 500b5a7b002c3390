//! The actions of `../js/app.mjs` on oxikit: one of every kind that the developer
//! tools know.

mod agents;
mod flows;
mod model;

use oxikit::middleware::Middleware;
use oxikit::prelude::*;
use oxikit::{EmbedRequest, Embedder, EvalDataPoint, Evaluator, Score};

/// The application.
pub fn app() -> Result<Oxikit> {
    let ai = Oxikit::builder().default_model(model::NAME).build()?;
    ai.define_model(model::echo());
    ai.define_tool(add());
    ai.define_tool(Tool::interrupt::<Question>("askUser", "asks the user"));
    ai.define_prompt(
        Prompt::builder("hello")
            .description("says hello")
            .model(model::NAME)
            .input::<Who>()
            .default_input(json!({ "who": "world" }))
            .prompt("Hello fixed"),
    )?;
    ai.define_schema::<flows::Greeting>("Greeting");
    ai.define_embedder(
        Embedder::builder("echo/embed").label("Echo embedder").dimensions(2).handler(
            |request: EmbedRequest| async move {
                Ok(request.input.iter().map(|_| vec![0.0, 1.0]).collect::<Vec<Vec<f32>>>())
            },
        ),
    );
    ai.define_evaluator(length_eval());
    ai.define_middleware("shout", "upper-cases the reply", |_: ShoutOptions| Shout);
    flows::define(&ai);
    agents::define(&ai)?;
    Ok(ai)
}

/// adds two numbers
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    #[expect(dead_code, reason = "for the one who is asked")]
    question: String,
}

#[derive(JsonSchema)]
struct Who {
    #[expect(dead_code, reason = "the prompt says the same to everybody")]
    #[schemars(default = "world")]
    who: String,
}

fn world() -> String {
    "world".to_owned()
}

fn length_eval() -> Evaluator {
    Evaluator::builder("lengthEval")
        .display_name("Length")
        .definition("score = output length")
        .handler(|point: EvalDataPoint| async move {
            let output = point.output.unwrap_or_default();
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            Ok(Score::of(text.len() as f64).with_reasoning("len"))
        })
}

#[derive(Deserialize, JsonSchema)]
struct ShoutOptions {
    #[expect(dead_code, reason = "nobody calls it; the tools list it")]
    bang: Option<bool>,
}

/// Only there to be listed.
struct Shout;

impl Middleware for Shout {}
