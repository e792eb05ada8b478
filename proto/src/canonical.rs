//! A hash over fields, in a form that no two different sequences of fields share: each is preceded by its
//! length. Bindings, profile digests and request hashes are made with it.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// Bytes of the hash.
pub const HASH_BYTES: usize = 32;

/// SHA-256 over fields.
#[derive(Debug, Clone)]
pub struct CanonicalHash(Sha256);

impl CanonicalHash {
    /// Begins a hash. `domain` names what is hashed and the version of its form, so that hashes of
    /// different things are never equal.
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

    /// Adds a yes or no.
    pub fn flag(&mut self, value: bool) {
        self.number(u64::from(value));
    }

    /// Adds bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.update(value);
    }

    /// Adds bytes that may be absent; absent is not the same as empty.
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

    /// The hash.
    #[must_use]
    pub fn finish(self) -> [u8; HASH_BYTES] {
        self.0.finalize().into()
    }
}
