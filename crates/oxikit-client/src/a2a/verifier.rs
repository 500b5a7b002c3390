//! Checks the signatures of cards.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use oxikit_core::{Result, Status, StatusCode};
use oxikit_outgoing::{OutgoingClient, OutgoingPolicy, Url};
use oxikit_wire::a2a::{AgentCard, AgentCardSignature, signed_forms};
use serde::Deserialize;
use serde_json::Value;

const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];
/// Maximum size of a key set in bytes. A larger one is rejected.
const MAX_KEY_SET: usize = 64 * 1024;
/// Timeout of the request for a key set.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Checks the signatures of cards with keys that the application trusts.
///
/// ```no_run
/// use oxikit_client::a2a::{A2aClient, CardVerifier};
///
/// # async fn example() -> oxikit_client::Result<()> {
/// let found = A2aClient::builder("https://agents.example/a2a/coder").read_card().await?;
/// let verifier = CardVerifier::new().jwks_url("https://agents.example/keys.json")?;
/// let verified = verifier.verify(&found.json).await?;
/// println!("{} is signed with {:?}", verified.card.name, verified.key_id);
/// # Ok(()) }
/// ```
///
/// The key set that a card itself names (`jku`) is never asked: it is part of what is checked.
#[derive(Default)]
pub struct CardVerifier {
    keys: Vec<Key>,
    key_sets: Vec<(OutgoingClient, Url)>,
}

/// A card whose signature is valid.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VerifiedCard {
    /// The signed part of the card. A document may have more members than its signature covers;
    /// this card does not.
    pub card: AgentCard,
    /// The id of the key, if the signature names it.
    pub key_id: Option<String>,
}

struct Key {
    id: Option<String>,
    key: DecodingKey,
    /// The algorithms that the key is made for. That of a signature must be one of them.
    algorithms: &'static [Algorithm],
}

impl CardVerifier {
    /// Without keys, no card is valid.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts a public key, as a JWK object.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if it is not a public key for signatures.
    pub fn jwk(mut self, jwk: &Value) -> Result<Self> {
        let key = Key::from_jwk(jwk).ok_or_else(|| {
            Status::invalid_argument("the JWK is not a public RSA, P-256, P-384 or Ed25519 key")
        })?;
        self.keys.push(key);
        Ok(self)
    }

    /// Trusts a public key in PEM form (`-----BEGIN PUBLIC KEY-----`).
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the text is not a public key.
    pub fn pem(mut self, pem: impl AsRef<[u8]>) -> Result<Self> {
        let pem = pem.as_ref();
        let ec = DecodingKey::from_ec_pem(pem).map(|key| (key, Key::EC));
        let found = ec
            .or_else(|_| DecodingKey::from_rsa_pem(pem).map(|key| (key, RSA)))
            .or_else(|_| DecodingKey::from_ed_pem(pem).map(|key| (key, Key::ED)));
        let (key, algorithms) = found.map_err(|_| {
            Status::invalid_argument("the PEM text is not a public RSA, EC or Ed25519 key")
        })?;
        self.keys.push(Key { id: None, key, algorithms });
        Ok(self)
    }

    /// Trusts the keys of the key set at this address, which is asked for each card. It must be an
    /// https URL of a host with public addresses, or name this machine.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not allowed.
    pub fn jwks_url(mut self, url: &str) -> Result<Self> {
        let invalid = |why: &dyn fmt::Display| {
            Status::invalid_argument(format!("the URL of the key set is refused: {why}"))
        };
        let url = Url::parse(url).map_err(|error| invalid(&error))?;
        let policy = OutgoingPolicy::default()
            .https_only()
            .allow_loopback_of(&url)
            .timeout(TIMEOUT)
            .max_response_bytes(MAX_KEY_SET);
        policy.check(&url).map_err(|error| invalid(&error))?;
        self.key_sets.push((OutgoingClient::new(policy)?, url));
        Ok(self)
    }

