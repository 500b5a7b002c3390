use oxikit::prelude::*;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("number", async |text: String| text.parse::<u32>());
}
