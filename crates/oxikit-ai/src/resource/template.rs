//! URI templates, as much of RFC 6570 as naming resources needs: literal text
//! and `{name}`. They are only matched here, never expanded.

use std::collections::BTreeMap;

use oxikit_core::{Result, Status};

/// Maximum bytes of a template.
const MAX_BYTES: usize = 2048;

/// A URI with variables in it, such as `file://{path}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    /// Text before the first variable.
    prefix: String,
    /// Every variable with the text after it.
    variables: Vec<(String, String)>,
}

impl Template {
    /// Parses a template. Two variables side by side are rejected, because the end of the first
    /// would be ambiguous; so is a name that is used twice.
    pub(crate) fn parse(template: &str) -> Result<Self> {
        let refuse = |why: &str| {
            Status::invalid_argument(format!("`{template}` is not a URI template: {why}"))
        };
        if template.len() > MAX_BYTES {
            return Err(Status::invalid_argument(format!(
                "a URI template has {MAX_BYTES} bytes at most"
            )));
        }
        let mut pieces = template.split('{');
        let prefix = pieces.next().unwrap_or_default();
        let mut variables: Vec<(String, String)> = Vec::new();
        for piece in pieces {
            let (name, literal) =
                piece.split_once('}').ok_or_else(|| refuse("a `{` is not closed"))?;
            if !is_name(name) {
                return Err(refuse(
                    "a variable is a name of letters, digits, `_` and `.` in braces",
                ));
            }
            if variables.iter().any(|(known, _)| known == name) {
                return Err(refuse("a variable is used twice"));
            }
            if variables.last().is_some_and(|(_, before)| before.is_empty()) {
                return Err(refuse("two variables need text between them"));
            }
            variables.push((name.to_owned(), literal.to_owned()));
        }
        let mut literals = variables.iter().map(|(_, literal)| literal.as_str());
        if prefix.contains('}') || literals.any(|literal| literal.contains('}')) {
            return Err(refuse("a `}` is not opened"));
        }
        Ok(Self { prefix: prefix.to_owned(), variables })
    }

    /// The variables of a URI that fits; `None` if it does not fit.
    ///
    /// A variable stands for one character or more, and ends where the text
    /// after it is found first; only the last one reaches as far as it can.
    /// As in the official runtimes it may hold a `/`. Percent codes are decoded.
    pub(crate) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut rest = uri.strip_prefix(&*self.prefix)?;
        let Some((last, others)) = self.variables.split_last() else {
            return rest.is_empty().then(BTreeMap::new);
        };
        let mut found = BTreeMap::new();
        for (name, literal) in others {
            let first = rest.chars().next()?.len_utf8();
            let end = first + rest[first..].find(&**literal)?;
            found.insert(name.clone(), decode(&rest[..end]));
            rest = &rest[end + literal.len()..];
        }
        let (name, literal) = last;
        let value = rest.strip_suffix(&**literal).filter(|value| !value.is_empty())?;
        found.insert(name.clone(), decode(value));
        Some(found)
    }

    /// Number of literal bytes of the template. Of two templates that match, the one with more
    /// is used.
    pub(crate) fn literal_len(&self) -> usize {
        let literals = self.variables.iter().map(|(_, literal)| literal.len());
        self.prefix.len() + literals.sum::<usize>()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
}

/// Decodes percent codes. Invalid codes stay as they are; if the result would not be UTF-8, the
/// whole text does.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = after;
                }
                _ => bytes.push(byte),
            },
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let found = Template::parse(template).unwrap().matches(uri);
        let expected = expected.map(|variables| {
            let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
            variables.iter().map(owned).collect()
        });
        assert_eq!(found, expected, "{template} {uri}");
    }

    #[test]
    fn a_variable_ends_where_the_text_after_it_begins() {
        check("file://{path}", "file://a.txt", Some(&[("path", "a.txt")]));
        check("file://{path}", "file://a/b.txt", Some(&[("path", "a/b.txt")]));
        check("my://{a}/x/{b}", "my://1/x/2", Some(&[("a", "1"), ("b", "2")]));
        check("my://{a}/{b}", "my://1/2/3", Some(&[("a", "1"), ("b", "2/3")]));
        check("{name}.txt", "x.txt.txt", Some(&[("name", "x.txt")]));
        check("a{x}aab", "aaaaaab", Some(&[("x", "aaa")]));
        check("u://{user.id}/é", "u://7/é", Some(&[("user.id", "7")]));
        check("u://{a}/{b}", "u://é/ü", Some(&[("a", "é"), ("b", "ü")]));
    }

    #[test]
    fn a_uri_that_does_not_fit_has_no_variables() {
        check("file://{path}", "file://", None);
        check("file://{path}", "http://a", None);
        check("my://{a}/x/{b}", "my://1/y/2", None);
        check("my://{a}/end", "my://1/end/more", None);
        check("my://{a}/{b}", "my:///2", None);
        check("plain://text", "plain://text/more", None);
    }

    #[test]
    fn text_without_variables_fits_itself() {
        check("plain://text", "plain://text", Some(&[]));
    }

    #[test]
    fn percent_codes_are_decoded_and_broken_ones_kept() {
        check("f://{p}", "f://a%20b", Some(&[("p", "a b")]));
        check("f://{p}", "f://%C3%A9", Some(&[("p", "é")]));
        check("f://{p}", "f://100%", Some(&[("p", "100%")]));
        check("f://{p}", "f://%zz%2", Some(&[("p", "%zz%2")]));
        check("f://{p}", "f://%FF", Some(&[("p", "%FF")]));
    }

    #[test]
    fn an_ambiguous_or_invalid_template_is_rejected() {
        for template in ["a{b", "a}b", "a{b}c}", "{a}{b}", "{a}/{a}", "{}", "{+a}", "{a,b}"] {
            assert!(Template::parse(template).is_err(), "{template}");
        }
        assert!(Template::parse(&"x".repeat(MAX_BYTES + 1)).is_err());
    }
}
