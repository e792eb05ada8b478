//! The options of a view.

use super::super::terminal::Terminal;
use airlock_embedded::state::StateDirectory;

/// The options of a view.
#[derive(Debug, Clone, Default)]
pub(in crate::command) struct ViewOptions {
    /// Print events as JSON lines instead of the output.
    pub(in crate::command) json: bool,
    /// This view started the command, so Ctrl-C and a closed standard output end it.
    pub(in crate::command) owns: bool,
    /// Forward standard input to the command.
    pub(in crate::command) input: bool,
    /// Connect this terminal to the command.
    pub(in crate::command) terminal: Option<Terminal>,
    /// Show only the output, and return 0 for every result.
    pub(in crate::command) log: bool,
    /// The server stops with the view, so no command can continue.
    pub(in crate::command) local: bool,
    /// Print notes about the result, and mark output that looks like one.
    pub(in crate::command) notes: bool,
    /// The state directory of the server if it is a dev. When the dev has ended, the view stops waiting.
    pub(in crate::command) dev: Option<StateDirectory>,
}
