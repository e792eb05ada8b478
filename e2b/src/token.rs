//! The secrets of the front: API keys, access tokens of sandboxes, and the signatures of file URLs. Comparisons take
//! constant time.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The random bytes of a token or an API key.
const RANDOM_BYTES: usize = 20;
/// The characters of a sandbox's ID after its first one. 20 of them have 103 bits.
const ID_CHARACTERS: usize = 20;
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// The start of an API key, as at E2B.
const KEY_PREFIX: &str = "e2b_";

/// The SHA-256 of an API key. The configuration contains no key itself.
#[derive(Debug, Clone, Copy)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Returns the hash of a key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// Parses 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Reports whether both hashes are equal, in constant time.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Returns the hash as hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }
}

/// Returns a new API key.
///
/// # Errors
/// If the system provides no random bytes.
pub fn new_key() -> Result<String, getrandom::Error> {
    Ok(format!("{KEY_PREFIX}{}", random_hex()?))
}

/// Returns the ID of a new sandbox. It cannot be guessed.
pub(crate) fn new_id() -> Result<String, getrandom::Error> {
    let mut id = String::from("i");
    let mut bytes = [0; 64];
    while id.len() <= ID_CHARACTERS {
        getrandom::fill(&mut bytes)?;
        // Without the largest bytes, each character is equally probable.
        let fair = bytes.iter().filter(|byte| usize::from(**byte) < 256 / ALPHABET.len() * ALPHABET.len());
        let characters = fair.filter_map(|byte| ALPHABET.get(usize::from(*byte) % ALPHABET.len()));
        id.extend(characters.take(ID_CHARACTERS + 1 - id.len()).map(|byte| char::from(*byte)));
    }
    Ok(id)
}

fn random_hex() -> Result<String, getrandom::Error> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// The access token of one sandbox.
#[derive(Clone)]
pub(crate) struct AccessToken(String);

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessToken(..)")
    }
}

/// The operation that a signature permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
}

/// A signed file URL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signed<'a> {
    pub(crate) path: &'a str,
    pub(crate) operation: Operation,
    pub(crate) user: &'a str,
    pub(crate) signature: &'a str,
    /// The time at which the signature expires, in seconds since 1970.
    pub(crate) expiration: Option<u64>,
}

impl AccessToken {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        random_hex().map(Self)
    }

    /// Returns the text for the response that creates the sandbox.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Reports whether a request has the token.
    pub(crate) fn matches(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }

    /// Reports whether the signature was made with the token for exactly this path, operation, user and expiration. The
    /// caller checks the time.
    pub(crate) fn has_signed(&self, signed: &Signed<'_>) -> bool {
        let Signed { path, user, .. } = signed;
        let operation = match signed.operation {
            Operation::Read => "read",
            Operation::Write => "write",
        };
        let mut raw = format!("{path}:{operation}:{user}:{}", self.0);
        if let Some(expiration) = signed.expiration {
            raw.push_str(&format!(":{expiration}"));
        }
        let expected = format!("v1_{}", STANDARD_NO_PAD.encode(Sha256::digest(raw.as_bytes())));
        expected.as_bytes().ct_eq(signed.signature.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests;
