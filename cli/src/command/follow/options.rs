//! The options of a view.

use super::super::terminal::Terminal;
use airlock_embedded::state::StateDirectory;

/// The options of a view.
#[derive(Debug, Clone, Default)]
pub(super) struct ViewOptions {
    /// Print events as JSON lines instead of the output.
    pub(super) json: bool,
    /// This view started the command, so Ctrl-C and a closed standard output end it.
    pub(super) owns: bool,
    /// Forward standard input to the command.
    pub(super) input: bool,
    /// Connect this terminal to the command.
    pub(super) terminal: Option<Terminal>,
    /// Show only the output, and return 0 for every result.
    pub(super) log: bool,
    /// The server stops with the view, so nothing can keep running.
    pub(super) local: bool,
    /// Print notes about the result, and mark output that looks like one.
    pub(super) notes: bool,
    /// The state directory of the server if it is a dev. When the dev has ended, the view stops waiting.
    pub(super) dev: Option<StateDirectory>,
}
