//! Authentication: determines the principal of a call from a client certificate or a bearer token, and
//! authorizes the method.
//!
//! This module must not depend on the contents of a request. A caller that cannot be identified with
//! certainty is rejected.

mod certificate;
mod failures;
pub mod roles;

use std::{
    collections::{BTreeSet, HashMap},
    net::SocketAddr,
    sync::{Arc, PoisonError, RwLock},
};

use airlock_control::{
    api::ApiError,
    model::{ANY_PROFILE, Principal, Role},
};
use airlock_domain::RunnerId;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

pub use certificate::CertificateNames;
pub use failures::Failures;

use crate::{
    config::{Config, Identity, Match},
    status::AuthenticationError,
};

/// The address of a connection, and the names that its TLS handshake has verified.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address of the client.
    pub address: SocketAddr,
    /// The names in its verified certificate, if it has one.
    pub certificate: Option<Arc<CertificateNames>>,
}

/// An authenticated caller.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The principal for the services.
    pub principal: Principal,
    identity: Arc<Identity>,
}

/// Authenticates callers against the configured identities.
#[derive(Debug)]
pub struct Authenticator {
    known: RwLock<Arc<Known>>,
    insecure_loopback: bool,
    default_profile: String,
    failures: Failures,
}

/// The identities, indexed by the method of recognition.
#[derive(Debug, Default)]
struct Known {
    certificates: HashMap<Match, Arc<Identity>>,
    tokens: Vec<([u8; 32], Arc<Identity>)>,
    loopback: Option<Arc<Identity>>,
}

impl Caller {
    /// Checks that the caller may act for this runner.
    ///
    /// # Errors
    /// Returns [`ApiError::Forbidden`].
    pub fn require_runner(&self, runner: &RunnerId) -> Result<(), ApiError> {
        if self.principal.roles.contains(&Role::Runner) && self.identity.speaks_for(runner) {
            return Ok(());
        }
        let message = format!("`{}` may not act for runner `{runner}`", self.principal.name);
        Err(ApiError::Forbidden { message })
    }
}

impl Authenticator {
    /// Creates an authenticator for the identities of a checked configuration.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let insecure_loopback = config.listen.insecure_loopback;
        Self {
            known: RwLock::new(Arc::new(Known::new(&config.identities, insecure_loopback))),
            insecure_loopback,
            default_profile: config.profiles.default.clone(),
            failures: Failures::new(config.limits.authentication_failures_per_minute),
        }
    }

    /// Replaces the identities for all calls that begin from now on. Open calls and links continue.
    pub(crate) fn replace(&self, identities: &[Identity]) {
        let known = Arc::new(Known::new(identities, self.insecure_loopback));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Returns the profile of identities that do not name one.
    pub(crate) fn default_profile(&self) -> &str {
        &self.default_profile
    }

    /// Authenticates a caller. A token takes precedence over a certificate: if the token is invalid, the
    /// certificate is ignored.
    ///
    /// # Errors
    /// See [`AuthenticationError`]. Failures are counted per peer. Above the limit, a peer's tokens are
    /// refused without a comparison, so that they cannot be guessed.
    pub fn authenticate(
        &self,
        peer: &Peer,
        authorization: Option<&[u8]>,
    ) -> Result<Caller, AuthenticationError> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        let found = match (authorization, &peer.certificate) {
            (Some(value), _) => self.by_token(&known, peer, value),
            (None, Some(names)) => known.by_certificate(names),
            (None, None) => known.loopback.as_ref().ok_or(AuthenticationError::Missing),
        };
        // A call without credentials is not a guess. Neither is a token that was not compared.
        let guessed = !matches!(
            found,
            Ok(_) | Err(AuthenticationError::Missing | AuthenticationError::TooManyFailures)
        );
        if guessed {
            self.failures.count(peer.address.ip());
        }
        found.map(|identity| self.caller(identity, peer))
    }

    fn by_token<'a>(
        &self,
        known: &'a Known,
        peer: &Peer,
        value: &[u8],
    ) -> Result<&'a Arc<Identity>, AuthenticationError> {
        if self.failures.is_over(peer.address.ip()) {
            return Err(AuthenticationError::TooManyFailures);
        }
        known.by_token(value)
    }

    fn caller(&self, identity: &Arc<Identity>, peer: &Peer) -> Caller {
        let roles: BTreeSet<Role> = identity.roles.iter().map(|role| (*role).into()).collect();
        let mut profiles = identity.profiles.clone();
        if profiles.iter().all(|name| name == ANY_PROFILE) {
            profiles.push(self.default_profile.clone());
        }
        let principal = Principal {
            name: identity.name.clone(),
            tenant: identity.tenant.clone(),
            roles: roles.into_iter().collect(),
            profiles,
            peer: peer.address.to_string(),
        };
        Caller { principal, identity: identity.clone() }
    }
}

impl Known {
    fn new(identities: &[Identity], insecure_loopback: bool) -> Self {
        let mut this = Self::default();
        for identity in identities {
            let identity = Arc::new(identity.clone());
            match &identity.matches {
                Match::TokenSha256(text) => {
                    let mut hash = [0; 32];
                    // The configuration was checked. A hash that cannot be decoded would match nothing.
                    if hex::decode_to_slice(text, &mut hash).is_ok() {
                        this.tokens.push((hash, identity));
                    }
                }
                Match::Loopback if insecure_loopback => this.loopback = Some(identity),
                Match::Loopback => {}
                certificate => {
                    this.certificates.insert(certificate.clone(), identity);
                }
            }
        }
        this
    }

    fn by_token(&self, value: &[u8]) -> Result<&Arc<Identity>, AuthenticationError> {
        let token = bearer(value).ok_or(AuthenticationError::Malformed)?;
        let hash: [u8; 32] = Sha256::digest(token).into();
        let mut place = u64::MAX;
        for (index, (known, _)) in (0u64..).zip(&self.tokens) {
            let same: Choice = known.ct_eq(&hash);
            place.conditional_assign(&index, same);
        }
        usize::try_from(place)
            .ok()
            .and_then(|place| self.tokens.get(place))
            .map(|(_, identity)| identity)
            .ok_or(AuthenticationError::UnknownToken)
    }

    fn by_certificate(&self, names: &CertificateNames) -> Result<&Arc<Identity>, AuthenticationError> {
        for kind in [&names.spiffe, &names.dns, &names.common] {
            let mut found = kind.iter().filter_map(|name| self.certificates.get(name));
            if let Some(first) = found.next() {
                if found.any(|other| !Arc::ptr_eq(first, other)) {
                    return Err(AuthenticationError::AmbiguousCertificate);
                }
                return Ok(first);
            }
        }
        Err(AuthenticationError::UnknownCertificate)
    }
}

/// Returns the token of `Bearer TOKEN`. The scheme is case-insensitive, as in HTTP.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
