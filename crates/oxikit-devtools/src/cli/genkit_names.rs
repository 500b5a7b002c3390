//! The spellings of the official command line.

use std::ffi::OsString;

/// What the official tools call our commands.
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

/// The words of the command line with our spelling of the command. Any other pair
/// with a colon, such as `agent:chat`, is taken apart too.
pub(super) fn translate(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_command = |word: &OsString| {
        let word = word.to_string_lossy();
        let name = |part: &str| !part.is_empty() && part.chars().all(char::is_alphabetic);
        word.split_once(':').is_some_and(|(group, command)| name(group) && name(command))
    };
    // Only the command itself: an input may have a colon too.
    let place = words.iter().skip(1).position(|word| !word.to_string_lossy().starts_with('-'));
    let Some(place) = place.map(|place| place + 1).filter(|place| is_command(&words[*place]))
    else {
        return words;
    };
    let word = words[place].to_string_lossy().into_owned();
    let known =
        NAMES.iter().find(|(name, _)| *name == word).map(|(_, ours)| ours.map(str::to_owned));
    let parts = known.or_else(|| {
        word.split_once(':').map(|(group, command)| [group.to_owned(), command.to_owned()])
    });
    words.splice(place..=place, parts.into_iter().flatten().map(OsString::from));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words = line.split(' ').map(OsString::from).collect();
        let words: Vec<_> =
            translate(words).into_iter().map(|word| word.into_string().unwrap()).collect();
        assert_eq!(words.join(" "), expected);
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
