use oxikit::prelude::*;

struct Progress;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("order", async |n: u32, _: Context, _: Emitter<Progress>| Ok(n));
}
