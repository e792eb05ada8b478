//! A parsed snapshot, and the parser of its text, entry by entry.

use std::collections::{HashMap, HashSet};

use super::{powershell, zsh};
use crate::limits;
use crate::parse::is_name_byte;
use crate::tables::names;

/// A snapshot, parsed once for a session.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The text of each alias.
    pub(super) aliases: HashMap<Vec<u8>, Vec<u8>>,
    /// The names that are functions.
    functions: HashSet<Vec<u8>>,
    /// Whether the shell that loads the snapshot expands aliases.
    expands: bool,
    /// Whether case does not matter in names, because PowerShell loads the snapshot.
    folds: bool,
    /// Whether each word of a command counts as a name, because zsh loads the snapshot. Its grammar has command names
    /// that a parser of bash takes for arguments.
    anywhere: bool,
    /// Whether a part of it is not understood.
    opaque: bool,
}

impl Snapshot {
    /// Parses a snapshot in the form that bash prints: `alias -p`, `declare -f`, `shopt -p`, `set +o`, and variables.
    /// The function accepts every text. If it does not understand the text, the meaning of every name is unknown.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        match text.split(|byte| *byte == b'\n').nth(1) {
            Some(powershell::MARK) => {
                return Self { folds: true, ..Self::of_names(text, powershell::names) };
            }
            Some(zsh::MARK) => return Self { anywhere: true, ..Self::of_names(text, zsh::names) },
            _ => {}
        }
        // The shell that loads the snapshot expands aliases until the snapshot switches that off.
        let mut reader = Reader { rest: text, out: Self { expands: true, ..Self::default() } };
        let understood = text.len() <= limits::MAX_SNAPSHOT_BYTES && reader.entries().is_some();
        Self { opaque: !understood, ..reader.out }
    }

    /// Parses a snapshot of another shell. Its aliases are not expanded: their names are unknown, as those of functions
    /// are.
    fn of_names(text: &[u8], names: impl FnOnce(&[u8]) -> Option<HashSet<Vec<u8>>>) -> Self {
        let names = if text.len() <= limits::MAX_SNAPSHOT_BYTES { names(text) } else { None };
        let opaque = names.is_none();
        Self { functions: names.unwrap_or_default(), opaque, ..Self::default() }
    }

    /// Reports whether the meaning of the name is unknown: it is a function, or the snapshot is not
    /// understood.
    #[must_use]
    pub fn is_unknown(&self, name: &[u8]) -> bool {
        if !self.folds {
            return self.opaque || self.functions.contains(name);
        }
        // PowerShell also looks for `Get-NAME`.
        let name = String::from_utf8_lossy(name).to_lowercase();
        let has = |name: &str| self.functions.contains(name.as_bytes());
        self.opaque || has(&name) || has(&format!("get-{name}"))
    }

    /// Reports whether the name is an alias.
    pub(crate) fn is_alias(&self, name: &[u8]) -> bool {
        self.aliases.contains_key(name)
    }

    /// Returns the names of functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.functions.iter()
    }

    /// Reports whether each word of a command counts as a name.
    pub(crate) fn counts_each_word(&self) -> bool {
        self.anywhere
    }

    /// Reports whether the shell that loads the snapshot expands aliases.
    pub(crate) fn expands(&self) -> bool {
        self.expands
    }
}

/// Options that change how bash reads commands or finds directories.
const UNSAFE_OPTIONS: &[&[u8]] = &[
    b"keyword",
    b"posix",
    b"cdable_vars",
    b"extglob",
    b"lastpipe",
    b"localvar_inherit",
    b"histexpand",
    b"history",
    b"allexport",
];

struct Reader<'a> {
    rest: &'a [u8],
    out: Snapshot,
}

impl<'a> Reader<'a> {
    fn entries(&mut self) -> Option<()> {
        while !self.rest.is_empty() {
            self.entry()?;
        }
        Some(())
    }

