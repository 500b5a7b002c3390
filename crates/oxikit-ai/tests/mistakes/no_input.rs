use oxikit::prelude::*;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("now", async || Ok(1));
}
