//! The JSON that Genkit tools, servers and models exchange, as serde types.
