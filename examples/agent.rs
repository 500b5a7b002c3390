//! A conversation that survives a restart: an agent with a tool, and its sessions in a file.
//!
//! Run it twice: the second run continues the conversation of the first. The file is
//! `.oxikit/examples.db` below the current directory.

use oxikit::prelude::*;
use oxikit::sql::SqliteStore;

/// The state of a session: what a customer has ordered.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Order {
    items: Vec<String>,
}

/// Puts something on the customer's order.
#[tool]
async fn order(
    /// Name of the item to order.
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

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    let agent = ai.define_agent(
        Agent::builder("teashop")
            .system("You take orders in a tea shop.")
            .tool(order())
            .state::<Order>()
            .store(SqliteStore::open(".oxikit/examples.db")?),
    )?;

    let mut chat = agent.chat().in_session("table-7");
    let mut turn = chat.send_stream("Please order \"green tea\".").await?;
    while let Some(chunk) = turn.next().await {
        print!("{}", chunk?.to_text());
    }
    turn.finish().await?;
    println!();

    chat.refresh().await?;
    let items = chat.state::<Order>()?.unwrap_or_default().items;
    println!("table 7 has ordered {} times, {} messages", items.len(), chat.messages().len());

    // A branch: another turn from the same snapshot. The original session is not changed.
    let first = chat.snapshot_id().unwrap_or_default().to_owned();
    let mut other = agent.load_snapshot(first).await?;
    println!("on the branch: {}", other.send("What is on my order?").await?.text());
    Ok(())
}
