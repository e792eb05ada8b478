//! The broker: it replaces placeholders by secrets in requests, and secrets by placeholders in answers.
//!
//! A secret is inserted only into its header, and only if the header occurs once. All other places keep the
//! placeholder. Must not be used for a request that is not sent over verified TLS.

mod aws;
mod forms;

use std::{fmt, sync::Arc};

use airlock_network::Target;
use airlock_redact::{Patterns, Redactor, Replacement};
use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::{
    HeaderMap, Request, Response,
    ext::ReasonPhrase,
    header::{
        ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HeaderName, HeaderValue, IF_RANGE, RANGE,
        TRANSFER_ENCODING,
    },
};
use zeroize::Zeroizing;

use self::aws::Scope;
use super::{
    error::{Encoded, InspectionError},
    secret::{AwsKey, Secret, SecretUse},
};

/// Every byte of a secret in a body is held back until it is certain that the secret does not follow.
const HELD_FROM: usize = 1;
/// The random bytes of a placeholder.
const RANDOM: usize = 20;

/// The secrets of one execution.
pub(super) struct Broker {
    secrets: Vec<Placed>,
    /// `None`: there are no secrets.
    patterns: Option<Arc<Patterns>>,
}

/// A secret and its placeholder.
struct Placed {
    secret: Secret,
    placeholder: String,
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Broker")
    }
}

impl Broker {
    pub(super) fn new(secrets: Vec<Secret>) -> Result<Self, InspectionError> {
        let place = |secret| Ok(Placed { secret, placeholder: placeholder()? });
        let secrets: Vec<Placed> = secrets.into_iter().map(place).collect::<Result<_, getrandom::Error>>()?;
        let patterns = if secrets.is_empty() { None } else { Some(Arc::new(patterns(&secrets)?)) };
        Ok(Self { secrets, patterns })
    }

    pub(super) fn variables(&self) -> Vec<(String, String)> {
        self.secrets.iter().flat_map(|placed| placed.secret.kind.variables(&placed.placeholder)).collect()
    }

    pub(super) fn concerns(&self, target: &Target) -> bool {
        self.secrets.iter().any(|placed| placed.secret.concerns(target))
    }

    /// Inserts the secrets that are bound to a request. A request with a secret asks for the whole answer: parts of one
    /// that contains the secret would not be found.
    ///
    /// `body` is the whole body if [`Self::needs_body`].
    pub(super) fn insert<B>(&self, target: &Target, request: &mut Request<B>, body: Option<&[u8]>) {
        let (method, path) = (request.method().as_str().to_owned(), request.uri().path().to_owned());
        let mut inserted = false;
        for Placed { secret, placeholder } in &self.secrets {
            if !secret.permits(target, &method, &path) {
                continue;
            }
            inserted |= match &secret.kind {
                SecretUse::Header { header, value, .. } => {
                    replace(request.headers_mut(), header, placeholder, value.expose())
                }
                SecretUse::Aws(key) => sign(request, key, placeholder, body),
            };
        }
        if inserted {
            request.headers_mut().remove(RANGE);
            request.headers_mut().remove(IF_RANGE);
        }
    }

    /// Reports whether a secret signs this request, and the signature covers its body.
    pub(super) fn needs_body<B>(&self, target: &Target, request: &Request<B>) -> bool {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let signs = |placed: &Placed| {
            matches!(&placed.secret.kind, SecretUse::Aws(key) if scope(request, key, &placed.placeholder).is_some())
                && placed.secret.permits(target, method, path)
        };
        aws::needs_body(request.headers()) && self.secrets.iter().any(signs)
    }

