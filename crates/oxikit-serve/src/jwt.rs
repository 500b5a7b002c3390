//! Authentication by a JWT as bearer token.
//!
//! It verifies tokens and does not issue them. Two rules close the known attacks on JWTs: the
//! algorithm is that of the configuration, never that of the token's header, and a key is only
//! used for the algorithm that it is made for.

mod algorithm;
mod jwks;

use std::fmt;

use async_trait::async_trait;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
use oxikit_core::{ActionContext, Result, Status};
use oxikit_outgoing::OutgoingPolicy;
use oxikit_wire::JsonObject;
use oxikit_wire::a2a::{OAuthFlows, SecurityScheme};
use serde_json::{Value, json};

use crate::auth::{ContextProvider, RequestInfo, Security, check_scopes};
pub use algorithm::Algorithm;
use jwks::{Jwks, VerifyKey};

/// Maximum length of a token in bytes. A longer one is rejected without parsing.
const TOKEN_LIMIT: usize = 8 * 1024;
/// Tolerated difference between clocks, in seconds, for `exp` and `nbf`.
const LEEWAY: u64 = 30;
/// Minimum length of an HMAC secret in bytes. RFC 7518 requires the length of the hash.
const SHORTEST_SECRET: usize = 32;

/// Accepts callers that send `Authorization: Bearer <JWT>` with a token of this issuer for
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
    policy: OutgoingPolicy,
    declared: Declared,
    scopes: Vec<String>,
}

/// How callers get their tokens, as cards say it.
enum Declared {
    Bearer,
    OAuth2(Box<OAuthFlows>),
    OpenIdConnect {
        /// The address of the issuer's configuration.
        url: String,
    },
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
            policy: OutgoingPolicy::default(),
            declared: Declared::Bearer,
            scopes: Vec::new(),
        }
    }

    /// The one algorithm that tokens must be signed with; RS256 if this is not called. It has to
    /// be set before the keys, which are checked against it.
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
    ///
    /// The host must have public addresses, unless the URL names this machine or the host is
    /// named by [`allow_private_host`](Self::allow_private_host). Redirects are not followed, and
    /// variables that name a proxy are ignored.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if it is not an https URL (see
    /// [`allow_http_host`](Self::allow_http_host)), if it contains credentials, or if the
    /// algorithm is an HMAC. The address is not asked here, so one that does not answer fails
    /// the first request instead, with 503.
    pub fn jwks_url(mut self, url: impl AsRef<str>) -> Result<Self> {
        if self.algorithm.is_symmetric() {
            return Err(no_secrets("jwks_url"));
        }
        self.jwks = Some(Jwks::new(url.as_ref(), self.algorithm, self.policy.clone())?);
        Ok(self)
    }

    /// Takes the keys from the issuer's configuration (OpenID Connect Discovery), which is at
    /// `<issuer>/.well-known/openid-configuration` and must name the same issuer. It is fetched
    /// when keys are, as [`jwks_url`](Self::jwks_url) says, and under the same rules. Cards declare
    /// the scheme `openIdConnect`.
    ///
    /// ```
    /// # use oxikit_serve::{Algorithm, JwtAuth};
    /// # fn example() -> oxikit_core::Result<()> {
    /// let auth = JwtAuth::new("https://login.example", "my-service").openid_connect()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`jwks_url`](Self::jwks_url), of the issuer's URL.
    pub fn openid_connect(mut self) -> Result<Self> {
        if self.algorithm.is_symmetric() {
            return Err(no_secrets("openid_connect"));
        }
        let jwks = Jwks::of_issuer(&self.issuer, self.algorithm, self.policy.clone())?;
        self.declared = Declared::OpenIdConnect { url: jwks.url().to_string() };
        self.jwks = Some(jwks);
        Ok(self)
    }

    /// Declares on cards that tokens are got by OAuth 2.0, and where. The token is checked as
    /// without it; scopes of [`require_scope`](Self::require_scope) should be listed here.
    ///
    /// ```
    /// use oxikit_serve::{JwtAuth, OAuthFlow, OAuthFlows};
    ///
    /// let flow = OAuthFlow {
    ///     token_url: Some("https://login.example/token".to_owned()),
    ///     scopes: [("tasks:write".to_owned(), "Send messages".to_owned())].into(),
    ///     ..OAuthFlow::default()
    /// };
    /// let flows = OAuthFlows { client_credentials: Some(flow), ..OAuthFlows::default() };
    /// let auth = JwtAuth::new("https://login.example/", "my-service")
    ///     .oauth2(flows)
    ///     .require_scope("tasks:write");
    /// ```
    #[must_use]
    pub fn oauth2(mut self, flows: OAuthFlows) -> Self {
        self.declared = Declared::OAuth2(Box::new(flows));
        self
    }

    /// Accepts only tokens with this scope, in the claim `scope` or `scp`. Others are answered
    /// with 403. It may be called several times; a token needs all of them.
    #[must_use]
    pub fn require_scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    /// Lets [`jwks_url`](Self::jwks_url) use this host, whose addresses are not public; comes
    /// before it.
    #[must_use]
    pub fn allow_private_host(mut self, host: impl AsRef<str>) -> Self {
        self.policy = self.policy.allow_host(host);
        self
    }

    /// Lets [`jwks_url`](Self::jwks_url) use plain http for this host, which may have private
    /// addresses; comes before it. Hosts of this machine may always.
    #[must_use]
    pub fn allow_http_host(mut self, host: impl AsRef<str>) -> Self {
        self.policy = self.policy.allow_http_host(host);
        self
    }

    /// Adds a public key as a JWK object. If it has a `kid`, it is used for tokens that name
    /// this key or no key, else for all tokens.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if it is not a public key for the algorithm, or is one for encryption.
    pub fn key(mut self, jwk: &Value) -> Result<Self> {
        let key = VerifyKey::from_jwk(jwk, self.algorithm).ok_or_else(|| {
            Status::invalid_argument("the JWK is not a public key for the algorithm")
        })?;
        self.keys.push(key);
        Ok(self)
    }

    /// Adds a public key in PEM form (`-----BEGIN PUBLIC KEY-----`), used for all tokens.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the text is not a public key for the algorithm.
    pub fn public_key_pem(mut self, pem: impl AsRef<[u8]>) -> Result<Self> {
        let key = self.algorithm.key_from_pem(pem.as_ref()).ok_or_else(|| {
            Status::invalid_argument("the PEM text is not a public key for the algorithm")
                .with_hint("name the algorithm before the key")
        })?;
        self.keys.push(VerifyKey { kid: None, key });
        Ok(self)
    }

    /// Adds a secret that is shared with the issuer, for the HMAC algorithms.
    ///
    /// ```
    /// # use oxikit_serve::{Algorithm, JwtAuth};
    /// let auth = JwtAuth::new("https://login.example/", "my-service").algorithm(Algorithm::Hs256);
    /// assert!(auth.hmac_secret("too short").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the algorithm is not an HMAC, or if the secret has fewer than 32
    /// bytes.
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
        // `crit` lists extensions that must be understood, and none is supported.
        if header.crit.is_some() {
            return Err(refused("critical extensions"));
        }
        let kid = header.kid.as_deref();
        // Several keys may fit a token without a `kid`; the error of the last one is returned.
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
        // The library accepts a list that contains the issuer; RFC 7519 allows one only.
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(refused("another issuer"));
        }
        Ok(claims)
    }
}

