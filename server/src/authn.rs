//! Who calls: a principal from a client certificate or a bearer token, and what it may call.
//!
//! Nothing here knows what a request asks for. Whoever cannot be told for sure is nobody.

mod certificate;
mod failures;
pub mod roles;

use std::{
    collections::{BTreeSet, HashMap},
    net::SocketAddr,
    sync::{Arc, PoisonError, RwLock},
};

use airlock_proto::domain::RunnerId;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

pub use certificate::CertificateNames;
pub use failures::Failures;

use crate::{
    api::ApiError,
    config::{Config, Identity, Match},
    model::{ANY_PROFILE, Principal, Role},
    status::AuthenticationError,
};

/// Where a connection comes from, and what its TLS handshake has proven.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Of the other side.
    pub address: SocketAddr,
    /// Of its verified certificate; none without one.
    pub certificate: Option<Arc<CertificateNames>>,
}

/// Who calls.
#[derive(Debug, Clone)]
pub struct Caller {
    /// As the engine sees it.
    pub principal: Principal,
    identity: Arc<Identity>,
}

/// Knows every identity.
#[derive(Debug)]
pub struct Authenticator {
    known: RwLock<Arc<Known>>,
    insecure_loopback: bool,
    default_profile: String,
    failures: Failures,
}

/// The identities, by the way that each is recognised.
#[derive(Debug, Default)]
struct Known {
    certificates: HashMap<Match, Arc<Identity>>,
    tokens: Vec<([u8; 32], Arc<Identity>)>,
    loopback: Option<Arc<Identity>>,
}

impl Caller {
    /// Whether it may speak for this runner.
    ///
    /// # Errors
    /// [`ApiError::Forbidden`].
    pub fn require_runner(&self, runner: &RunnerId) -> Result<(), ApiError> {
        if self.principal.roles.contains(&Role::Runner) && self.identity.speaks_for(runner) {
            return Ok(());
        }
        let message = format!("`{}` may not speak for runner `{runner}`", self.principal.name);
        Err(ApiError::Forbidden { message })
    }
}

impl Authenticator {
    /// Takes the identities of a checked configuration.
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

    /// Takes these identities instead, for the calls that begin from now on. Calls and links that are open go on.
    pub(crate) fn replace(&self, identities: &[Identity]) {
        let known = Arc::new(Known::new(identities, self.insecure_loopback));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// The profile of identities that name none.
    pub(crate) fn default_profile(&self) -> &str {
        &self.default_profile
    }

    /// Tells who calls. A token, where there is one, speaks louder than a certificate; a bad token is
    /// never made good by a certificate.
    ///
    /// # Errors
    /// See [`AuthenticationError`]. Failures of one peer are counted; over the limit its tokens are
    /// refused unread, so that they cannot be guessed.
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
        // A call without credentials is no guess, and one that was not looked at is none either.
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
                    // The configuration was checked; what does not decode would match nothing.
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

/// The token of `Bearer TOKEN`; the scheme in any case, as HTTP has it.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
