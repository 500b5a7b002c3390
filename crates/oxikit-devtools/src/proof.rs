//! A challenge and response by which a server proves that it is the one that a file names.
//!
//! A command finds the server by [`ManagerFile`](crate::ManagerFile). Another program may listen
//! on its port by now, or another program may have written the file. Before a command sends its
//! token, or anything else, it sends a random challenge. Only a server with the same token can
//! answer it (HMAC-SHA-256 of the challenge), and neither challenge nor response reveals the
//! token.
//!
//! A server sends the proof with `GET /`, which needs no token. A new challenge per request
//! prevents that a recorded proof is used again.
//!
//! ```
//! use oxikit_devtools::proof::{challenge, is_proven, prove};
//! use oxikit_http::Token;
//!
//! let token = Token::random();
//! let challenge = challenge();
//! let proof = prove(&token, &challenge).unwrap();
//! assert!(is_proven(&token, &challenge, &proof));
//! ```

use aws_lc_rs::hmac;
use axum::http::HeaderName;
use oxikit_wire::headers;
use uuid::Uuid;

use oxikit_http::Token;

/// The header of a request with a challenge.
pub const CHALLENGE: HeaderName = HeaderName::from_static(headers::CHALLENGE);
/// The header of the response with the proof. It is missing if the request has no valid challenge.
pub const PROOF: HeaderName = HeaderName::from_static(headers::PROOF);
/// The beginning of each signed message, so that no other use of the key yields a proof.
const PURPOSE: &str = "oxikit developer tools\n";
/// The number of characters of a challenge.
const CHALLENGE_LENGTH: usize = 64;

/// A new challenge, of more than 128 random bits.
pub fn challenge() -> String {
    [Uuid::new_v4(), Uuid::new_v4()].map(|part| part.simple().to_string()).concat()
}

/// The proof for a challenge, 64 hexadecimal digits; `None` if the text does not have the form of a
/// challenge. Other texts are not signed, so that the server cannot be used to sign anything else.
///
/// ```
/// use oxikit_devtools::proof::prove;
///
/// assert_eq!(prove(&oxikit_http::Token::random(), "sign this"), None);
/// ```
pub fn prove(token: &Token, challenge: &str) -> Option<String> {
    let is_challenge = challenge.len() == CHALLENGE_LENGTH
        && challenge.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_challenge.then(|| hex(hmac::sign(&key(token), message(challenge).as_bytes()).as_ref()))
}

/// Whether a proof was made with this token for this challenge. The comparison takes the same time
/// for all wrong proofs.
pub fn is_proven(token: &Token, challenge: &str, proof: &str) -> bool {
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
