use oxikit::prelude::*;

/// The weather in a city.
#[tool]
async fn weather(city: &str) -> Result<String> {
    Ok(format!("rain in {city}"))
}

fn main() {}
