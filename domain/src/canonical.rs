//! A hash over a sequence of fields. Each field is preceded by its length, so that different sequences have
//! different encodings. Bindings, profile digests and request hashes use it.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// The length of the hash in bytes.
pub const HASH_BYTES: usize = 32;

/// SHA-256 over fields.
#[derive(Debug, Clone)]
pub struct CanonicalHash(Sha256);

impl CanonicalHash {
    /// Begins a hash. `domain` names the kind of the hashed object and the version of its encoding, so that
    /// hashes of different kinds are never equal.
    #[must_use]
    pub fn new(domain: &[u8]) -> Self {
        let mut hash = Self(Sha256::new());
        hash.bytes(domain);
        hash
    }

    /// Adds a number.
    pub fn number(&mut self, value: u64) {
        self.0.update(value.to_be_bytes());
    }

    /// Adds a Boolean value.
    pub fn flag(&mut self, value: bool) {
        self.number(u64::from(value));
    }

    /// Adds bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.update(value);
    }

    /// Adds optional bytes. Absent differs from empty.
    pub fn optional(&mut self, value: Option<impl AsRef<[u8]>>) {
        self.flag(value.is_some());
        if let Some(value) = value {
            self.bytes(value.as_ref());
        }
    }

    /// Adds a list.
    pub fn list<T: AsRef<[u8]>>(&mut self, values: impl ExactSizeIterator<Item = T>) {
        self.number(values.len() as u64);
        for value in values {
            self.bytes(value.as_ref());
        }
    }

    /// Adds variables.
    pub fn env(&mut self, env: &BTreeMap<String, Vec<u8>>) {
        self.number(env.len() as u64);
        for (name, value) in env {
            self.bytes(name.as_bytes());
            self.bytes(value);
        }
    }

    /// Returns the hash.
    #[must_use]
    pub fn finish(self) -> [u8; HASH_BYTES] {
        self.0.finalize().into()
    }
}
