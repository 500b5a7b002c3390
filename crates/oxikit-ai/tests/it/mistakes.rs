//! The compiler's messages about common mistakes: each program of `tests/mistakes` must be
//! refused with the text beside it. `TRYBUILD=overwrite` writes these texts anew; read
//! them as somebody who sees the library for the first time.

#[test]
fn the_compiler_says_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