    /// Checks a card, as it was read. One valid signature by a trusted key is enough.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the document is not a card, `UNAUTHENTICATED` if it has no signature
    /// or none that is valid, `UNAVAILABLE` if a key set cannot be read.
    pub async fn verify(&self, document: &[u8]) -> Result<VerifiedCard> {
        let not_a_card =
            |error| Status::invalid_argument("the document is not an agent card").caused_by(error);
        let document: Value = serde_json::from_slice(document).map_err(not_a_card)?;
        let card = AgentCard::deserialize(&document).map_err(not_a_card)?;
        if card.signatures.is_empty() {
            return Err(Status::unauthenticated("the card is not signed"));
        }
        let mut fetched = Vec::new();
        for (client, url) in &self.key_sets {
            fetched.extend(fetch(client, url).await?);
        }
        let forms = signed_forms(&document).map_err(not_a_card)?;
        for form in &forms {
            let payload = URL_SAFE_NO_PAD.encode(form);
            for signature in &card.signatures {
                let Some(header) = SignatureHeader::of(signature) else { continue };
                let mut keys = self.keys.iter().chain(&fetched);
                if keys.any(|key| key.verifies(&header, signature, &payload)) {
                    let card = serde_json::from_str(form).map_err(not_a_card)?;
                    return Ok(VerifiedCard { card, key_id: header.kid });
                }
            }
        }
        Err(Status::unauthenticated("no signature of the card is valid for a trusted key"))
    }
}

impl fmt::Debug for CardVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardVerifier")
            .field("keys", &self.keys.len())
            .field("key_sets", &self.key_sets.len())
            .finish()
    }
}

/// How a signature describes itself. Nothing of it is checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignatureInfo {
    /// The algorithm, such as `ES256`.
    pub algorithm: Option<String>,
    /// The id of the key.
    pub key_id: Option<String>,
}

impl SignatureInfo {
    /// Reads the protected header of a signature; all is `None` if it cannot be read.
    pub fn of(signature: &AgentCardSignature) -> Self {
        match SignatureHeader::of(signature) {
            Some(header) => Self { algorithm: Some(header.alg), key_id: header.kid },
            None => Self::default(),
        }
    }
}

/// The protected header of a signature.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct SignatureHeader {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood; none is.
    crit: Option<Value>,
}

impl SignatureHeader {
    /// `None` if it cannot be read, or demands what this client does not have.
    fn of(signature: &AgentCardSignature) -> Option<Self> {
        let json = URL_SAFE_NO_PAD.decode(&signature.protected).ok()?;
        let header: Self = serde_json::from_slice(&json).ok()?;
        header.crit.is_none().then_some(header)
    }
}

impl Key {
    const EC: &'static [Algorithm] = &[Algorithm::ES256, Algorithm::ES384];
    const ED: &'static [Algorithm] = &[Algorithm::EdDSA];

    /// `None` if it is not a public key for signatures.
    fn from_jwk(jwk: &Value) -> Option<Self> {
        let jwk = Jwk::deserialize(jwk).ok()?;
        let algorithms = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => RSA,
            AlgorithmParameters::EllipticCurve(key) => match key.curve {
                EllipticCurve::P256 => &[Algorithm::ES256],
                EllipticCurve::P384 => &[Algorithm::ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                Self::ED
            }
            _ => return None,
        };
        if jwk.common.public_key_use.as_ref().is_some_and(|it| *it != PublicKeyUse::Signature) {
            return None;
        }
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Self { id: jwk.common.key_id, key, algorithms })
    }

    fn verifies(
        &self,
        header: &SignatureHeader,
        signature: &AgentCardSignature,
        payload: &str,
    ) -> bool {
        let is_other = matches!((&self.id, &header.kid), (Some(own), Some(named)) if own != named);
        let algorithm = header.alg.parse().ok().filter(|it| self.algorithms.contains(it));
        let Some(algorithm) = algorithm.filter(|_| !is_other) else { return false };
        let text = format!("{}.{payload}", signature.protected);
        let checked = crypto::verify(&signature.signature, text.as_bytes(), &self.key, algorithm);
        checked.unwrap_or(false)
    }
}

async fn fetch(client: &OutgoingClient, url: &Url) -> Result<Vec<Key>> {
    #[derive(Deserialize)]
    struct KeySet {
        keys: Vec<Value>,
    }
    let failed = |why: String| {
        Status::new(StatusCode::Unavailable, format!("the key set at {url} cannot be read: {why}"))
    };
    let response = client.get(url.clone()).send().await;
    let response = response.map_err(|error| failed(error.to_string()).caused_by(error))?;
    if response.status().as_u16() != 200 {
        return Err(failed(format!("the answer is {}", response.status())));
    }
    let set: KeySet = serde_json::from_slice(response.body())
        .map_err(|error| failed("it is not a JSON Web Key Set".to_owned()).caused_by(error))?;
    Ok(set.keys.iter().filter_map(Key::from_jwk).collect())
}
