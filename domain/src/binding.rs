//! The hashes that decisions, approvals, grants and repeated requests are bound to, and the list of the fields
//! that they deliberately do not cover.
//!
//! Server and runner compute a grant's hash independently. It must depend on nothing except the grant.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{CreateSession, Grant, SandboxProfile, StartExecution, encoding};

/// The length of a SHA-256 digest in bytes.
pub const BINDING_BYTES: usize = HASH_BYTES;

impl Grant {
    /// The fields that [`Grant::binding`] does not cover. They do not change which command runs or what the
    /// command can access.
    pub const UNBOUND: &[Unbound<Self>] = &[
        Unbound {
            field: "command.pty.term",
            reason: "the program reads TERM from `env`, which is bound",
            clear: |grant| grant.command.pty.iter_mut().for_each(|pty| pty.term.clear()),
        },
        Unbound {
            field: "command.separate_stderr",
            reason: "the output contains the same bytes, in one stream or in two",
            clear: |grant| grant.command.separate_stderr = false,
        },
        Unbound {
            field: "command.timeout",
            reason: "the floor limits it; it ends the command and cannot start another one",
            clear: |grant| grant.command.timeout = Duration::ZERO,
        },
        Unbound {
            field: "command.idle_timeout",
            reason: "it ends a command before `timeout` and cannot start another one",
            clear: |grant| grant.command.idle_timeout = None,
        },
        Unbound {
            field: "command.inline_limit",
            reason: "the runner limits it; it selects how much of the kept output the result repeats",
            clear: |grant| grant.command.inline_limit = 0,
        },
        Unbound {
            field: "keep_directory",
            reason: "the runner reports a directory, and the next command is decided in it",
            clear: |grant| grant.keep_directory = false,
        },
    ];

    /// Returns the hash of the grant, which covers all fields except [`Grant::UNBOUND`].
    #[must_use]
    pub fn binding(&self) -> [u8; BINDING_BYTES] {
        hash(b"airlock grant v2", self, Self::UNBOUND)
    }

    /// Returns the bound fields that are not in `shown`, by their name, as JSON. A field that has its default is
    /// absent.
    #[must_use]
    pub fn further(&self, shown: &[&str]) -> BTreeMap<String, String> {
        let mut bound: BTreeMap<String, Value> = BTreeMap::new();
        let Ok(Value::Object(fields)) = encoding::decode(&self.encode()) else { return BTreeMap::new() };
        for (name, value) in fields {
            match value {
                Value::Object(inner) if name == "command" => {
                    bound.extend(inner.into_iter().map(|(part, value)| (format!("{name}.{part}"), value)));
                }
                value => drop(bound.insert(name, value)),
            }
        }
        let is_listed =
            |name: &str| shown.contains(&name) || Self::UNBOUND.iter().any(|unbound| unbound.field == name);
        bound.retain(|name, _| !is_listed(name));
        bound.into_iter().map(|(name, value)| (name, value.to_string())).collect()
    }
}

impl StartExecution {
    /// The fields that [`StartExecution::hash`] does not cover. They do not influence what runs.
    pub const UNBOUND: &[Unbound<Self>] = &[
        Unbound {
            field: "request_id",
            reason: "it is the key under which the hash is stored",
            clear: |request| request.request_id = None,
        },
        Unbound {
            field: "description",
            reason: "it is a text for people",
            clear: |request| request.description.clear(),
        },
        Unbound {
            field: "labels",
            reason: "they select records in lists; the labels that select a runner are `runner_labels`",
            clear: |request| request.labels.clear(),
        },
        Unbound {
            field: "traceparent",
            reason: "each retry has its own place in a trace",
            clear: |request| request.traceparent.clear(),
        },
    ];

    /// Returns the hash that identifies a repeated request with the same `request_id`. It covers all fields
    /// except [`StartExecution::UNBOUND`].
    #[must_use]
    pub fn hash(&self) -> [u8; HASH_BYTES] {
        hash(b"airlock start v2", self, Self::UNBOUND)
    }
}

impl CreateSession {
    /// The fields that [`CreateSession::hash`] does not cover. They do not influence the session's commands.
    pub const UNBOUND: &[Unbound<Self>] = &[
        Unbound {
            field: "request_id",
            reason: "it is the key under which the hash is stored",
            clear: |request| request.request_id = None,
        },
        Unbound {
            field: "labels",
            reason: "they select records in lists; the labels that select a runner are `runner_labels`",
            clear: |request| request.labels.clear(),
        },
    ];

    /// Returns the hash that identifies a repeated request with the same `request_id`. It covers all fields
    /// except [`CreateSession::UNBOUND`].
    #[must_use]
    pub fn hash(&self) -> [u8; HASH_BYTES] {
        hash(b"airlock session v2", self, Self::UNBOUND)
    }
}

impl SandboxProfile {
    /// Returns the SHA-256 of all settings that the sandbox is built from. It has no exceptions.
    #[must_use]
    pub fn digest(&self) -> [u8; BINDING_BYTES] {
        hash_whole(b"airlock sandbox profile v2", self)
    }
}

/// The length of the hash in bytes.
pub const HASH_BYTES: usize = 32;

/// A field that a hash deliberately does not cover.
#[derive(Debug)]
pub struct Unbound<T> {
    /// The path of the field in the encoding, such as `command.timeout`.
    pub field: &'static str,
    /// The reason why the field may change without a change of the hash.
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

#[cfg(test)]
mod tests;
