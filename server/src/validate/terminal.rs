//! Terminals in requests: their sizes and types.

use airlock_domain::{
    Pty, TerminalSize,
    limits::{TERM_BYTES, TERMINAL_CELLS},
};
use airlock_proto::v1;

use super::checker::Checker;

/// The default terminal type, which nearly every program supports.
const DEFAULT_TERM: &str = "xterm";

impl Checker {
    /// Validates a terminal.
    pub(super) fn pty(&mut self, field: &str, pty: v1::Pty) -> Pty {
        let TerminalSize { rows, cols } = TerminalSize::DEFAULT;
        let size = TerminalSize {
            rows: self.side(&format!("{field}.rows"), pty.rows, Some(rows)),
            cols: self.side(&format!("{field}.cols"), pty.cols, Some(cols)),
        };
        let term = if pty.term.is_empty() { DEFAULT_TERM.to_owned() } else { pty.term };
        if !is_plain(&term) {
            self.bad(
                &format!("{field}.term"),
                format!("must begin with a letter or digit, and contain only letters, digits, `.`, `_`, `+` and `-`, at most {TERM_BYTES} bytes"),
            );
        }
        Pty { size, term }
    }

    /// Validates rows or columns. 0 is replaced by `default`, if there is one.
    pub(super) fn side(&mut self, field: &str, value: u32, default: Option<u16>) -> u16 {
        match u16::try_from(value) {
            Ok(0) if default.is_some() => default.unwrap_or_default(),
            Ok(side) if (1..=TERMINAL_CELLS).contains(&side) => side,
            _ => {
                let least = u16::from(default.is_none());
                self.bad(field, format!("is {value}, must be {least} to {TERMINAL_CELLS}"));
                1
            }
        }
    }
}

/// Reports whether the text is a plain name. Programs look for a file with this name.
fn is_plain(term: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    term.len() <= TERM_BYTES
        && term.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && term.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use airlock_control::api::ApiError;

    use super::*;
    use crate::validate;

    fn started(pty: v1::Pty, separate_stderr: bool) -> Result<validate::Start, Vec<String>> {
        let command = "top".into();
        let spec = v1::ExecutionSpec { command, pty: Some(pty), separate_stderr, ..Default::default() };
        validate::start(Some(spec)).map_err(|error| match error {
            ApiError::Invalid(violations) => violations.into_iter().map(|bad| bad.field).collect(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn what_is_not_said_is_usual_and_a_terminal_is_an_input() {
        let command = started(v1::Pty::default(), false).unwrap().request.command;
        let usual = Pty { size: TerminalSize { rows: 24, cols: 80 }, term: "xterm".to_owned() };
        assert_eq!(command.pty, Some(usual));
        assert!(command.stdin);
        let pty = v1::Pty { rows: 4096, cols: 1, term: "tmux-256color".to_owned() };
        let command = started(pty, false).unwrap().request.command;
        assert_eq!(command.pty.unwrap().size, TerminalSize { rows: 4096, cols: 1 });
    }

    #[test]
    fn every_bad_field_of_a_terminal_is_named_at_once() {
        let pty = v1::Pty { rows: 4097, cols: 65_536 + 80, term: "../x".to_owned() };
        let mut found = started(pty, true).unwrap_err();
        found.sort();
        assert_eq!(found, ["spec.pty.cols", "spec.pty.rows", "spec.pty.term", "spec.separate_stderr"]);
        for term in ["-x", ".x", "a/b", "a b", "a\nb", "\u{e9}", "x\0", &"x".repeat(65)] {
            let pty = v1::Pty { term: term.to_owned(), ..Default::default() };
            assert_eq!(started(pty, false).unwrap_err(), ["spec.pty.term"], "{term:?}");
        }
    }
}
