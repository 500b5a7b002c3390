//! Callers who show a bearer JWT.

mod algorithm;
mod jwks;

use std::fmt;

use async_trait::async_trait;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
use oxikit_core::{ActionContext, Result, Status};
use oxikit_wire::JsonObject;
use serde_json::{Value, json};

use crate::auth::{ContextProvider, RequestInfo};
pub use algorithm::Algorithm;
use jwks::{Jwks, VerifyKey};

/// A longer token is refused unread.
const TOKEN_LIMIT: usize = 8 * 1024;
/// Clocks differ by so many seconds.
const LEEWAY: u64 = 30;
/// RFC 7518: at least as long as the hash.
const SHORTEST_SECRET: usize = 32;

/// Lets in who sends `Authorization: Bearer <JWT>` with a token of this issuer for
/// this audience.
///
/// The algorithm is pinned here and never taken from the token. A token must have
/// `iss`, `aud`, `exp` and `sub`; `nbf` counts if it is there. Actions see
/// `auth.uid` (the `sub`) and `auth.token` (all claims); the token itself is kept
/// nowhere.
///
/// ```
/// # use oxikit_serve::{Algorithm, JwtAuth};
/// # fn example() -> oxikit_core::Result<()> {
/// let auth = JwtAuth::new("https://login.example/", "my-service")
///     .algorithm(Algorithm::Es256)
///     .jwks_url("https://login.example/.well-known/jwks.json")?;
/// # Ok(())
/// # }
/// ```
pub struct JwtAuth {
    issuer: String,
    validation: Validation,
    algorithm: Algorithm,
    keys: Vec<VerifyKey>,
    jwks: Option<Jwks>,
    http_hosts: Vec<String>,
}

impl JwtAuth {
    /// Tokens of this issuer for this audience, signed by RS256 unless
    /// [`algorithm`](Self::algorithm) says otherwise. Needs a key: one of
    /// [`jwks_url`](Self::jwks_url), [`key`](Self::key),
    /// [`public_key_pem`](Self::public_key_pem), [`hmac_secret`](Self::hmac_secret).
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        let issuer = issuer.into();
        let mut validation = Validation::new(Algorithm::Rs256.into());
        validation.set_issuer(&[&issuer]);
        validation.set_audience(&[audience.into()]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY;
        Self {
            issuer,
            validation,
            algorithm: Algorithm::Rs256,
            keys: Vec::new(),
            jwks: None,
            http_hosts: Vec::new(),
        }
    }

