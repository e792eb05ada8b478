//! Signatures of AWS, version 4, in the header `Authorization`.
//!
//! The command signs with its placeholder, and the proxy signs the same request again with the real key. See
//! [the documentation](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).

use hmac::{Hmac, KeyInit, Mac};
use hyper::{HeaderMap, Request, header::HeaderName};
use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::forms::UNRESERVED;
use crate::inspection::secret::AwsKey;

/// The algorithm, which begins the header.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The characters that stay in a path.
const PATH: AsciiSet = UNRESERVED.remove(b'/');
/// The header with the hash of the body.
const BODY_HASH: &str = "x-amz-content-sha256";
/// The value of [`BODY_HASH`] if the body is not part of the signature.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// The parts of a signature that the command chose.
pub(super) struct Scope<'a> {
    access_key: &'a str,
    date: &'a str,
    region: &'a str,
    service: &'a str,
    signed: Vec<&'a str>,
}

impl<'a> Scope<'a> {
    /// Parses the header `Authorization`. `None`: it is no signature of this version.
    pub(super) fn parse(header: &'a str) -> Option<Self> {
        let fields =
            header.strip_prefix(ALGORITHM)?.split(',').filter_map(|field| field.trim().split_once('='));
        let field = |name: &str| fields.clone().find(|(known, _)| *known == name).map(|(_, value)| value);
        let parts: Vec<&str> = field("Credential")?.split('/').collect();
        let [access_key, date, region, service, "aws4_request"] = *parts.as_slice() else { return None };
        let signed = field("SignedHeaders")?.split(';').collect();
        Some(Self { access_key, date, region, service, signed })
    }

    /// Reports whether the command signed with this placeholder, for the region and the service of this key.
    pub(super) fn fits(&self, placeholder: &str, key: &AwsKey) -> bool {
        self.access_key == placeholder && self.region == key.region && self.service == key.service
    }
}

/// Reports whether the signature of a request covers a body of which no header tells the hash.
pub(super) fn needs_body(headers: &HeaderMap) -> bool {
    !headers.contains_key(BODY_HASH)
}

/// Returns the header `Authorization` of a request. `None`: the request cannot be signed, such as one whose body is
/// signed in parts.
pub(super) fn authorization<B>(
    key: &AwsKey,
    scope: &Scope<'_>,
    request: &Request<B>,
    body: Option<&[u8]>,
) -> Option<String> {
    let headers = request.headers();
    let hash = match (headers.get(BODY_HASH), body) {
        (Some(hash), _) => hash.to_str().ok()?.to_owned(),
        (None, Some(body)) => sha256(body),
        (None, None) => return None,
    };
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash && hash != UNSIGNED {
        return None;
    }
    let time = headers.get("x-amz-date")?.to_str().ok()?;
    if !time.starts_with(scope.date) || scope.date.len() != 8 {
        return None;
    }
    let names = signed_headers(headers, &scope.signed);
    let canonical = canonical(request, &names, &hash, key.service == "s3")?;
    let place = format!("{}/{}/{}/aws4_request", scope.date, key.region, key.service);
    let text = format!("{ALGORITHM}\n{time}\n{place}\n{}", sha256(canonical.as_bytes()));
    let signature = hex::encode(&*hmac(&signing_key(key, scope.date)?, text.as_bytes())?);
    let (id, names) = (&key.access_key_id, names.join(";"));
    Some(format!("{ALGORITHM} Credential={id}/{place}, SignedHeaders={names}, Signature={signature}"))
}

/// Returns the names of the signed headers in order: those that the command signed and that are still there, the host,
/// and those of AWS.
fn signed_headers(headers: &HeaderMap, signed: &[&str]) -> Vec<String> {
    let is_signed = |name: &&HeaderName| {
        let name = name.as_str();
        name != "authorization" && (name == "host" || name.starts_with("x-amz-") || signed.contains(&name))
    };
    let mut names: Vec<String> = headers.keys().filter(is_signed).map(ToString::to_string).collect();
    names.sort();
    names
}

fn canonical<B>(request: &Request<B>, names: &[String], hash: &str, is_s3: bool) -> Option<String> {
    let path = request.uri().path();
    // Only S3 takes the path as it is sent.
    let path = if is_s3 { path.to_owned() } else { utf8_percent_encode(path, &PATH).to_string() };
    let mut pairs = Vec::new();
    for pair in request.uri().query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.push((encoded_again(name)?, encoded_again(value)?));
    }
    pairs.sort();
    let query: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut lines = String::new();
    for name in names {
        let values: Result<Vec<&str>, _> =
            request.headers().get_all(name).iter().map(|one| one.to_str()).collect();
        let values: Vec<String> = values.ok()?.into_iter().map(single_blanks).collect();
        lines.push_str(&format!("{name}:{}\n", values.join(",")));
    }
    let (method, query, names) = (request.method(), query.join("&"), names.join(";"));
    Some(format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{hash}"))
}

fn encoded_again(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(utf8_percent_encode(&decoded, &UNRESERVED).to_string())
}

fn single_blanks(value: &str) -> String {
    value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn signing_key(key: &AwsKey, date: &str) -> Option<Zeroizing<Vec<u8>>> {
    let start = Zeroizing::new([b"AWS4", key.secret.expose()].concat());
    let parts = [date, &key.region, &key.service, "aws4_request"];
    parts.iter().try_fold(start, |key, part| hmac(&key, part.as_bytes()))
}

fn hmac(key: &[u8], text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    // Every length of a key is accepted.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text);
    Some(Zeroizing::new(mac.finalize().into_bytes().to_vec()))
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
