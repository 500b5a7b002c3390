use oxikit::prelude::*;

/// The sum of numbers.
#[tool]
async fn sum(numbers: &[i64]) -> Result<i64> {
    Ok(numbers.iter().sum())
}

fn main() {}
