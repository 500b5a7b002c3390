//! Ids as they are stored.

/// Ids of OpenTelemetry are bytes, written as hexadecimal digits of either case: a trace has
/// 32 of them, a span 16. Any other id is a text of its own.
pub(super) fn stored_id(id: &str) -> String {
    let is_bytes = matches!(id.len(), 16 | 32) && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_bytes { id.to_ascii_lowercase() } else { id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_bytes_have_one_case_and_other_ids_keep_theirs() {
        let check = |id: &str, expected: &str| assert_eq!(stored_id(id), expected);
        check("0AF7651916CD43DD8448EB211C80319C", "0af7651916cd43dd8448eb211c80319c");
        check("B7AD6B7169203331", "b7ad6b7169203331");
        check("ABC", "ABC");
        check("0AF7651916CD43DD8448EB211C80319X", "0AF7651916CD43DD8448EB211C80319X");
    }
}
