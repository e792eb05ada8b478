//! The inspection of TLS for one execution: which hosts, which requests, and which secrets.
//!
//! The proxy ends the TLS of a command for an inspected host with a certificate of the execution's own authority, checks
//! each request, and sends it over TLS that it verifies itself. The rules of requests hold for plain HTTP, too. Must not
//! decide whether a target may be reached.

mod authority;
mod broker;
mod error;
mod secret;
mod trust;

use std::{fmt, sync::Arc};

use airlock_network::{Host, RequestRule, Target};
use airlock_redact::Redactor;
use hyper::{HeaderMap, Request};
use rustls::{ClientConfig, ServerConfig};

pub(crate) use self::error::Encoded;
use self::{authority::Authority, broker::Broker};
pub use self::{
    error::InspectionError,
    secret::{AwsKey, Secret, SecretUse, SecretValue},
    trust::{Trust, TrustError},
};

/// Headers by which some servers take another method or URL than those of the request line.
const OVERRIDES: [&str; 6] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-forwarded-prefix",
];

/// The inspection of one execution. Its `Debug` form contains no key and no secret.
pub struct Inspection {
    trust: Arc<Trust>,
    authority: Authority,
    /// The inspected hosts, and the requests that are permitted to them.
    rules: Vec<RequestRule>,
    broker: Broker,
}

impl fmt::Debug for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspection").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Inspection {
    /// Creates the authority and the placeholders of an execution.
    ///
    /// A request to a host that a rule concerns must be permitted by one of the rules. The hosts of the secrets are
    /// inspected, too.
    ///
    /// # Errors
    ///
    /// See [`InspectionError`].
    pub fn new(
        trust: Arc<Trust>,
        rules: Vec<RequestRule>,
        secrets: Vec<Secret>,
    ) -> Result<Self, InspectionError> {
        Ok(Self { trust, authority: Authority::new()?, rules, broker: Broker::new(secrets)? })
    }

    /// Returns the authorities that the command must trust, in PEM: those of the system, and last the execution's own.
    #[must_use]
    pub fn certificates(&self) -> String {
        format!("{}{}", self.trust.pem(), self.authority.pem())
    }

    /// Returns the variables with the placeholders.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        self.broker.variables()
    }

    /// Reports whether the TLS of a target is inspected.
    pub(crate) fn covers(&self, target: &Target) -> bool {
        self.rules.iter().any(|rule| rule.concerns(target)) || self.broker.concerns(target)
    }

    /// Returns the TLS settings that present a certificate of this host.
    pub(crate) fn server(&self, host: &Host) -> Result<Arc<ServerConfig>, InspectionError> {
        self.authority.server(host)
    }

    /// Returns the TLS settings that verify a target.
    pub(crate) fn client(&self) -> Arc<ClientConfig> {
        self.trust.client()
    }

    /// Returns why a request is not permitted.
    pub(crate) fn refusal<B>(&self, target: &Target, request: &Request<B>) -> Option<&'static str> {
        let concerned: Vec<&RequestRule> = self.rules.iter().filter(|rule| rule.concerns(target)).collect();
        if concerned.is_empty() && !self.broker.concerns(target) {
            return None;
        }
        if OVERRIDES.iter().any(|name| request.headers().contains_key(*name)) {
            return Some("a header names another method or path; remove it");
        }
        let (method, path) = (request.method().as_str(), request.uri().path());
        let permitted = concerned.is_empty() || concerned.iter().any(|rule| rule.permits(method, path));
        if permitted {
            return None;
        }
        Some(
            "no entry permits its method and path; add `METHOD HOST/PATH` to `network.inspect` of the profile",
        )
    }

    /// Inserts secrets into a request over verified TLS. Headers change only if a secret is bound to the request.
    ///
    /// `body` is the whole body if [`Self::needs_body`].
    pub(crate) fn insert<B>(&self, target: &Target, request: &mut Request<B>, body: Option<&[u8]>) {
        self.broker.insert(target, request, body);
    }

    /// Reports whether the whole body is needed to insert a secret.
    pub(crate) fn needs_body<B>(&self, target: &Target, request: &Request<B>) -> bool {
        self.broker.needs_body(target, request)
    }

    /// Prepares a request so that the proxy can search its answer for secrets.
    pub(crate) fn prepare(&self, headers: &mut HeaderMap) {
        self.broker.prepare(headers);
    }

    /// Replaces secrets in the head of an answer, and returns the redactor of its body. `None`: there are no secrets.
    ///
    /// # Errors
    ///
    /// Fails if the body is encoded, so that the proxy cannot search it.
    pub(crate) fn clean<B>(&self, answer: &mut hyper::Response<B>) -> Result<Option<Redactor>, Encoded> {
        self.broker.clean(answer)
    }
}