    /// The one algorithm that is good. Comes before the keys, which must fit it.
    #[must_use]
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self.validation.algorithms = vec![algorithm.into()];
        self
    }

    /// Takes the keys from here, over https. They are fetched when they are first
    /// needed, again every ten minutes, and when a token names an unknown key, but
    /// at most every 30 s. While the address does not answer, the last keys stay
    /// good for an hour.
    pub fn jwks_url(mut self, url: impl AsRef<str>) -> Result<Self> {
        if self.algorithm.is_symmetric() {
            return Err(Status::invalid_argument("a key set holds public keys, not secrets")
                .with_hint("name another algorithm before `jwks_url`"));
        }
        self.jwks = Some(Jwks::new(url.as_ref(), self.algorithm, &self.http_hosts)?);
        Ok(self)
    }

    /// Lets [`jwks_url`](Self::jwks_url) use plain http for this host; comes before
    /// it. Hosts of this machine may always.
    #[must_use]
    pub fn allow_http_host(mut self, host: impl Into<String>) -> Self {
        self.http_hosts.push(host.into());
        self
    }

    /// A public key as a JWK object. With a `kid` it is used for tokens that name
    /// it, or none.
    pub fn key(mut self, jwk: &Value) -> Result<Self> {
        let key = VerifyKey::from_jwk(jwk, self.algorithm).ok_or_else(|| {
            Status::invalid_argument("the JWK is not a public key for the algorithm")
        })?;
        self.keys.push(key);
        Ok(self)
    }

    /// A public key in PEM form.
    pub fn public_key_pem(mut self, pem: impl AsRef<[u8]>) -> Result<Self> {
        let key = self.algorithm.key_from_pem(pem.as_ref()).ok_or_else(|| {
            Status::invalid_argument("the PEM text is not a public key for the algorithm")
                .with_hint("name the algorithm before the key")
        })?;
        self.keys.push(VerifyKey { kid: None, key });
        Ok(self)
    }

    /// A secret that is shared with the issuer, for the HMAC algorithms.
    pub fn hmac_secret(mut self, secret: impl AsRef<[u8]>) -> Result<Self> {
        let secret = secret.as_ref();
        if !self.algorithm.is_symmetric() {
            return Err(Status::invalid_argument("the algorithm does not use a secret")
                .with_hint("name an HMAC algorithm before the secret"));
        }
        if secret.len() < SHORTEST_SECRET {
            return Err(Status::invalid_argument("a secret has at least 32 bytes"));
        }
        self.keys.push(VerifyKey { kid: None, key: DecodingKey::from_secret(secret) });
        Ok(self)
    }

    async fn verify(&self, token: &str) -> Result<JsonObject> {
        if token.len() > TOKEN_LIMIT {
            return Err(refused("too long"));
        }
        let header = decode_header(token).map_err(|_| refused("malformed"))?;
        if header.alg != self.algorithm.into() {
            return Err(refused("another algorithm"));
        }
        // Extensions that must be understood are not.
        if header.crit.is_some() {
            return Err(refused("critical extensions"));
        }
        let kid = header.kid.as_deref();
        let mut refusal = refused("unknown key");
        for key in self.keys.iter().filter(|key| key.may_verify(kid)) {
            match self.check(token, &key.key) {
                Ok(claims) => return Ok(claims),
                Err(status) => refusal = status,
            }
        }
        match &self.jwks {
            Some(jwks) => match jwks.find(kid).await? {
                Some(key) => self.check(token, &key.key),
                None => Err(refusal),
            },
            None if self.keys.is_empty() => Err(Status::internal("no key to check tokens with")
                .with_hint("give `JwtAuth` a key or the URL of a key set")),
            None => Err(refusal),
        }
    }

    fn check(&self, token: &str, key: &DecodingKey) -> Result<JsonObject> {
        let claims = match decode::<JsonObject>(token, key, &self.validation) {
            Ok(token) => token.claims,
            Err(error) => return Err(refusal(error.kind())),
        };
        // The library takes a list that holds the issuer; the RFC knows one only.
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(refused("another issuer"));
        }
        Ok(claims)
    }
}

#[async_trait]
impl ContextProvider for JwtAuth {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        let token = request.bearer().ok_or_else(|| Status::unauthenticated("Unauthenticated"))?;
        let claims = self.verify(token).await?;
        let uid = claims.get("sub").and_then(Value::as_str).filter(|uid| !uid.is_empty());
        let uid = uid.ok_or_else(|| refused("no subject"))?.to_owned();
        Ok(ActionContext::default().with("auth", json!({ "uid": uid, "token": claims })))
    }

    fn security_scheme(&self) -> Option<Value> {
        Some(json!({ "type": "http", "scheme": "bearer", "bearerFormat": "JWT" }))
    }
}

impl fmt::Debug for JwtAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtAuth")
            .field("issuer", &self.issuer)
            .field("algorithm", &self.algorithm)
            .field("keys", &self.keys.len())
            .field("has_key_set", &self.jwks.is_some())
            .finish_non_exhaustive()
    }
}

/// What a caller may know of why the library refuses a token.
fn refusal(kind: &ErrorKind) -> Status {
    match kind {
        ErrorKind::ExpiredSignature => Status::unauthenticated("the token has expired"),
        ErrorKind::ImmatureSignature => Status::unauthenticated("the token is not valid yet"),
        ErrorKind::InvalidSignature => refused("signature"),
        ErrorKind::InvalidIssuer => refused("issuer"),
        ErrorKind::InvalidAudience => refused("audience"),
        ErrorKind::MissingRequiredClaim(_) => refused("missing claim"),
        _ => refused("malformed"),
    }
}

/// Who tries tokens learns nothing from the answer; the reason is for our log.
fn refused(reason: &'static str) -> Status {
    tracing::debug!(reason, "token refused");
    Status::unauthenticated("the token is not valid")
}
