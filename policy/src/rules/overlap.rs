//! Checks whether a shell glob and a rule's glob may name the same path. It compares texts, and
//! reports an overlap in case of doubt.

use std::collections::HashSet;

/// The longest text that is compared. Longer texts are assumed to overlap.
const LONGEST: usize = 512;

/// One element of a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// Any byte except a slash.
    One,
    /// Like `One`, but not a dot: the first byte of a name in a shell glob.
    VisibleOne,
    /// Any bytes except slashes.
    Part,
    /// Like `Part`, but without a leading dot: a star at the start of a name in a shell glob.
    Visible,
    /// Any bytes.
    Deep,
    /// Nothing, or any bytes that end with a slash.
    Directories,
}

impl Token {
    fn is_star(self) -> bool {
        matches!(self, Self::Part | Self::Visible | Self::Deep | Self::Directories)
    }

    /// Reports whether both can match the same byte.
    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::Byte(a), Self::Byte(b)) => a == b,
            (Self::Byte(b'.'), Self::VisibleOne) | (Self::VisibleOne, Self::Byte(b'.')) => false,
            (Self::Byte(byte), single) | (single, Self::Byte(byte)) => {
                byte != b'/' || matches!(single, Self::Deep | Self::Directories)
            }
            _ => true,
        }
    }
}

/// Reports whether the shell's glob may find a path that the rule's glob matches.
pub(crate) fn may_meet(shell: &str, rule: &str) -> bool {
    compare(shell, rule, true)
}

/// Like [`may_meet`], for a pattern that also finds names with a leading dot, such as that of `find
/// -name`.
pub(crate) fn may_meet_hidden(pattern: &str, rule: &str) -> bool {
    compare(pattern, rule, false)
}

fn compare(shell: &str, rule: &str, hides_dots: bool) -> bool {
    if shell.len() > LONGEST || rule.len() > LONGEST {
        return true;
    }
    let (shell, rule) = (tokens(shell, hides_dots), tokens(rule, false));
    Comparison { shell, rule }.meet()
}

fn tokens(glob: &str, hides_dots: bool) -> Vec<Token> {
    let bytes = glob.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begins = at == 0 || bytes.get(at - 1) == Some(&b'/');
        let one = if begins && hides_dots { Token::VisibleOne } else { Token::One };
        at += 1;
        match byte {
            b'*' if bytes.get(at) == Some(&b'*') && !hides_dots => {
                let whole = bytes.get(at + 1) == Some(&b'/');
                at += 1 + usize::from(whole);
                out.push(if whole { Token::Directories } else { Token::Deep });
            }
            b'*' if begins && hides_dots => out.push(Token::Visible),
            b'*' => out.push(Token::Part),
            b'?' => out.push(one),
            b'[' => match bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b']')) {
                Some(end) => {
                    at += end + 1;
                    out.push(one);
                }
                None => out.push(Token::Byte(b'[')),
            },
            // Alternatives are assumed to match anything.
            b'{' if !hides_dots => {
                let end = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'}'));
                at += end.map_or(0, |end| end + 1);
                out.push(Token::Deep);
            }
            b'\\' => {
                out.extend(bytes.get(at).map(|escaped| Token::Byte(*escaped)));
                at += 1;
            }
            other => out.push(Token::Byte(*other)),
        }
    }
    out
}

struct Comparison {
    shell: Vec<Token>,
    rule: Vec<Token>,
}

/// The positions in both globs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Positions {
    shell: usize,
    rule: usize,
    /// Whether a star that hides dots has matched its first byte.
    inside: bool,
    /// Whether a name starts here.
    fresh: bool,
}

impl Comparison {
    fn meet(&self) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![Positions { shell: 0, rule: 0, inside: false, fresh: true }];
        while let Some(positions) = open.pop() {
            if !seen.insert(positions) {
                continue;
            }
            let (a, b) = (self.shell.get(positions.shell).copied(), self.rule.get(positions.rule).copied());
            if a.is_none() && b.is_none() {
                return true;
            }
            if a.is_some_and(Token::is_star) {
                open.push(Positions { shell: positions.shell + 1, inside: false, ..positions });
            }
            if b.is_some_and(|b| b.is_star() && (b != Token::Directories || positions.fresh)) {
                open.push(Positions { rule: positions.rule + 1, ..positions });
            }
            open.extend(a.zip(b).and_then(|(a, b)| step(positions, a, b)));
        }
        false
    }
}

/// Advances both globs by the same byte.
fn step(positions: Positions, a: Token, b: Token) -> Option<Positions> {
    let hidden = a == Token::Visible && !positions.inside && b == Token::Byte(b'.');
    if hidden || !a.meets(b) {
        return None;
    }
    Some(Positions {
        shell: positions.shell + usize::from(!a.is_star()),
        rule: positions.rule + usize::from(!b.is_star()),
        inside: a.is_star(),
        fresh: a == Token::Byte(b'/') || b == Token::Byte(b'/'),
    })
}

#[cfg(test)]
mod tests {
    use super::may_meet;

    #[test]
    fn globs_meet_where_one_path_could_be_both() {
        for (shell, rule) in [
            (".e*", "**/.env"),
            (".en?", ".env"),
            ("a/.[e]nv", "a/.env"),
            ("*.pem", "*.pem"),
            ("s*/key", "secrets/**"),
            ("*/*", "a/b"),
            ("k*y", "*y"),
            ("x/.e*", "**/.env"),
            ("a*", "{abc,b}"),
        ] {
            assert!(may_meet(shell, rule) || may_meet(shell, &format!("{rule}/**")), "{shell} {rule}");
        }
    }

    #[test]
    fn globs_that_no_path_is_in_both_do_not_meet() {
        for (shell, rule) in [
            ("*", ".env"),
            ("*", "**/.env"),
            ("?env", ".env"),
            ("[.]env", ".env"),
            ("*.c", "*.h"),
            ("src/*", "secrets/**"),
            ("a/*", "a/b/c"),
            ("*/x", ".git/x"),
            ("x.env", "**/.env"),
            ("k*y", "*k"),
        ] {
            assert!(!may_meet(shell, rule), "{shell} {rule}");
        }
    }
}
