//! Reads a snapshot of zsh: one definition after another, in the exact form that the runner prints. Any other text is not
//! understood.

use std::collections::HashSet;

/// The second line, which marks such a snapshot.
pub(super) const MARK: &[u8] = b"# shell=zsh";
/// Options that change how zsh reads quotes and braces, finds programs, or expands assignments, when they are on.
const UNSAFE_OPTIONS: [&[u8]; 14] = [
    b"allexport",
    b"autocd",
    b"cdablevars",
    b"cshjunkiequotes",
    b"globassign",
    b"globsubst",
    b"ignorebraces",
    b"ignoreclosebraces",
    b"magicequalsubst",
    b"pathdirs",
    b"pathscript",
    b"posixaliases",
    b"rcquotes",
    b"shglob",
];
/// The builtin with which the runner's script sets options after the snapshot.
const BUILTIN: &[u8] = b"builtin";

/// Returns the names of functions and aliases. `None` if a part is not understood.
pub(super) fn names(text: &[u8]) -> Option<HashSet<Vec<u8>>> {
    let mut rest = Rest(text);
    let mut names = HashSet::new();
    rest.line().filter(|line| line.starts_with(b"# PATH="))?;
    rest.line().filter(|line| *line == MARK)?;
    while !rest.0.is_empty() {
        if rest.skip(b"functions[") {
            let name = rest.until(b"]='").filter(|name| *name != BUILTIN)?;
            names.insert(name.to_vec());
            rest.quoted()?;
        } else if rest.skip(b"alias -- ") {
            names.insert(rest.until(b"='")?.to_vec());
            rest.quoted()?;
        } else {
            option(rest.line()?)?;
        }
    }
    Some(names)
}

/// Accepts a line that sets an option.
fn option(line: &[u8]) -> Option<()> {
    let on = line.strip_prefix(b"setopt ");
    let name = on.or_else(|| line.strip_prefix(b"unsetopt "))?;
    let plain = !name.is_empty() && name.iter().all(u8::is_ascii_lowercase);
    (plain && !(on.is_some() && UNSAFE_OPTIONS.contains(&name))).then_some(())
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, start: &[u8]) -> bool {
        let behind = self.0.strip_prefix(start);
        self.0 = behind.unwrap_or(self.0);
        behind.is_some()
    }

    /// Reads a line, which must have an end.
    fn line(&mut self) -> Option<&'a [u8]> {
        let at = self.0.iter().position(|byte| *byte == b'\n')?;
        let line = self.0.get(..at)?;
        self.0 = self.0.get(at + 1..)?;
        Some(line)
    }

    /// Reads a plain name before the text that must follow it.
    fn until(&mut self, end: &[u8]) -> Option<&'a [u8]> {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:+@-".contains(byte);
        let length = self.0.iter().take_while(|byte| plain(byte)).count();
        let (name, behind) = self.0.split_at_checked(length)?;
        self.0 = behind.strip_prefix(end)?;
        (!name.is_empty()).then_some(name)
    }

    /// Skips the rest of a string in single quotes, and the end of its line. A quote in it is `'\''`.
    fn quoted(&mut self) -> Option<()> {
        loop {
            let at = self.0.iter().position(|byte| *byte == b'\'')?;
            self.0 = self.0.get(at + 1..)?;
            if self.skip(b"\n") {
                return Some(());
            }
            self.0 = self.0.strip_prefix(b"\\''")?;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::snapshot::Snapshot;
    use crate::{Profile, Request, Rules, Shell, Verdict, decide};

    const START: &str = "# PATH=/usr/bin\n# shell=zsh\n";

    fn asks(snapshot: &str, command: &str) -> bool {
        let snapshot = Snapshot::parse(snapshot.as_bytes());
        let rule = format!("Bash({command})");
        let rules = Rules::parse(&[rule.as_str()], &[], &[]).unwrap();
        let request = Request {
            shell: Shell::Zsh,
            snapshot: Some(&snapshot),
            extra_rules: Some(&rules),
            ..Request::bash(command.as_bytes())
        };
        decide(&request, &Profile::blank("p")).verdict == Verdict::Ask
    }

    #[test]
    fn a_name_of_the_snapshot_is_unknown_at_any_place_of_a_command() {
        let snapshot = format!(
            "{START}functions[deploy]='\techo \"it'\\''s\"\n\trm x'\nsetopt nullglob\nunsetopt nomatch\n\
             alias -- ll='ls -l'\n"
        );
        for command in
            ["deploy", "ll", "ll x", "repeat 3 ll", "noglob deploy x", "make; ll", "echo $(deploy)"]
        {
            assert!(asks(&snapshot, command), "{command}");
        }
        for command in ["make", "make rm", "ls -l"] {
            assert!(!asks(&snapshot, command), "{command}");
        }
    }

    #[test]
    fn every_name_is_unknown_if_a_part_is_not_understood() {
        assert!(!asks(START, "make"), "the control");
        for part in [
            "alias -g G='x'\n",
            "alias -s txt='x'\n",
            "alias -- G=x\n",
            "alias -- a b='x'\n",
            "alias -- a='x'; rm y\n",
            "alias -- a='x'\\'\n",
            "functions[a b]='x'\n",
            "functions[a]=x\n",
            "functions[a]='x'$(rm y)\n",
            "functions[builtin]='x'\n",
            "setopt rcquotes\n",
            "setopt extended_glob; rm x\n",
            "setopt\n",
            "a=b\n",
            "alias -- a='x'",
            "\n",
        ] {
            assert!(asks(&format!("{START}{part}"), "make"), "{part:?}");
        }
    }
}
