//! Model providers for oxikit: Gemini, OpenAI and compatible servers, Anthropic, Ollama.
