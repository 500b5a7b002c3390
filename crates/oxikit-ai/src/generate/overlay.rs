//! Puts the options of a caller on top of those of a prompt.

use oxikit_wire::GenerateActionOptions;
use serde_json::Value;

/// The options of a prompt, overridden by those of the caller. The configuration is merged
/// member by member and tools are added; everything else of the caller replaces the prompt's.
pub(super) fn overlay(
    mut base: GenerateActionOptions,
    over: GenerateActionOptions,
) -> GenerateActionOptions {
    base.config = match (base.config, over.config) {
        (Some(Value::Object(mut base)), Some(Value::Object(over))) => {
            base.extend(over);
            Some(Value::Object(base))
        }
        (base, over) => over.or(base),
    };
    let join = |base: Option<Vec<_>>, over: Option<Vec<_>>| match (base, over) {
        (Some(mut base), Some(over)) => {
            base.extend(over);
            Some(base)
        }
        (base, over) => base.or(over),
    };
    GenerateActionOptions {
        model: over.model.or(base.model),
        tools: join(base.tools, over.tools),
        tool_choice: over.tool_choice.or(base.tool_choice),
        docs: over.docs.or(base.docs),
        output: over.output.or(base.output),
        resume: over.resume,
        return_tool_requests: over.return_tool_requests.or(base.return_tool_requests),
        max_turns: over.max_turns.or(base.max_turns),
        step_name: over.step_name.or(base.step_name),
        middleware: over.middleware.or(base.middleware),
        ..base
    }
}
