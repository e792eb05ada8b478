//! The file that an interactive `sh` runs before its own text: `ENV` names it, and bash
//! expands the name first. A text that sets the variable and starts such a shell is not
//! complete, in whatever order it does both.

use super::Walker;

pub(super) const VARIABLE: &[u8] = b"ENV";

/// The parts of this that the text contains so far.
#[derive(Debug, Default)]
pub(super) struct StartFile {
    is_named: bool,
    has_interactive_shell: bool,
}

impl Walker<'_> {
    /// Records that the text sets the variable, or that it starts an interactive shell.
    pub(super) fn note_start_file(&mut self, named: bool, interactive: bool, span: crate::Span) {
        if !named && !interactive {
            return;
        }
        self.start_file.is_named |= named;
        self.start_file.has_interactive_shell |= interactive;
        if self.start_file.is_named && self.start_file.has_interactive_shell {
            self.fail("launched_text_unknown", span);
        }
    }
}
