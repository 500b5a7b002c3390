//! A flow that greets.

fn main() {}
