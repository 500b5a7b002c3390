//! The application of `oxikit start --demo`: flows, tools, a prompt, an agent and an evaluator
//! that need no network and no API key. It is written as an application of a user would be.

use oxikit::prelude::*;
use oxikit::{EvalDataPoint, Evaluator, Score};
use oxikit_serve::Server;
use oxikit_serve::a2a::A2aAgent;
use oxikit_sql::SqliteStore;

use crate::demo_prompts;

/// The name of the hidden command that runs the demo.
pub(crate) const DEMO_COMMAND: &str = "__demo";
/// The database with the sessions of the demo's agent, relative to the working directory.
const SESSIONS: &str = ".oxikit/demo.db";

/// Runs the demo until the developer tools end it.
pub(crate) async fn run_demo() -> std::io::Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();
    let ai = ai.map_err(std::io::Error::other)?;
    define_flows(&ai);
    let prompts = demo_prompts::write(&std::env::current_dir()?)?;
    ai.load_prompts(prompts).map_err(std::io::Error::other)?;
    let sessions = SqliteStore::open(SESSIONS).map_err(std::io::Error::other)?;
    let agent = define_agent(&ai, sessions).map_err(std::io::Error::other)?;
    let serving = tokio::spawn(serve_agent(&ai, &agent).await?);
    let ended = oxikit_serve::reflect(&ai).await;
    serving.abort();
    ended
}

/// Serves the agent over A2A, at a free port of this machine.
async fn serve_agent(
    ai: &Oxikit,
    agent: &Agent,
) -> std::io::Result<impl Future<Output = ()> + Send + use<>> {
    oxikit_serve::init_log();
    let server = Server::new(ai).expose(agent).a2a(A2aAgent::new(agent)).without_operations();
    let server = server.port(0).bind().await?;
    let url = format!("http://{}/a2a/teashop", server.local_addr()?);
    tracing::info!("the agent speaks A2A; try: oxikit a2a chat {url}");
    Ok(server.run(std::future::pending()))
}

/// The weather in a city, today.
#[tool(read_only)]
async fn weather(
    /// The city's name.
    city: String,
) -> Result<String> {
    Ok(format!("18 degrees and light rain in {city}"))
}

/// The structure of the model's output.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Recipe {
    /// The name of the dish.
    title: String,
    /// The duration of the preparation.
    minutes: u32,
    ingredients: Vec<String>,
}

fn define_flows(ai: &Oxikit) {
    ai.define_tool(weather());
    ai.define_flow("hello", |name: String, ctx: Context, out: Emitter<String>| async move {
        let mut answer = ctx.generate().prompt(format!("Say hello to {name}.")).stream();
        while let Some(chunk) = answer.next().await {
            out.send(chunk?.to_text()).await?;
        }
        Ok(answer.finish().await?.text())
    });
    ai.define_flow("recipe", |dish: String, ctx: Context| async move {
        ctx.generate().prompt(format!("A recipe for {dish}.")).output::<Recipe>().await?.output()
    });
    ai.define_flow("umbrella", |city: String, ctx: Context| async move {
        let question = format!("Ask weather about \"{city}\".");
        Ok(ctx.generate().prompt(question).tool(weather()).await?.text())
    });
    // The prompt is a file. The flow uses a changed file in its next run.
    ai.define_flow("joke", |topic: String, ctx: Context| async move {
        Ok(ctx.prompt("joke", json!({ "topic": topic })).await?.text())
    });
    ai.define_flow("broken", |reason: String| async move {
        Err::<String, _>(Status::failed_precondition(reason))
    });
    ai.define_evaluator(
        Evaluator::builder("mentionsInput")
            .display_name("Mentions the input")
            .definition("Passes if the answer holds the words of the input.")
            .handler(|case: EvalDataPoint| async move {
                let output = case.output.map(|output| output.to_string()).unwrap_or_default();
                let input = case.input.as_ref().and_then(Value::as_str).unwrap_or_default();
                let has_passed = output.contains(input);
                let verb = if has_passed { "holds" } else { "does not hold" };
                let reasoning = format!("the answer {verb} \"{input}\"");
                Ok(Score::passed_if(has_passed).with_reasoning(reasoning))
            }),
    );
}

/// The session state: what a guest has ordered.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Order {
    items: Vec<String>,
}

/// Puts something on the guest's order.
#[tool]
async fn order(
    /// What to order.
    item: String,
    ctx: Context,
) -> Result<String> {
    let session = ctx.session().ok_or_else(|| Status::internal("only agents take orders"))?;
    let count = session
        .update(|order: &mut Order| {
            order.items.push(item);
            order.items.len()
        })
        .await?;
    Ok(format!("{count} on the order now"))
}

/// Pays the bill.
#[tool]
async fn pay(
    /// How much, in euros.
    amount: f64,
    ctx: Context,
) -> Result<String> {
    match ctx.resumed() {
        Some(_) => Ok(format!("{amount} euros are paid")),
        // The interrupt ends the turn. The tool runs again when a person approves.
        None => Err(interrupt(json!({"question": format!("Really pay {amount} euros?")}))),
    }
}

fn define_agent(ai: &Oxikit, sessions: SqliteStore) -> Result<Agent> {
    ai.define_agent(
        Agent::builder("teashop")
            .description(
                "Takes orders in a tea shop; say: please order \"green tea\", or: please pay 12.",
            )
            .system("You take orders in a tea shop.")
            .tool(order())
            .tool(pay())
            .state::<Order>()
            .store(sessions),
    )
}
