//! Translates the command names of the Genkit CLI, such as `flow:run`, to ours.

use std::ffi::OsString;

/// The names of the Genkit CLI, and our commands.
const NAMES: [(&str, [&str; 2]); 8] = [
    ("flow:run", ["flow", "run"]),
    ("flow:batchRun", ["flow", "batch"]),
    ("eval:flow", ["eval", "run"]),
    ("eval:run", ["eval", "judge"]),
    ("eval:extractData", ["eval", "extract"]),
    ("trace:list", ["trace", "list"]),
    ("trace:get", ["trace", "show"]),
    ("log:list", ["log", "list"]),
];

/// Replaces the command name in the arguments. Any other pair with a colon, such as
/// `agent:chat`, is split too.
pub(super) fn translate(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_command = |argument: &OsString| {
        let argument = argument.to_string_lossy();
        let name = |part: &str| !part.is_empty() && part.chars().all(char::is_alphabetic);
        argument.split_once(':').is_some_and(|(group, command)| name(group) && name(command))
    };
    // Only the first argument that is not a flag is the command. Later ones, such as inputs,
    // may contain colons.
    let place =
        arguments.iter().skip(1).position(|argument| !argument.to_string_lossy().starts_with('-'));
    let Some(place) = place.map(|place| place + 1).filter(|place| is_command(&arguments[*place]))
    else {
        return arguments;
    };
    let argument = arguments[place].to_string_lossy().into_owned();
    // Some names differ in more than the colon, so the table comes first.
    let known =
        NAMES.iter().find(|(name, _)| *name == argument).map(|(_, ours)| ours.map(str::to_owned));
    let parts = known.or_else(|| {
        argument.split_once(':').map(|(group, command)| [group.to_owned(), command.to_owned()])
    });
    arguments.splice(place..=place, parts.into_iter().flatten().map(OsString::from));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let arguments = line.split(' ').map(OsString::from).collect();
        let arguments: Vec<_> = translate(arguments)
            .into_iter()
            .map(|argument| argument.into_string().unwrap())
            .collect();
        assert_eq!(arguments.join(" "), expected);
    }

    #[test]
    fn the_official_spellings_are_ours() {
        check("oxikit flow:run hello 1", "oxikit flow run hello 1");
        check("oxikit --json flow:batchRun f x.json", "oxikit --json flow batch f x.json");
        check("oxikit trace:get 1", "oxikit trace show 1");
        check("oxikit trace:list", "oxikit trace list");
        check("oxikit log:list", "oxikit log list");
        check("oxikit eval:flow f --input x", "oxikit eval run f --input x");
        check("oxikit eval:run x.json", "oxikit eval judge x.json");
        check("oxikit eval:extractData f", "oxikit eval extract f");
        check("oxikit agent:chat teashop", "oxikit agent chat teashop");
    }

    #[test]
    fn other_words_stay() {
        for line in ["oxikit", "oxikit start -- a:b", "oxikit flow run a:b", "oxikit http://x/y"] {
            check(line, line);
        }
    }
}
