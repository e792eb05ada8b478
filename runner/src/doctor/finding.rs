//! The result of one check.

use airlock_sandbox::{Check, State};
use serde::Serialize;

/// The label of a failed check that commands need.
pub(super) const FAILED: &str = "failed";
/// The consequence of a failed check that every command needs.
const NO_COMMAND: &str = "no command runs until this is fixed";

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check, in one or two words.
    pub name: String,
    /// The state of the checked item.
    pub state: State,
    /// Whether commands cannot run without it.
    pub needed: bool,
    /// The observation, in one line.
    pub seen: String,
    /// The consequence if it does not work. Empty if there is no consequence.
    pub lost: String,
    /// The remedy. Empty if no action is needed.
    pub remedy: String,
}

impl Finding {
    /// Returns the finding of a passed check.
    #[must_use]
    pub fn ok(name: &str, seen: impl AsRef<str>) -> Self {
        Self::new(name, State::Ok, [seen.as_ref(), "", ""])
    }

    /// Returns the finding of an item that works with a limitation, and the remedy.
    #[must_use]
    pub fn degraded(name: &str, seen: impl AsRef<str>, lost: &str, remedy: impl AsRef<str>) -> Self {
        Self::new(name, State::Degraded, [seen.as_ref(), lost, remedy.as_ref()])
    }

    /// Returns the finding of an item that does not work, and that only some commands need.
    #[must_use]
    pub fn missing(name: &str, seen: impl AsRef<str>, lost: &str, remedy: impl AsRef<str>) -> Self {
        Self::new(name, State::Missing, [seen.as_ref(), lost, remedy.as_ref()])
    }

    /// Returns the finding of a required item that does not work, and the remedy.
    #[must_use]
    pub fn failed(name: &str, seen: impl AsRef<str>, remedy: impl AsRef<str>) -> Self {
        Self { needed: true, ..Self::new(name, State::Missing, [seen.as_ref(), NO_COMMAND, remedy.as_ref()]) }
    }

    /// Converts a result of the sandbox probe. `needed` states whether commands cannot run without it.
    #[must_use]
    pub fn of(check: &Check, needed: bool) -> Self {
        let Check { name, state, seen, lost, remedy } = check;
        Self { needed, ..Self::new(name, *state, [seen, lost, remedy]) }
    }

    fn new(name: &str, state: State, [seen, lost, remedy]: [&str; 3]) -> Self {
        Self {
            name: line(name),
            state,
            needed: false,
            seen: line(seen),
            lost: line(lost),
            remedy: line(remedy),
        }
    }

    /// Reports whether the finding keeps commands from running.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.needed && self.state != State::Ok
    }

    /// Returns the label of the state.
    pub(super) fn shown(&self) -> &'static str {
        if self.is_failure() { FAILED } else { self.state.as_str() }
    }
}

/// Replaces control characters: some texts come from other hosts.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
