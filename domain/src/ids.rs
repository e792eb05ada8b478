//! Identifiers. The server creates those of executions, sessions, approvals and rules as UUIDv7, which sort
//! by time. Runners have configured names.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::encoding;

/// An error for a text that is not a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct IdError {
    text: String,
    expected: &'static str,
}

impl IdError {
    fn new(text: &str, expected: &'static str) -> Self {
        let mut text: String = text.chars().take(64).collect();
        text.retain(|c| !c.is_control());
        Self { text, expected }
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates an identifier that sorts after all earlier ones of this process.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "each call returns a new value")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// Returns the 16 bytes of the identifier.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                encoding::text::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                encoding::text::deserialize(deserializer)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                if text.len() != 36 {
                    return Err(IdError::new(text, $expected));
                }
                Uuid::parse_str(text).map(Self).map_err(|_| IdError::new(text, $expected))
            }
        }
    };
}

uuid_id!(
    /// The ID of an execution, unique across all tenants.
    ExecutionId,
    "an execution id (a hyphenated UUID)"
);
uuid_id!(
    /// The ID of a session.
    SessionId,
    "a session id (a hyphenated UUID)"
);
uuid_id!(
    /// The ID of an approval.
    ApprovalId,
    "an approval id (a hyphenated UUID)"
);
uuid_id!(
    /// The ID of a remembered rule.
    RuleId,
    "a rule id (a hyphenated UUID)"
);

uuid_id!(
    /// The ID of a forwarded connection.
    ForwardId,
    "the id of a forwarded connection (a hyphenated UUID)"
);

/// The configured name of a runner: 1 to 63 letters, digits, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunnerId(String);

impl RunnerId {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunnerId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let fits = (1..=63).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::new(text, "a runner id (1 to 63 of a-z A-Z 0-9 . _ -)"))
        }
    }
}

/// The ID of one start of a runner's process. Jobs that an earlier epoch accepted and did not finish are
/// lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(Uuid);

impl Epoch {
    /// Creates a random epoch.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each call returns a new value")]
    pub fn new() -> Self {
        Self(Uuid::new_v4())
    }

    /// Returns the 16 bytes of the epoch.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Returns the epoch with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for Epoch {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.len() != 36 {
            return Err(IdError::new(text, "a runner epoch (a hyphenated UUID)"));
        }
        Uuid::parse_str(text).map(Self).map_err(|_| IdError::new(text, "a runner epoch (a hyphenated UUID)"))
    }
}
