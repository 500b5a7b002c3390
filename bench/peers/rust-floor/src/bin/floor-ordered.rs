//! The floor with JSON objects that keep the order of their keys.

#[path = "floor/main.rs"]
mod floor;

fn main() {
    floor::main();
}