    fn entry(&mut self) -> Option<()> {
        let line = self.rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            [] => self.skip_line(),
            [first, ..] if first.starts_with(b"#") => self.skip_line(),
            [b"alias", ..] => self.alias()?,
            [b"unalias", b"-a"] => {
                self.out.aliases.clear();
                self.skip_line();
            }
            [b"shopt", switch @ (b"-s" | b"-u"), options @ ..] => {
                self.options(options, *switch == b"-s")?;
                self.skip_line();
            }
            [b"set", switch @ (b"-o" | b"+o"), options @ ..] => {
                self.options(options, *switch == b"-o")?;
                self.skip_line();
            }
            [b"declare", flags, name] if flags.starts_with(b"-f") => {
                self.defines(name)?;
                self.skip_line();
            }
            [name, b"()"] | [b"function", name, b"()"] => self.function(name)?,
            _ => self.variable()?,
        }
        Some(())
    }

    /// Adds a function. `builtin` is refused, because the shell uses it after the snapshot to
    /// switch extended globs off.
    fn defines(&mut self, name: &[u8]) -> Option<()> {
        self.out.functions.insert(name.to_vec());
        (name != b"builtin").then_some(())
    }

    fn skip_line(&mut self) {
        let length = self.rest.iter().position(|byte| *byte == b'\n').map_or(self.rest.len(), |at| at + 1);
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    fn options(&mut self, options: &[&[u8]], on: bool) -> Option<()> {
        for option in options {
            let plain = option.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
            if !plain || (on && UNSAFE_OPTIONS.contains(option)) || (on && option.starts_with(b"compat")) {
                return None;
            }
            if *option == b"expand_aliases" {
                self.out.expands = on;
            }
        }
        Some(())
    }

    /// Parses `alias [-- ]NAME='text'`.
    fn alias(&mut self) -> Option<()> {
        let rest = self.rest.strip_prefix(b"alias ")?;
        let rest = rest.strip_prefix(b"-- ").unwrap_or(rest);
        let at = rest.iter().position(|byte| matches!(byte, b'=' | b'\n'))?;
        let (name, rest) = rest.split_at_checked(at)?;
        let ordinary = |byte: &u8| !byte.is_ascii_whitespace() && !b"/$`=\\'\"|&;()<>".contains(byte);
        let changes_grammar = crate::parse::RESERVED.contains(&name);
        if name.is_empty() || !name.iter().all(ordinary) || changes_grammar {
            return None;
        }
        let (text, rest) = value(rest.strip_prefix(b"=")?)?;
        self.out.aliases.insert(name.to_vec(), text);
        self.rest = rest;
        Some(())
    }

    /// Parses a function. As bash prints it, it ends with the first line that is `}`. If a line of
    /// a heredoc in it is `}`, the remaining text is not understood.
    fn function(&mut self, name: &[u8]) -> Option<()> {
        self.defines(name)?;
        loop {
            let line = self.rest.split(|byte| *byte == b'\n').next()?;
            let ends = line == b"}";
            if self.rest.is_empty() {
                return None;
            }
            self.skip_line();
            if ends {
                return Some(());
            }
        }
    }

    /// Parses `NAME=text`, `export NAME=text` or `declare -x NAME="text"` of a harmless variable.
    /// PATH is not one; a snapshot contains it in its first line, which is a comment.
    fn variable(&mut self) -> Option<()> {
        let mut rest = self.rest;
        for lead in [&b"export "[..], b"declare -x ", b"declare -- "] {
            rest = rest.strip_prefix(lead).unwrap_or(rest);
        }
        let at = rest.iter().position(|byte| matches!(byte, b'=' | b'\n'))?;
        let (name, rest) = rest.split_at_checked(at)?;
        let plain = name.iter().copied().all(is_name_byte);
        let harmless = !(names::is_dangerous_variable(name) || names::is_evaluated(name));
        if name.is_empty() || !plain || !harmless || names::is_set_by_bash(name) {
            return None;
        }
        let (_, rest) = value(rest.strip_prefix(b"=")?)?;
        self.rest = rest;
        Some(())
    }
}

/// Parses a value without expansions up to the end of its line. Returns the value and the text
/// after the line.
fn value(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        let Some((byte, tail)) = rest.split_first() else {
            return Some((out, rest));
        };
        rest = tail;
        match byte {
            b'\n' => return Some((out, rest)),
            b'\'' => {
                let end = rest.iter().position(|byte| *byte == b'\'')?;
                out.extend_from_slice(rest.get(..end)?);
                rest = rest.get(end + 1..)?;
            }
            b'$' if rest.starts_with(b"'") => {
                let body = rest.get(1..)?;
                let (decoded, used) = crate::parse::ansi_c(body);
                out.extend_from_slice(&decoded);
                rest = body.get(used..)?;
            }
            b'"' => rest = double_quoted(rest, &mut out)?,
            b'\\' => {
                let (next, tail) = rest.split_first().filter(|(next, _)| **next != b'\n')?;
                out.push(*next);
                rest = tail;
            }
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'_'
            | b'-'
            | b'.'
            | b'/'
            | b':'
            | b','
            | b'+'
            | b'@'
            | b'%' => {
                out.push(*byte);
            }
            _ => return None,
        }
    }
}

fn double_quoted<'t>(text: &'t [u8], out: &mut Vec<u8>) -> Option<&'t [u8]> {
    let mut rest = text;
    loop {
        let (byte, tail) = rest.split_first()?;
        rest = tail;
        match byte {
            b'"' => return Some(rest),
            b'$' | b'`' => return None,
            b'\\' => {
                let (next, tail) = rest.split_first()?;
                if !matches!(next, b'"' | b'\\' | b'$' | b'`') {
                    out.push(b'\\');
                }
                out.push(*next);
                rest = tail;
            }
            other => out.push(*other),
        }
    }
}
