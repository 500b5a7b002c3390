use oxikit::prelude::*;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("greet", async |name: String| format!("Hello, {name}!"));
}
