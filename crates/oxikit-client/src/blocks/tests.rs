//! Blocks of every accepted form, in one piece and byte by byte.

use proptest::prelude::*;

use super::*;

type Read = Vec<Result<(BlockKind, String), BlockError>>;

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Read {
    let mut blocks = Blocks::new(limit);
    for piece in pieces {
        blocks.push(piece);
    }
    blocks.finish();
    let text = |block: Block| (block.kind, String::from_utf8(block.text.to_vec()).unwrap());
    std::iter::from_fn(|| blocks.next()).map(|block| block.map(text)).collect()
}

#[track_caller]
fn check(stream: &str, expected: &[(BlockKind, &str)]) {
    let expected: Read = expected.iter().map(|(kind, text)| Ok((*kind, (*text).into()))).collect();
    assert_eq!(read([stream.as_bytes()], 1000), expected, "{stream:?}");
    assert_eq!(read(stream.as_bytes().chunks(1), 1000), expected, "{stream:?}, byte by byte");
}

use BlockKind::{Data, Error};

#[test]
fn blocks_of_all_dialects_are_found() {
    check("data: 1\n\ndata: 2\n\n", &[(Data, " 1"), (Data, " 2")]);
    check("data:1\r\n\r\nerror:2\r\n\r\n", &[(Data, "1"), (Error, "2")]);
    check("\u{feff}data: 1\n\n\n\ndata: 2\n\n", &[(Data, " 1"), (Data, " 2")]);
    check(": ping\n\ndata: 1\n: ping\n\n", &[(Data, " 1")]);
    check("id: 4\nretry: 9\nevent: message\ndata: 1\n\n", &[(Data, " 1")]);
    check("event: error\ndata: 1\n\n", &[(Error, " 1")]);
    check("data: {\n \"a\": 1\n}\n\n", &[(Data, " {\n \"a\": 1\n}")]);
    check("data: {\ndata: }\n\n", &[(Data, " {\n }")]);
    check("data: 1\n\nEND", &[(Data, " 1")]);
    check("data: 1\n\nEND\n\n", &[(Data, " 1")]);
    check("{\"result\":1}", &[(Data, "{\"result\":1}")]);
}

#[test]
fn a_last_block_without_its_empty_line_counts_if_it_is_whole() {
    check("data: {\"a\":1}", &[(Data, " {\"a\":1}")]);
    check("data: {\"a\":1}\n", &[(Data, " {\"a\":1}")]);
    check("data: {\"a\":1}\r\n\r", &[(Data, " {\"a\":1}")]);
    check("data: {\"a\":", &[]);
    check("data: {\"a\":\n", &[]);
    check("dat", &[]);
    check("", &[]);
}

#[test]
fn what_is_no_block_is_garbage() {
    assert_eq!(read([&b"<html>\n<p>\n\n"[..]], 1000), [Err(BlockError::Garbage)]);
    assert_eq!(read([&b"<html>\n</html>"[..]], 1000), [Err(BlockError::Garbage)]);
    let good = Ok((Data, " 1".to_owned()));
    assert_eq!(
        read([&b"data: 1\n\nwhat\n\ndata: 2\n\n"[..]], 1000),
        [good, Err(BlockError::Garbage)]
    );
}

#[test]
fn a_block_over_the_limit_ends_the_reading_before_it_is_kept() {
    let large = format!("data: {}\n\ndata: 1\n\n", "x".repeat(100));
    assert_eq!(read([large.as_bytes()], 50), [Err(BlockError::TooLarge)]);
    assert_eq!(read(large.as_bytes().chunks(7), 50), [Err(BlockError::TooLarge)]);
    let many_lines = "data: 1\n".repeat(100);
    assert_eq!(read([many_lines.as_bytes()], 50), [Err(BlockError::TooLarge)]);
    let mut blocks = Blocks::new(50);
    for _ in 0..1000 {
        blocks.push(&[b'x'; 1000]);
        assert!(blocks.line.capacity() <= 1000);
    }
}

#[test]
fn bytes_that_are_no_utf8_are_replaced() {
    assert_eq!(read([&b"data: \"\xff\"\n\n"[..]], 100), [Ok((Data, " \"\u{fffd}\"".to_owned()))]);
}

/// Text that is often nearly a stream.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"error:".to_vec()),
        Just(b"event: error".to_vec()),
        Just(b"{\"message\":\"\xc3\xa4\xf0\x9f\xa6\x80\"}".to_vec()),
        Just(b"{\n \"result\": null\n}".to_vec()),
        Just(b": ping".to_vec()),
        Just(b"END".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_split_of_a_stream_gives_the_same_blocks(
        stream in streams(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        limit in 1_usize..200,
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]);
        prop_assert_eq!(read(pieces, limit), read([&stream[..]], limit));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(stream in prop::collection::vec(any::<u8>(), 0..300)) {
        read(stream.chunks(3), 64);
    }
}
