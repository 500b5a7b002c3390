//! Prompt files: front matter, picoschema and Handlebars templates that render to messages.
