use oxikit::prelude::*;

async fn example(ai: Oxikit) -> Result<u32> {
    let double = ai.define_flow("double", async |n: u32| Ok(n * 2));
    double.run("three").await
}

fn main() {}
