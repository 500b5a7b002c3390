//! Runs the published conformance data against oxikit.

fn main() {}
