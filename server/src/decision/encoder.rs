//! The encoding of decisions, which the gRPC edge supplies.

/// Encodes a decision by the profile with this name as `airlock.v1.Decision`.
pub type DecisionEncoder = fn(&airlock_policy::Decision, &str) -> Vec<u8>;
