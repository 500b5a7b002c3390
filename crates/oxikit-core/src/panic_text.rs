//! The text of a panic.

use std::any::Any;

/// The message of a panic that was caught; `no message` if it has none.
///
/// ```
/// use oxikit_core::panic_text;
///
/// let panic = std::panic::catch_unwind(|| panic!("no luck")).unwrap_err();
/// assert_eq!(panic_text(&*panic), "no luck");
/// ```
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    // `panic!` carries a `&str` if it has no arguments, and else a `String`.
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_whatever_a_panic_carries() {
        #[track_caller]
        fn check(panic: Box<dyn Any + Send>, expected: &str) {
            assert_eq!(panic_text(&*panic), expected);
        }
        check(Box::new("plain"), "plain");
        check(Box::new("with 1 argument".to_owned()), "with 1 argument");
        check(Box::new(7), "no message");
    }
}
