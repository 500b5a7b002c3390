//! The check of model names before they are sent to a provider.

/// Whether this is a valid name of a model. Names become part of a URL that is called with the
/// application's key, and every caller of `/util/generate` can choose one: so a name must not
/// change the path or the query.
pub(crate) fn is_model_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+".contains(&byte);
    !name.is_empty() && name.bytes().all(is_plain) && name.split('/').all(|step| step != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_path_of_models() {
        assert!(is_model_name("meta-llama/llama-3.3:free"));
        for name in ["", "a b", "a?key=b", "a/../b", "..", "a#b", "a%2e"] {
            assert!(!is_model_name(name), "{name}");
        }
    }
}
