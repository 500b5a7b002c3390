use oxikit::prelude::*;

struct Order;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("order", async |_: Order| Ok(1));
}
