//! Tools: functions that the model can call, and one that asks a person for approval first.

use oxikit::prelude::*;

/// The weather in a city, today.
#[tool]
async fn weather(
    /// The city's name.
    city: String,
) -> Result<String> {
    Ok(format!("18 degrees and light rain in {city}"))
}

/// Moves money from the household account.
#[tool]
async fn transfer(
    /// Amount in euros.
    amount: f64,
    ctx: Context,
) -> Result<String> {
    match ctx.resumed() {
        Some(_) => Ok(format!("{amount} euros are on their way")),
        // The interrupt ends the call. The tool runs again when a person approves.
        None => Err(interrupt(json!({ "question": format!("Really move {amount} euros?") }))),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    ai.define_tool(weather());
    ai.define_tool(transfer());

    let reply = ai.generate().prompt("Ask weather about \"Lisbon\".").tool_named("weather").await?;
    println!("{}\n", reply.text());

    let reply = ai.generate().prompt("Please transfer 250.").tool_named("transfer").await?;
    let Some(waiting) = reply.interrupts().next() else {
        println!("no tool waits for approval");
        return Ok(());
    };
    println!("waiting: {}", waiting.metadata("interrupt").unwrap_or(&Value::Null));

    let approved = ai
        .generate()
        .messages(reply.messages())
        .tool_named("transfer")
        .restart(restart_of(waiting, json!({ "approved": true })))
        .await?;
    println!("{}", approved.text());
    Ok(())
}
