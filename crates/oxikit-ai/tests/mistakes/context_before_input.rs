use oxikit::prelude::*;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("greet", async |_: Context, name: String| Ok(format!("Hello, {name}!")));
}
