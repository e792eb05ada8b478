//! The hash that bindings, profile digests and request hashes share. Each part is preceded by its length, so
//! that different sequences of parts have different encodings.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::encoding;

/// The length of the hash in bytes.
pub const HASH_BYTES: usize = 32;

/// A field that a hash deliberately does not cover.
#[derive(Debug)]
pub struct Unbound<T> {
    /// The path of the field in the encoding, such as `command.timeout`.
    pub field: &'static str,
    /// Why the field may change without a change of the hash.
    pub reason: &'static str,
    /// Gives the field a fixed value.
    pub clear: fn(&mut T),
}

/// Returns the SHA-256 of the canonical encoding of `value` with fixed values in its unbound fields. `domain`
/// names the kind of the hashed object and the version of the hash, so that hashes of different kinds are never
/// equal.
///
/// The whole encoding is hashed. A field that is added to the type is bound unless `unbound` names it.
#[must_use]
pub fn hash<T: Clone + Serialize>(domain: &[u8], value: &T, unbound: &[Unbound<T>]) -> [u8; HASH_BYTES] {
    let mut bound = value.clone();
    for field in unbound {
        (field.clear)(&mut bound);
    }
    hash_whole(domain, &bound)
}

/// Returns the SHA-256 of the canonical encoding of `value`, without exceptions. See [`hash`].
#[must_use]
pub fn hash_whole(domain: &[u8], value: &impl Serialize) -> [u8; HASH_BYTES] {
    let encoded = encoding::encode(value);
    let mut hash = Sha256::new();
    for part in [domain, &encoded] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
