//! Build AI flows, tools, prompts and agents: Genkit for Rust.
