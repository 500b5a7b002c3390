//! The floor that stores every edit of a document in SQLite before it answers.

#[path = "floor/main.rs"]
mod floor;

fn main() {
    floor::main();
}
