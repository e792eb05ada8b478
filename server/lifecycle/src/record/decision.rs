//! Stored decisions. Plain data.

/// A stored decision. `verdict` and `read_only` are for the server; `encoded` holds the complete decision,
/// opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRecord {
    /// `ALLOW`, `ASK` or `DENY`.
    pub verdict: Verdict,
    /// The code of the deciding reason.
    pub reason_code: String,
    /// The message of the deciding reason.
    pub reason_message: String,
    /// The byte range in the command that the reason refers to, if there is a single one.
    pub reason_span: Option<(u32, u32)>,
    /// Runs on read-only mounts.
    pub read_only: bool,
    /// May run at the same time as other commands of the session.
    pub concurrency_safe: bool,
    /// The version of the rules that decided.
    pub policy_version: Vec<u8>,
    /// The encoded `airlock.v1.Decision`.
    pub encoded: Vec<u8>,
}

impl DecisionRecord {
    /// Returns the deciding reason and its span on one line. The span comes first, because a long line is cut
    /// at its end.
    #[must_use]
    pub fn explanation(&self) -> String {
        let place =
            self.reason_span.map(|(start, end)| format!(" (bytes {start} to {end})")).unwrap_or_default();
        let message: String = self
            .reason_message
            .chars()
            .map(
                |letter| {
                    if letter.is_control() { letter.escape_default().to_string() } else { letter.into() }
                },
            )
            .collect();
        format!("{}{place}: {message}", self.reason_code)
    }
}

/// The outcome of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The command may run.
    Allow,
    /// A person must answer.
    Ask,
    /// The command must not run.
    Deny,
}
