//! Proof that this server is the one that a file names.
//!
//! A command finds the server by a file. Another program may listen there by now, or the
//! file may not be ours. Before a command sends its token, or anything else, it sends a
//! random challenge; only a server that has the same token can answer it, and neither
//! the challenge nor the answer tells the token.

use aws_lc_rs::hmac;
use axum::http::HeaderName;
use uuid::Uuid;

use crate::manager::Token;

/// The header of a request with a challenge.
pub(crate) const CHALLENGE: HeaderName = HeaderName::from_static("x-oxikit-challenge");
/// The header of the answer.
pub(crate) const PROOF: HeaderName = HeaderName::from_static("x-oxikit-proof");
/// What the key is used for: no other answer of a server is a proof.
const PURPOSE: &str = "oxikit developer tools\n";
/// The number of characters of a challenge.
const CHALLENGE_LENGTH: usize = 64;

/// A new challenge, of more than 128 random bits.
pub(crate) fn challenge() -> String {
    [Uuid::new_v4(), Uuid::new_v4()].map(|part| part.simple().to_string()).concat()
}

/// The answer to a challenge; `None` if it is not one.
pub(crate) fn prove(token: &Token, challenge: &str) -> Option<String> {
    let is_challenge = challenge.len() == CHALLENGE_LENGTH
        && challenge.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_challenge.then(|| hex(hmac::sign(&key(token), message(challenge).as_bytes()).as_ref()))
}

/// Whether an answer was made with this token.
pub(crate) fn is_proven(token: &Token, challenge: &str, proof: &str) -> bool {
    prove(token, challenge).is_some_and(|expected| {
        subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), proof.as_bytes()).into()
    })
}

fn key(token: &Token) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, token.reveal().as_bytes())
}

fn message(challenge: &str) -> String {
    format!("{PURPOSE}{challenge}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_proves_a_challenge() {
        let (token, other, first) = (Token::random(), Token::random(), challenge());
        let proof = prove(&token, &first).unwrap();
        assert!(is_proven(&token, &first, &proof));
        assert!(!is_proven(&other, &first, &proof));
        assert!(!is_proven(&token, &challenge(), &proof));
        assert!(!is_proven(&token, &first, ""));
        assert!(!proof.contains(token.reveal()));
        for text in ["", "x", &"é".repeat(32), &"0".repeat(65)] {
            assert_eq!(prove(&token, text), None, "{text}");
        }
    }
}
