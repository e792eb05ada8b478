//! Attempts to type at a terminal on behalf of its user.

use crate::control::Control::Bubblewrap;
use crate::layer::Layer::{OwnSession, Seccomp};
use crate::row::{probe, program};

attempts! {
    typed: probe("terminal", "type").stopped_by(Seccomp, "EPERM").but(Bubblewrap(""));
    typed_with_bits_that_nobody_looks_at: probe("terminal", "type, with high bits").stopped_by(Seccomp, "EPERM").but(Bubblewrap(""));
    a_request_to_the_console: probe("terminal", "console").stopped_by(Seccomp, "EPERM").but(Bubblewrap(""));
    the_terminal_of_who_started_it: program("exec 3<>/dev/tty").stopped_by(OwnSession, "No such device")
        .control_words("script --quiet --return --command \"exec 3<>/dev/tty\" /dev/null").but(Bubblewrap(""));
}
