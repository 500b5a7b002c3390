use oxikit::prelude::*;

struct Receipt;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("order", async |_: String| Ok(Receipt));
}
