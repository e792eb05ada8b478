//! The files that `pwsh` reads because its own parameters name them: the script, and settings.
//!
//! pwsh reads its parameters in any case, in any unambiguous abbreviation, and behind a slash or several kinds of dashes.

use crate::parse::Word;

/// The word after a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The next word is another parameter or the script.
    None,
    /// The next word is a value.
    Value,
    /// The next word is a file that pwsh reads before the script.
    File,
    /// The next word is the script. All later words are its arguments.
    Script,
    /// The next word is not a file, and no script follows: the rest is a text, or standard input is read.
    Text,
}

/// The parameters: the shortest abbreviation, the rest of the name, the next word. The first that fits counts.
const PARAMETERS: [(&str, &str, Next); 30] = [
    ("config", "urationname", Next::Value),
    ("configurationf", "ile", Next::File),
    ("cus", "tompipename", Next::Value),
    ("cwa", "", Next::Text),
    ("commandw", "ithargs", Next::Text),
    ("c", "ommand", Next::Text),
    ("encodeda", "rguments", Next::Value),
    ("ea", "", Next::Value),
    ("ec", "", Next::Text),
    ("ep", "", Next::Value),
    ("ex", "ecutionpolicy", Next::Value),
    ("e", "ncodedcommand", Next::Text),
    ("f", "ile", Next::Script),
    ("h", "elp", Next::Text),
    ("if", "", Next::Value),
    ("inp", "utformat", Next::Value),
    ("i", "nteractive", Next::None),
    ("l", "ogin", Next::None),
    ("noe", "xit", Next::None),
    ("nol", "ogo", Next::None),
    ("noni", "nteractive", Next::None),
    ("nop", "rofile", Next::None),
    ("of", "", Next::Value),
    ("o", "utputformat", Next::Value),
    ("settings", "file", Next::File),
    ("s", "shservermode", Next::Text),
    ("v", "ersion", Next::Text),
    ("wd", "", Next::Value),
    ("wo", "rkingdirectory", Next::Value),
    ("w", "indowstyle", Next::Value),
];
/// A parameter can begin with two of these, or with a slash.
const DASHES: [char; 4] = ['-', '\u{2013}', '\u{2014}', '\u{2015}'];

/// Returns the words that name such files. A word that is not known can be any parameter, so nothing after it is found.
pub(super) fn files(words: &[Word]) -> Vec<Word> {
    let mut files = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.text.as_deref() else { return files };
        let (next, file) = match of(&String::from_utf8_lossy(text)) {
            // Any other word is the script.
            None => (Next::Script, Some(word)),
            Some(Next::None) => continue,
            Some(next) => (next, rest.next()),
        };
        match next {
            Next::Text => return files,
            Next::Value | Next::None => {}
            Next::File => files.extend(file.cloned()),
            Next::Script => {
                files.extend(file.cloned());
                return files;
            }
        }
    }
    files
}

/// Returns the meaning of a word, if it is a parameter.
fn of(word: &str) -> Option<Next> {
    let slashed = word.strip_prefix('/');
    let dashed = word.strip_prefix(DASHES).map(|name| name.strip_prefix('-').unwrap_or(name));
    let name = dashed.or(slashed)?.to_ascii_lowercase();
    let fits = |(least, more, _): &&(&str, &str, Next)| {
        name.strip_prefix(least).is_some_and(|behind| more.starts_with(behind))
    };
    match PARAMETERS.iter().find(fits) {
        Some((_, _, next)) => Some(*next),
        // A path from the root begins with a slash. Standard input is `-`.
        None if slashed.is_some() => None,
        None => Some(Next::Text),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Profile, Request, Shell, decide};

    fn runs(command: &str, shell: Shell) -> Vec<String> {
        let request = Request { shell, ..Request::bash(command.as_bytes()) };
        decide(&request, &Profile::blank("p")).runs
    }

    #[test]
    fn the_script_is_found_in_every_spelling_and_in_both_shells() {
        for command in [
            "pwsh x.ps1 a b",
            "pwsh ./x.ps1",
            "pwsh -File x.ps1",
            "pwsh -f x.ps1 -c y.ps1",
            "pwsh -FIL x.ps1",
            "pwsh /File x.ps1",
            "pwsh --file x.ps1",
            "pwsh \u{2013}file x.ps1",
            "pwsh -NoLogo -NoProfile -NonInteractive -File x.ps1",
            "pwsh -nop -noni -ExecutionPolicy Bypass -File x.ps1",
            "pwsh -ep Bypass -wd /usr -of Text x.ps1",
            "/usr/bin/pwsh -NonInteractive x.ps1",
            "powershell -File x.ps1",
        ] {
            for shell in [Shell::Bash, Shell::Pwsh] {
                assert_eq!(runs(command, shell), ["/workspace/x.ps1"], "{command} in {shell:?}");
            }
        }
        let settings = "pwsh -SettingsFile s.json -NonInteractive -File x.ps1";
        assert_eq!(runs(settings, Shell::Bash), ["/workspace/s.json", "/workspace/x.ps1"]);
    }

    #[test]
    fn a_text_names_no_script() {
        for command in [
            "pwsh -NoProfile -Command Get-Date",
            "pwsh -c 'Get-Content x.ps1'",
            "pwsh /c 1",
            "pwsh -enc JwBhACcA",
            "pwsh -EncodedCommand JwBhACcA",
            "pwsh -NonInteractive -",
            "pwsh -Version",
            "pwsh -NoProfile \"$script\"",
        ] {
            assert_eq!(runs(command, Shell::Bash), [] as [&str; 0], "{command}");
        }
    }

    #[test]
    fn a_script_that_is_a_command_of_a_text_is_found() {
        for command in ["./x.ps1 a", ". ./x.ps1", "& ./x.ps1", "& 'x/../x.ps1'", r".\x.ps1"] {
            assert_eq!(runs(command, Shell::Pwsh), ["/workspace/x.ps1"], "{command}");
        }
    }
}
