use oxikit::prelude::*;

fn main() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("greet", |name: String| Ok(format!("Hello, {name}!")));
}
