use oxikit::prelude::*;

#[tool]
async fn weather(city: String) -> Result<String> {
    Ok(format!("rain in {city}"))
}

fn main() {}
