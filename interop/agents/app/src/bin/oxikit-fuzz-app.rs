//! One of each kind that the OpenAPI document of a server describes, for `cargo xtask
//! fuzz-api`: on 127.0.0.1 and the port of `PORT`, with the key of `APP_KEY`. Says where.

#![expect(clippy::print_stdout, reason = "whoever started it reads the address")]

use std::collections::BTreeMap;
use std::env;
use std::future::pending;
use std::sync::Arc;

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions};
use oxikit_serve::{ApiKey, Expose, Server};

/// An order.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Order {
    /// What is ordered.
    tea: Tea,
    cups: u8,
    sugar: Option<f64>,
    /// Where it is brought.
    table: Option<Table>,
    #[serde(default)]
    notes: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tea {
    Green,
    Black,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Table {
    number: u32,
    guests: Vec<Guest>,
}

/// Guests bring guests.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Guest {
    name: String,
    brings: Vec<Guest>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Bill {
    cents: u64,
    order: Order,
}

/// A piece of an answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Word {
    place: usize,
    text: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    let order = ai.define_flow("order", |order: Order| async move {
        Ok(Bill { cents: 250 * u64::from(order.cups), order })
    });
    let words =
        ai.define_flow("words", |text: String, _: Context, out: Emitter<Word>| async move {
            for (place, word) in text.split_whitespace().take(10).enumerate() {
                out.send(Word { place, text: word.to_owned() }).await?;
            }
            Ok(text.split_whitespace().count())
        });
    let refused = ai.define_flow("refused", |reason: Option<String>| async move {
        Err::<String, _>(Status::failed_precondition(reason.unwrap_or_default()))
    });
    let nothing = ai.define_flow("nothing", |_: ()| async move { Ok(()) });
    let waiter = Agent::builder("waiter").system("You serve tea.").model("offline/demo");
    let waiter = ai.define_agent(waiter.store(MemorySessions::default()))?;
    let guest = Agent::builder("guest").system("You drink tea.").model("offline/demo");
    let guest = ai.define_agent(guest)?;
    let server = Server::new(&ai)
        .expose(&order)
        .expose(Expose::new(&words).durable())
        .expose(&refused)
        .expose(&nothing)
        .expose(&waiter)
        .expose(&guest)
        .stream_store(Arc::new(oxikit_core::ports::memory::MemoryStreams::default()))
        .agents_api()
        .auth(ApiKey::new(env::var("APP_KEY")?))
        .port(env::var("PORT")?.parse()?)
        .bind()
        .await?;
    println!("listening on http://{}", server.local_addr()?);
    // The process runs until the test that started it ends it.
    server.run(pending()).await;
    Ok(())
}
