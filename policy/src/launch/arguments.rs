//! The arguments of `pwsh`: the text that it runs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::decision::Span;
use crate::parse::Word;

/// Parameters of pwsh without a value, each with the shortest start that names it.
const SWITCHES: &[(&str, &str)] = &[
    ("interactive", "i"),
    ("login", "l"),
    ("mta", "mta"),
    ("noexit", "noe"),
    ("nologo", "nol"),
    ("noninteractive", "noni"),
    ("noprofile", "nop"),
    ("sta", "sta"),
];
/// Parameters with a value that does not affect what runs.
const VALUES: &[(&str, &str)] = &[("inputformat", "inp"), ("outputformat", "o"), ("windowstyle", "w")];

/// The text of PowerShell, and its place.
type Script = (Vec<u8>, Span);

/// Returns the text of `-Command` or `-EncodedCommand`, and whether no profile runs before it. `None` if it is not known,
/// or if something else may run.
pub(super) fn script(words: &[Word]) -> Option<(Script, bool)> {
    let mut rest = words.iter();
    let mut no_profile = false;
    loop {
        let word = rest.next()?;
        let name = parameter(word.text.as_deref()?)?;
        if names(&name, "noprofile", "nop") {
            no_profile = true;
        } else if names(&name, "command", "c") {
            let words: Vec<&Word> = rest.collect();
            return text(&words).map(|script| (script, no_profile));
        } else if names(&name, "encodedcommand", "e") || name == "ec" {
            let encoded = rest.next()?;
            let ends = rest.next().is_none();
            return decoded(encoded).filter(|_| ends).map(|script| (script, no_profile));
        } else if VALUES.iter().any(|(full, least)| names(&name, full, least)) {
            rest.next()?;
        } else if !SWITCHES.iter().any(|(full, least)| names(&name, full, least)) {
            return None;
        }
    }
}

/// Returns the name of a parameter in lower case. pwsh takes other dashes and a slash for a dash.
fn parameter(word: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(word).ok()?;
    let name = text.strip_prefix(['-', '\u{2013}', '\u{2014}', '\u{2015}', '/'])?;
    Some(name.strip_prefix('-').unwrap_or(name).to_ascii_lowercase())
}

/// Reports whether the text is a start of the name that is long enough.
fn names(text: &str, full: &str, least: &str) -> bool {
    full.starts_with(text) && text.len() >= least.len()
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
