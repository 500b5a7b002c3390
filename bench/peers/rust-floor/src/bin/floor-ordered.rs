//! The floor with JSON objects that keep the order of their keys.

#[path = "floor.rs"]
mod floor;

fn main() {
    floor::main();
}
