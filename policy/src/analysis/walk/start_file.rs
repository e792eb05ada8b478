//! The file that an interactive `sh` runs before its own text: `ENV` names it, and bash
//! expands the name first. A text that sets the variable and starts such a shell is not
//! complete, in whatever order it does both.

pub(super) const VARIABLE: &[u8] = b"ENV";

/// The parts of this that the text contains so far.
#[derive(Debug, Default)]
pub(super) struct StartFile {
    is_named: bool,
    has_interactive_shell: bool,
}

impl StartFile {
    /// Records that the text sets the variable, or that it starts an interactive shell. Reports whether the text then
    /// does both.
    pub(super) fn note(&mut self, named: bool, interactive: bool) -> bool {
        self.is_named |= named;
        self.has_interactive_shell |= interactive;
        (named || interactive) && self.is_named && self.has_interactive_shell
    }
}
