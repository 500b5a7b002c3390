//! `oxikit a2a card`: whether a card is signed, and by which key.

use std::fmt;
use std::path::{Path, PathBuf};

use oxikit_client::a2a::{CardVerifier, FoundCard, SignatureInfo};
use oxikit_core::StatusCode;
use oxikit_local::untrusted_file::read_named;
use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;

/// The signatures of a card, and whether one of them is valid.
pub(super) struct Signed {
    pub(super) signatures: Vec<Signature>,
    check: Check,
}

/// A signature as it describes itself. Nothing of it is checked.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Signature {
    algorithm: Option<String>,
    key_id: Option<String>,
}

enum Check {
    /// No key was named.
    NotAsked,
    Valid {
        key_id: Option<String>,
    },
    Invalid(String),
}

/// The keys that the card is checked with; `None` if the user named no key.
pub(super) fn keys(files: &[PathBuf], urls: &[String]) -> Result<Option<CardVerifier>, Failure> {
    if files.is_empty() && urls.is_empty() {
        return Ok(None);
    }
    let mut verifier = CardVerifier::new();
    for file in files {
        verifier = with_file(verifier, file)?;
    }
    for url in urls {
        verifier = verifier.jwks_url(url).map_err(|status| {
            Failure::usage(format!("--jwks {url} cannot be used: {}", status.message()))
        })?;
    }
    Ok(Some(verifier))
}

fn with_file(verifier: CardVerifier, file: &Path) -> Result<CardVerifier, Failure> {
    let refused = |why: &dyn fmt::Display| {
        Failure::usage(format!("--key {} cannot be used: {why}", file.display()))
    };
    let text = read_named(file).map_err(|error| refused(&error))?;
    let with_key = match serde_json::from_str::<Value>(&text) {
        Ok(jwk) => verifier.jwk(&jwk),
        Err(_) => verifier.pem(&text),
    };
    with_key.map_err(|status| refused(&status.message()))
}

/// Checks the card, if there are keys.
pub(super) async fn check(
    found: &FoundCard,
    keys: Option<&CardVerifier>,
) -> Result<Signed, Failure> {
    let signature =
        |info: SignatureInfo| Signature { algorithm: info.algorithm, key_id: info.key_id };
    let signatures = found.card.signatures.iter();
    let signatures = signatures.map(|it| signature(SignatureInfo::of(it))).collect();
    let check = match keys {
        None => Check::NotAsked,
        Some(keys) => match keys.verify(&found.json).await {
            Ok(verified) => Check::Valid { key_id: verified.key_id },
            Err(status) if status.code() == StatusCode::Unauthenticated => {
                Check::Invalid(status.message().to_owned())
            }
            Err(status) => return Err(Failure::of_status(&status)),
        },
    };
    Ok(Signed { signatures, check })
}

impl Signed {
    /// `None` if no key was named.
    pub(super) fn is_verified(&self) -> Option<bool> {
        match &self.check {
            Check::NotAsked => None,
            Check::Valid { .. } => Some(true),
            Check::Invalid(_) => Some(false),
        }
    }

    /// Faults of the signatures.
    pub(super) fn problem(&self) -> Option<String> {
        match &self.check {
            Check::Invalid(why) => Some(why.clone()),
            Check::NotAsked | Check::Valid { .. } => None,
        }
    }
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |key_id: &Option<String>| match key_id {
            Some(id) => format!("the key `{id}`"),
            None => "a key without an id".to_owned(),
        };
        if let Check::Valid { key_id } = &self.check {
            return write!(f, "signed with {}; the signature is valid", named(key_id));
        }
        let mut keys: Vec<_> = self.signatures.iter().map(|it| named(&it.key_id)).collect();
        keys.dedup();
        let not_checked = match &self.check {
            Check::NotAsked => " (not checked: name a key by --key or --jwks)",
            _ => "",
        };
        match keys.is_empty() {
            true => f.write_str("not signed"),
            false => write!(f, "signed with {}{not_checked}", keys.join(", ")),
        }
    }
}
