//! The algorithms by which tokens are signed.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{DecodingKey, EncodingKey};

/// The signature algorithm of tokens, by its name in RFC 7518 or RFC 8037.
///
/// The HMAC algorithms need the same secret on both sides, so whoever can verify a token can
/// also make one; the others verify with a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
    /// RSA (PKCS #1) with SHA-256.
    Rs256,
    /// RSA (PKCS #1) with SHA-384.
    Rs384,
    /// RSA (PKCS #1) with SHA-512.
    Rs512,
    /// RSA (PSS) with SHA-256.
    Ps256,
    /// RSA (PSS) with SHA-384.
    Ps384,
    /// RSA (PSS) with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    pub(super) fn is_symmetric(self) -> bool {
        matches!(self, Self::Hs256 | Self::Hs384 | Self::Hs512)
    }

    /// A public key of the right kind; `None` if it is anything else.
    pub(super) fn key_from_pem(self, pem: &[u8]) -> Option<DecodingKey> {
        match self {
            Self::Hs256 | Self::Hs384 | Self::Hs512 => None,
            Self::Es256 | Self::Es384 => DecodingKey::from_ec_pem(pem).ok(),
            Self::EdDsa => DecodingKey::from_ed_pem(pem).ok(),
            _ => DecodingKey::from_rsa_pem(pem).ok(),
        }
    }

    /// A private key of the right kind; `None` if it is anything else.
    pub(crate) fn signing_key_from_pem(self, pem: &[u8]) -> Option<EncodingKey> {
        match self {
            Self::Hs256 | Self::Hs384 | Self::Hs512 => None,
            Self::Es256 | Self::Es384 => EncodingKey::from_ec_pem(pem).ok(),
            Self::EdDsa => EncodingKey::from_ed_pem(pem).ok(),
            _ => EncodingKey::from_rsa_pem(pem).ok(),
        }
    }

    /// A public key for this algorithm; `None` if it is for anything else.
    pub(super) fn key_from_jwk(self, jwk: &Jwk) -> Option<DecodingKey> {
        let fits = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => matches!(
                self,
                Self::Rs256 | Self::Rs384 | Self::Rs512 | Self::Ps256 | Self::Ps384 | Self::Ps512
            ),
            AlgorithmParameters::EllipticCurve(key) => match self {
                Self::Es256 => key.curve == EllipticCurve::P256,
                Self::Es384 => key.curve == EllipticCurve::P384,
                _ => false,
            },
            AlgorithmParameters::OctetKeyPair(key) => {
                self == Self::EdDsa && key.curve == EllipticCurve::Ed25519
            }
            // A symmetric key in a public key set can be read by everybody, so tokens that it
            // verifies prove nothing.
            _ => false,
        };
        let is_for_signatures =
            jwk.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
        let names_this = jwk.common.key_algorithm.is_none_or(|named| named == self.name_of_key());
        (fits && is_for_signatures && names_this).then(|| DecodingKey::from_jwk(jwk).ok()).flatten()
    }

    fn name_of_key(self) -> KeyAlgorithm {
        match self {
            Self::Hs256 => KeyAlgorithm::HS256,
            Self::Hs384 => KeyAlgorithm::HS384,
            Self::Hs512 => KeyAlgorithm::HS512,
            Self::Rs256 => KeyAlgorithm::RS256,
            Self::Rs384 => KeyAlgorithm::RS384,
            Self::Rs512 => KeyAlgorithm::RS512,
            Self::Ps256 => KeyAlgorithm::PS256,
            Self::Ps384 => KeyAlgorithm::PS384,
            Self::Ps512 => KeyAlgorithm::PS512,
            Self::Es256 => KeyAlgorithm::ES256,
            Self::Es384 => KeyAlgorithm::ES384,
            Self::EdDsa => KeyAlgorithm::EdDSA,
        }
    }
}

impl From<Algorithm> for jsonwebtoken::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Hs256 => Self::HS256,
            Algorithm::Hs384 => Self::HS384,
            Algorithm::Hs512 => Self::HS512,
            Algorithm::Rs256 => Self::RS256,
            Algorithm::Rs384 => Self::RS384,
            Algorithm::Rs512 => Self::RS512,
            Algorithm::Ps256 => Self::PS256,
            Algorithm::Ps384 => Self::PS384,
            Algorithm::Ps512 => Self::PS512,
            Algorithm::Es256 => Self::ES256,
            Algorithm::Es384 => Self::ES384,
            Algorithm::EdDsa => Self::EdDSA,
        }
    }
}