#[async_trait]
impl ContextProvider for JwtAuth {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        let token = request
            .bearer()
            .ok_or_else(|| Status::unauthenticated("Unauthenticated").with_challenge("Bearer"))?;
        let claims = self.verify(token).await?;
        let uid = claims.get("sub").and_then(Value::as_str).filter(|uid| !uid.is_empty());
        let uid = uid.ok_or_else(|| refused("no subject"))?.to_owned();
        let caller = ActionContext::default();
        let caller = caller.with("auth", json!({ "uid": uid, "token": claims }));
        check_scopes(&caller, &self.scopes)?;
        Ok(caller)
    }

    fn security(&self) -> Security {
        let description = None;
        let security = match &self.declared {
            Declared::Bearer => {
                let (scheme, bearer_format) = ("bearer".to_owned(), Some("JWT".to_owned()));
                let scheme = SecurityScheme::HttpAuth { description, scheme, bearer_format };
                Security::of("bearer", scheme)
            }
            Declared::OAuth2(flows) => {
                let flows = flows.clone();
                let scheme = SecurityScheme::OAuth2 { description, flows, metadata_url: None };
                Security::of("oauth2", scheme)
            }
            Declared::OpenIdConnect { url } => {
                let scheme = SecurityScheme::OpenIdConnect { description, url: url.clone() };
                Security::of("openIdConnect", scheme)
            }
        };
        security.with_scopes(&self.scopes)
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

/// The status for a token that the library rejects.
fn refusal(kind: &ErrorKind) -> Status {
    match kind {
        ErrorKind::ExpiredSignature => invalid("the token has expired"),
        ErrorKind::ImmatureSignature => invalid("the token is not valid yet"),
        ErrorKind::InvalidSignature => refused("signature"),
        ErrorKind::InvalidIssuer => refused("issuer"),
        ErrorKind::InvalidAudience => refused("audience"),
        ErrorKind::MissingRequiredClaim(_) => refused("missing claim"),
        _ => refused("malformed"),
    }
}

/// The status of a rejected token. The caller does not see the reason, which would help to
/// guess tokens; it is logged.
fn refused(reason: &'static str) -> Status {
    tracing::debug!(reason, "token refused");
    invalid("the token is not valid")
}

fn invalid(message: &str) -> Status {
    Status::unauthenticated(message).with_challenge("Bearer error=\"invalid_token\"")
}

fn no_secrets(method: &str) -> Status {
    Status::invalid_argument("a key set holds public keys, not secrets")
        .with_hint(format!("name another algorithm before `{method}`"))
}
