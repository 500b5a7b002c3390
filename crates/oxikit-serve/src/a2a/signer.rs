//! Signatures of cards: a JWS (RFC 7515) for each canonical form that readers may check.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, crypto};
use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{AgentCardSignature, signed_forms};
use serde_json::{Value, json};

use crate::jwt::Algorithm;

/// Number of signatures that are kept. A card names the host of the request unless the server has
/// a public URL, so that there may be several; the oldest is dropped.
const MAX_RECENT: usize = 32;

/// Signs the cards of A2A agents. Given to [`Server::sign_cards`](crate::Server::sign_cards).
///
/// ```
/// use oxikit_serve::Algorithm;
/// use oxikit_serve::a2a::CardSigner;
///
/// # fn example(pem: &str) -> oxikit_core::Result<()> {
/// // A key of `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`.
/// let signer = CardSigner::new(Algorithm::Es256, pem, "key-1")?
///     .key_set_url("https://agents.example/keys.json");
/// # Ok(()) }
/// ```
pub struct CardSigner {
    key: EncodingKey,
    algorithm: Algorithm,
    kid: String,
    jku: Option<String>,
    /// Texts that were signed, and their signatures. Those of ECDSA differ each time, and would
    /// change the entity tag of the card.
    recent: Mutex<VecDeque<(String, String)>>,
}

impl CardSigner {
    /// Signs with this private key in PEM form (PKCS #8), which readers know under the key id.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the text is not a private key for the algorithm, or if the algorithm
    /// is an HMAC, whose signatures only readers with the secret could check.
    pub fn new(
        algorithm: Algorithm,
        private_key: impl AsRef<[u8]>,
        key_id: impl Into<String>,
    ) -> Result<Self> {
        let key = algorithm.signing_key_from_pem(private_key.as_ref()).ok_or_else(|| {
            Status::invalid_argument("the PEM text is not a private key for the algorithm")
                .with_hint("cards are signed with a key in PKCS #8 form, not with a secret")
        })?;
        let recent = Mutex::default();
        let signer = Self { key, algorithm, kid: key_id.into(), jku: None, recent };
        // Some keys are only found to be unfit when they are used.
        signer.signature("").map_err(|error| {
            Status::invalid_argument("the key cannot sign by the algorithm").caused_by(error)
        })?;
        Ok(signer)
    }

    /// Names the address of the key set with the public key (`jku`). Readers decide themselves
    /// whether they trust it.
    #[must_use]
    pub fn key_set_url(mut self, url: impl Into<String>) -> Self {
        self.jku = Some(url.into());
        self
    }

    /// The signatures of a card, one for each form that readers may check.
    pub(super) fn sign(&self, document: &Value) -> Result<Vec<AgentCardSignature>> {
        let protected = self.protected();
        let mut signatures = Vec::new();
        for form in signed_forms(document)? {
            let text = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(form));
            let signature = self
                .known(text)
                .map_err(|error| Status::internal("a card cannot be signed").caused_by(error))?;
            let protected = protected.clone();
            signatures.push(AgentCardSignature { protected, signature, header: None });
        }
        Ok(signatures)
    }

    /// The protected header in base64url.
    fn protected(&self) -> String {
        let algorithm = jsonwebtoken::Algorithm::from(self.algorithm);
        let mut header = json!({ "alg": algorithm, "kid": self.kid, "typ": "JOSE" });
        if let Some(jku) = &self.jku {
            header["jku"] = json!(jku);
        }
        URL_SAFE_NO_PAD.encode(header.to_string())
    }

    /// The signature of a text, the same each time.
    fn known(&self, text: String) -> jsonwebtoken::errors::Result<String> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, signature)) = recent.iter().find(|(known, _)| *known == text) {
            return Ok(signature.clone());
        }
        let signature = self.signature(&text)?;
        if recent.len() == MAX_RECENT {
            recent.pop_front();
        }
        recent.push_back((text, signature.clone()));
        Ok(signature)
    }

    fn signature(&self, text: &str) -> jsonwebtoken::errors::Result<String> {
        crypto::sign(text.as_bytes(), &self.key, self.algorithm.into())
    }
}

impl fmt::Debug for CardSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardSigner")
            .field("algorithm", &self.algorithm)
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}
