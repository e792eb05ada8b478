//! Identifiers. Those of executions, sessions, approvals and rules are made by the server (UUIDv7, so they
//! sort by time); those of runners come from their configuration.

use std::{fmt, str::FromStr};

use uuid::Uuid;

/// An identifier that could not be read.
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
            /// A new identifier that sorts after all that this process made before.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "each call gives another value")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The sixteen bytes of the identifier.
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
    /// Names an execution, for all time and across tenants.
    ExecutionId,
    "an execution id (a hyphenated UUID)"
);
uuid_id!(
    /// Names a session.
    SessionId,
    "a session id (a hyphenated UUID)"
);
uuid_id!(
    /// Names an approval.
    ApprovalId,
    "an approval id (a hyphenated UUID)"
);
uuid_id!(
    /// Names a remembered rule.
    RuleId,
    "a rule id (a hyphenated UUID)"
);

/// The configured name of a runner: 1 to 63 letters, digits, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunnerId(String);

impl RunnerId {
    /// The name as text.
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

/// One life of a runner's process. What an earlier epoch accepted and did not finish is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(Uuid);

impl Epoch {
    /// A random epoch.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each call gives another value")]
    pub fn new() -> Self {
        Self(Uuid::new_v4())
    }

    /// The sixteen bytes of the epoch.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The epoch with these bytes.
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
