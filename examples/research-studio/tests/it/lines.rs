//! The table of the README with the lines of each agent.

use std::fs;
use std::path::Path;

use research_studio::records::AgentName;

/// Lines of Rust code below a folder, without empty lines, comments and tests.
fn lines(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let code = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        code.lines().filter(is_code).count()
    };
    entries
        .map(|path| match path.extension().and_then(|it| it.to_str()) {
            None if path.is_dir() => lines(&path),
            Some("rs") if !path.ends_with("tests.rs") => code(&path),
            _ => 0,
        })
        .sum()
}

#[test]
fn the_readme_has_the_lines_of_each_agent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    for agent in AgentName::ALL {
        let folder = agent.title().to_lowercase().replace(' ', "_");
        let lines = lines(&root.join("src/agents").join(&folder));
        let row = format!("| `{agent}` | [`src/agents/{folder}`](src/agents/{folder}) | {lines} |");
        assert!(readme.contains(&row), "the README lacks the row\n{row}");
    }
}
