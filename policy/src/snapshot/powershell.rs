//! Reads a snapshot of PowerShell: one definition after another, in the exact form that the runner prints. Any other text is
//! not understood.

use std::collections::HashSet;

/// The second line, which marks such a snapshot.
pub(super) const MARK: &[u8] = b"# shell=pwsh";
/// The characters that PowerShell takes for a single quote.
const QUOTES: [char; 5] = ['\'', '\u{2018}', '\u{2019}', '\u{201a}', '\u{201b}'];

/// Returns the names of functions and aliases, in lower case. `None` if a part is not understood.
pub(super) fn names(text: &[u8]) -> Option<HashSet<Vec<u8>>> {
    let mut rest = Rest(std::str::from_utf8(text).ok()?);
    let mut names = HashSet::new();
    rest.line("# PATH=")?;
    rest.line("# shell=pwsh")?;
    while !rest.0.is_empty() {
        let name = if rest.skip("Set-Item -LiteralPath ").is_some() {
            let path = rest.quoted()?;
            rest.skip(" -Value ([scriptblock]::Create(")?;
            rest.quoted()?;
            rest.skip("))\n")?;
            path.strip_prefix("function:global:")?.to_owned()
        } else {
            rest.skip("Set-Alias -Name ")?;
            let name = rest.quoted()?;
            rest.skip(" -Value ")?;
            rest.quoted()?;
            rest.skip(" -Scope Global -Force\n")?;
            name
        };
        names.insert(name.to_lowercase().into_bytes());
    }
    Some(names)
}

struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn skip(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Skips a line that begins so.
    fn line(&mut self, start: &str) -> Option<()> {
        self.skip(start)?;
        let end = self.0.find('\n')?;
        self.0 = self.0.get(end + 1..)?;
        Some(())
    }

    /// Reads a string in single quotes. Every quote in it is doubled.
    fn quoted(&mut self) -> Option<String> {
        self.skip("'")?;
        let mut value = String::new();
        let mut characters = self.0.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            if !QUOTES.contains(&character) {
                value.push(character);
                continue;
            }
            match characters.peek() {
                Some((_, next)) if QUOTES.contains(next) => {
                    value.push(character);
                    characters.next();
                }
                _ if character == '\'' => {
                    self.0 = self.0.get(at + 1..)?;
                    return Some(value);
                }
                // PowerShell ends the string here, and the runner does not.
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::{Profile, Request, Shell, Snapshot, Verdict, decide};

    const HEAD: &str = "# PATH=/usr/bin\n# shell=pwsh\n";
    const DEFINED: &str = "Set-Item -LiteralPath 'function:global:Get-Date' -Value ([scriptblock]::Create('\n\
        # it''s ‘’here’’\n'))\nSet-Alias -Name 'gci' -Value 'Remove-Item' -Scope Global -Force\n";

    fn verdict(body: &str, command: &str) -> Verdict {
        let snapshot = Snapshot::parse(format!("{HEAD}{body}").as_bytes());
        let request =
            Request { snapshot: Some(&snapshot), shell: Shell::Pwsh, ..Request::bash(command.as_bytes()) };
        decide(&request, &Profile::builtin("strict").unwrap()).verdict
    }

    #[test]
    fn a_name_that_the_snapshot_defines_is_unknown_in_every_spelling() {
        for command in ["Get-Date", "get-date", "GCI", "gci .", "1; & 'Get-Date'", "Get-Item . | gci"] {
            assert_eq!(verdict(DEFINED, command), Verdict::Ask, "{command}");
            assert_eq!(verdict("", command), Verdict::Allow, "the control: {command}");
        }
        assert_eq!(verdict(DEFINED, "Get-Item ."), Verdict::Allow, "another name");
    }

    #[test]
    fn any_other_text_makes_every_name_unknown() {
        for body in [
            "function Get-Date { 1 }\n",
            "Set-Item -LiteralPath 'function:global:f' -Value ([scriptblock]::Create('1')); x\n",
            "Set-Item -LiteralPath 'env:PATH' -Value ([scriptblock]::Create('1'))\n",
            "Set-Alias -Name 'a' -Value 'b’; x' -Scope Global -Force\n",
            "Set-Alias -Name 'a' -Value 'b'; x -Scope Global -Force\n",
            "Set-Alias -Name 'a' -Value 'b",
            "# comment\n",
            "\n",
        ] {
            assert_eq!(verdict(body, "Get-Item ."), Verdict::Ask, "{body}");
        }
    }
}
