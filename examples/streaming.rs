//! Streams: text as it arrives, and objects as they are completed.

use oxikit::prelude::*;

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only printed")]
struct Character {
    name: String,
    strength: u8,
}

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;

    let mut story = ai.generate().prompt("Tell me a story about a crab.").stream();
    while let Some(chunk) = story.next().await {
        print!("{}", chunk?.to_text());
    }
    println!("\nstopped because of: {:?}\n", story.finish().await?.finish_reason());

    let mut cast = ai
        .generate()
        .prompt("Three characters for it.")
        .output::<Vec<Character>>()
        .output_format("array")
        .stream();
    while cast.next().await.is_some() {
        if let Some(Value::Array(new)) = cast.partial_output()
            && !new.is_empty()
        {
            println!("so far: {new:?}");
        }
    }
    println!("all: {:?}", cast.finish().await?.output()?);
    Ok(())
}
