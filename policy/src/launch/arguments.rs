//! The arguments of `pwsh`: the text that it runs, and the files that its own parameters name.
//!
//! pwsh reads its parameters in any case, in any unambiguous abbreviation, and behind a slash or several kinds of dashes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::decision::Span;
use crate::parse::Word;

/// The meaning of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    /// It has no value.
    Switch,
    /// `-NoProfile`.
    NoProfile,
    /// Its value does not affect what runs.
    Format,
    /// It has another value.
    Value,
    /// Its value is a file that pwsh reads before the script.
    File,
    /// Its value is the script. All later words are the script's arguments.
    Script,
    /// All later words are the text.
    Command,
    /// Its value is the text.
    Encoded,
    /// Neither a script nor a known text follows.
    Other,
}

/// The parameters: the shortest abbreviation, the rest of the name, the meaning. The first that fits counts.
const PARAMETERS: [(&str, &str, Parameter); 32] = [
    ("config", "urationname", Parameter::Value),
    ("configurationf", "ile", Parameter::File),
    ("cus", "tompipename", Parameter::Value),
    ("cwa", "", Parameter::Other),
    ("commandw", "ithargs", Parameter::Other),
    ("c", "ommand", Parameter::Command),
    ("encodeda", "rguments", Parameter::Value),
    ("ea", "", Parameter::Value),
    ("ec", "", Parameter::Encoded),
    ("ep", "", Parameter::Value),
    ("ex", "ecutionpolicy", Parameter::Value),
    ("e", "ncodedcommand", Parameter::Encoded),
    ("f", "ile", Parameter::Script),
    ("h", "elp", Parameter::Other),
    ("if", "", Parameter::Format),
    ("inp", "utformat", Parameter::Format),
    ("i", "nteractive", Parameter::Switch),
    ("l", "ogin", Parameter::Switch),
    ("mta", "", Parameter::Switch),
    ("noe", "xit", Parameter::Switch),
    ("nol", "ogo", Parameter::Switch),
    ("noni", "nteractive", Parameter::Switch),
    ("nop", "rofile", Parameter::NoProfile),
    ("of", "", Parameter::Format),
    ("o", "utputformat", Parameter::Format),
    ("settings", "file", Parameter::File),
    ("sta", "", Parameter::Switch),
    ("s", "shservermode", Parameter::Other),
    ("v", "ersion", Parameter::Other),
    ("wd", "", Parameter::Value),
    ("wo", "rkingdirectory", Parameter::Value),
    ("w", "indowstyle", Parameter::Format),
];
/// A parameter can begin with two of these, or with a slash.
const DASHES: [char; 4] = ['-', '\u{2013}', '\u{2014}', '\u{2015}'];

/// The text of PowerShell, and its place.
type Script = (Vec<u8>, Span);

/// Returns the text of `-Command` or `-EncodedCommand`, and whether no profile runs before it. `None` if it is not known,
/// or if something else may run.
pub(super) fn script(words: &[Word]) -> Option<(Script, bool)> {
    let mut rest = words.iter();
    let mut no_profile = false;
    loop {
        let word = rest.next()?;
        match parameter(std::str::from_utf8(word.text.as_deref()?).ok()?)? {
            Parameter::Switch => {}
            Parameter::NoProfile => no_profile = true,
            Parameter::Format => _ = rest.next()?,
            Parameter::Command => {
                let words: Vec<&Word> = rest.collect();
                return text(&words).map(|script| (script, no_profile));
            }
            Parameter::Encoded => {
                let encoded = rest.next()?;
                let ends = rest.next().is_none();
                return decoded(encoded).filter(|_| ends).map(|script| (script, no_profile));
            }
            Parameter::Value | Parameter::File | Parameter::Script | Parameter::Other => return None,
        }
    }
}

/// Returns the words that name the script or another file that pwsh reads. A word that is not known can be any
/// parameter, so nothing after it is found.
pub(crate) fn files(words: &[Word]) -> Vec<Word> {
    let mut files = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.text.as_deref() else { return files };
        match parameter(&String::from_utf8_lossy(text)) {
            Some(Parameter::Switch | Parameter::NoProfile) => {}
            Some(Parameter::Format | Parameter::Value) => _ = rest.next(),
            Some(Parameter::File) => files.extend(rest.next().cloned()),
            Some(Parameter::Script) => {
                files.extend(rest.next().cloned());
                return files;
            }
            Some(Parameter::Command | Parameter::Encoded | Parameter::Other) => return files,
            // Any other word is the script.
            None => {
                files.push(word.clone());
                return files;
            }
        }
    }
    files
}

/// Returns the meaning of a word, if it is a parameter.
fn parameter(word: &str) -> Option<Parameter> {
    let slashed = word.strip_prefix('/');
    let name = word.strip_prefix(DASHES).or(slashed)?;
    let name = name.strip_prefix(DASHES).unwrap_or(name).to_ascii_lowercase();
    let fits = |(least, more, _): &&(&str, &str, Parameter)| {
        name.strip_prefix(least).is_some_and(|behind| more.starts_with(behind))
    };
    match PARAMETERS.iter().find(fits) {
        Some((_, _, parameter)) => Some(*parameter),
        // A path from the root begins with a slash. Standard input is `-`.
        None if slashed.is_some() => None,
        None => Some(Parameter::Other),
    }
}

fn text(words: &[&Word]) -> Option<Script> {
    let (first, last) = (words.first()?, words.last()?);
    let parts: Option<Vec<&[u8]>> = words.iter().map(|word| word.text.as_deref()).collect();
    let text = parts?.join(&b' ');
    (text != b"-").then(|| (text, Span::new(first.span.start, last.span.end.max(first.span.end))))
}

fn decoded(word: &Word) -> Option<Script> {
    let bytes = STANDARD.decode(word.text.as_deref()?).ok()?;
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    let text = String::from_utf16(&units).ok().filter(|_| rest.is_empty())?;
    Some((text.into_bytes(), word.span))
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