    pub(super) fn prepare(&self, headers: &mut HeaderMap) {
        if self.patterns.is_some() {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
    }

    /// See [`super::Inspection::clean`].
    pub(super) fn clean<B>(&self, answer: &mut Response<B>) -> Result<Option<Redactor>, Encoded> {
        let Some(patterns) = &self.patterns else { return Ok(None) };
        if is_encoded(answer.headers()) {
            return Err(Encoded);
        }
        answer.extensions_mut().remove::<ReasonPhrase>();
        let headers = std::mem::take(answer.headers_mut());
        let mut name = None;
        for (next, value) in headers {
            // The name of a repeated header comes only with its first value.
            name = next.or(name);
            let Some(name) = name.clone().filter(|name| !patterns.is_in(name.as_str().as_bytes())) else {
                continue;
            };
            if let Ok(value) = HeaderValue::from_bytes(&patterns.replaced(value.as_bytes())) {
                answer.headers_mut().append(name, value);
            }
        }
        Ok(Some(Redactor::new(Arc::clone(patterns))))
    }
}

/// Returns the signature of a command that signed with this placeholder.
fn scope<'a, B>(request: &'a Request<B>, key: &AwsKey, placeholder: &str) -> Option<Scope<'a>> {
    let mut all = request.headers().get_all(AUTHORIZATION).iter();
    let (Some(given), None) = (all.next(), all.next()) else { return None };
    Scope::parse(given.to_str().ok()?).filter(|scope| scope.fits(placeholder, key))
}

/// Replaces the signature of a command. Returns whether it was there.
fn sign<B>(request: &mut Request<B>, key: &AwsKey, placeholder: &str, body: Option<&[u8]>) -> bool {
    let signed = scope(request, key, placeholder)
        .and_then(|scope| aws::authorization(key, &scope, request, body))
        .and_then(|text| HeaderValue::try_from(text).ok());
    let Some(signed) = signed else { return false };
    request.headers_mut().insert(AUTHORIZATION, signed);
    true
}

/// Reports whether a body has an encoding beside chunks.
fn is_encoded(headers: &HeaderMap) -> bool {
    let other_than = |name: HeaderName, plain: &str| {
        headers.get_all(name).iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(plain.as_bytes()))
    };
    other_than(CONTENT_ENCODING, "identity") || other_than(TRANSFER_ENCODING, "chunked")
}

/// Replaces the placeholder in a header that occurs once, also inside the credential of basic authentication. Returns
/// whether it was there.
fn replace(headers: &mut HeaderMap, name: &HeaderName, placeholder: &str, value: &[u8]) -> bool {
    let mut all = headers.get_all(name).iter();
    let (Some(given), None) = (all.next(), all.next()) else { return false };
    let Some(text) = with_value(given.as_bytes(), placeholder.as_bytes(), value) else { return false };
    let Ok(mut inserted) = HeaderValue::from_bytes(&text) else { return false };
    inserted.set_sensitive(true);
    headers.insert(name, inserted);
    true
}

/// Returns the header's text with the value. `None`: it does not contain the placeholder.
fn with_value(text: &[u8], placeholder: &[u8], value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    if let Some(whole) = replaced_once(text, placeholder, value) {
        return Some(whole);
    }
    let (scheme, encoded) = text.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim_ascii()).ok()?;
    let credential = replaced_once(&decoded, placeholder, value)?;
    Some(Zeroizing::new(format!("Basic {}", BASE64_STANDARD.encode(&*credential)).into_bytes()))
}

fn replaced_once(text: &[u8], placeholder: &[u8], value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let at = text.windows(placeholder.len()).position(|window| window == placeholder)?;
    let (before, rest) = text.split_at_checked(at)?;
    let after = rest.get(placeholder.len()..)?;
    Some(Zeroizing::new([before, value, after].concat()))
}

fn placeholder() -> Result<String, getrandom::Error> {
    let mut bytes = [0; RANDOM];
    getrandom::fill(&mut bytes)?;
    Ok(format!("airlock_placeholder_{}", hex::encode(bytes)))
}

fn patterns(secrets: &[Placed]) -> Result<Patterns, InspectionError> {
    let mut forms = Vec::new();
    for Placed { secret, placeholder } in secrets {
        forms.extend(forms::of(secret.kind.value()).into_iter().map(|form| (form, placeholder.as_bytes())));
    }
    let all: Vec<_> = forms.iter().map(|(value, tag)| Replacement { value, tag }).collect();
    Patterns::new(&all, HELD_FROM).map_err(|_| InspectionError::Search)
}
