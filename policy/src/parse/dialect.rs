//! Options that change how bash reads the text after them, and text that another shell reads differently. This module
//! only determines whether bash reads the text in the default way.

use super::names::is_name_byte;
use super::tree::Word;

/// Options of `set -o` that do not affect the reading.
const SET_NAMES: &[&[u8]] = &[
    b"allexport",
    b"errexit",
    b"errtrace",
    b"functrace",
    b"hashall",
    b"monitor",
    b"noclobber",
    b"noexec",
    b"noglob",
    b"notify",
    b"nounset",
    b"onecmd",
    b"physical",
    b"pipefail",
    b"privileged",
    b"verbose",
    b"xtrace",
];
/// The same options as letters.
const SET_LETTERS: &[u8] = b"aebfhmnpStuvxCEPT";
/// Options of `shopt` that do not affect the reading.
const SHOPT_NAMES: &[&[u8]] = &[
    b"autocd",
    b"cdable_vars",
    b"cdspell",
    b"checkhash",
    b"checkjobs",
    b"checkwinsize",
    b"cmdhist",
    b"dirspell",
    b"dotglob",
    b"execfail",
    b"failglob",
    b"globasciiranges",
    b"globskipdots",
    b"globstar",
    b"gnu_errfmt",
    b"histappend",
    b"huponexit",
    b"inherit_errexit",
    b"lastpipe",
    b"lithist",
    b"localvar_inherit",
    b"localvar_unset",
    b"nocaseglob",
    b"nocasematch",
    b"nullglob",
    b"patsub_replacement",
    b"progcomp",
    b"promptvars",
    b"shift_verbose",
    b"sourcepath",
    b"xpg_echo",
];

/// Returns the first word of `set` or `shopt` that may change how the rest is read.
pub(super) fn changes_reading(words: &[Word]) -> Option<&Word> {
    let (program, rest) = words.split_first()?;
    match program.text.as_deref()? {
        b"set" => set_changes(rest),
        b"shopt" => shopt_changes(rest),
        _ => None,
    }
}

fn set_changes(rest: &[Word]) -> Option<&Word> {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.text.as_deref() else {
            let operand = word.exactly_one && word.lead.first().is_some_and(|b| !matches!(b, b'-' | b'+'));
            return (!operand).then_some(word);
        };
        let letters = match text.split_first() {
            Some((b'-' | b'+', letters)) if !letters.is_empty() && letters != b"-" => letters,
            // The remaining words are operands.
            _ => return None,
        };
        let names = letters.iter().filter(|letter| **letter == b'o').count();
        if letters.iter().any(|letter| *letter != b'o' && !SET_LETTERS.contains(letter)) {
            return Some(word);
        }
        for _ in 0..names {
            let name = words.next()?;
            if !is_listed(name, SET_NAMES) {
                return Some(name);
            }
        }
    }
    None
}

fn shopt_changes(rest: &[Word]) -> Option<&Word> {
    let flag = |word: &&Word| word.text.as_deref().is_some_and(|text| text.starts_with(b"-"));
    let given = |letter: u8| rest.iter().filter(flag).any(|word| word.lead.contains(&letter));
    if rest.iter().all(|word| word.text.is_some()) && !given(b's') && !given(b'u') {
        return None;
    }
    let table = if given(b'o') { SET_NAMES } else { SHOPT_NAMES };
    // These options are already off.
    let off =
        |word: &Word| !given(b's') && matches!(word.text.as_deref(), Some(b"extglob" | b"expand_aliases"));
    rest.iter().find(|word| !flag(word) && !is_listed(word, table) && !off(word))
}

fn is_listed(word: &Word, table: &[&[u8]]) -> bool {
    word.text.as_deref().is_some_and(|text| table.contains(&text))
}

/// Reports whether the option of a shell's `-o` or `-O` does not affect the reading.
pub(crate) fn keeps_reading(option: &Word) -> bool {
    is_listed(option, SET_NAMES) || is_listed(option, SHOPT_NAMES)
}

/// Prefixes of syntax that bash reads differently from a POSIX shell.
const ONLY_BASH: &[&[u8]] = &[
    b"$'",
    b"$\"",
    b"[[",
    b"((",
    b"$[",
    b"<(",
    b">(",
    b"<<<",
    b"&>",
    b">&",
    b"|&",
    b";&",
    b"=(",
    b"+=",
    b"=~",
    b":~",
    b"~+",
    b"~-",
    b"[^",
    b"{",
    b"!",
    b"function",
    b"select",
    b"coproc",
    b"time",
    b"source",
    b"let",
    b"declare",
    b"typeset",
    b"shopt",
    b"local",
    b"builtin",
    b"enable",
    b"pushd",
    b"popd",
    b"mapfile",
    b"readarray",
    b"compgen",
    b"trap",
    b"echo -e",
    b"[ -v",
    b"-v ",
];

/// Reports whether a shell other than bash may read the text differently. Braces of groups, `${x}`,
/// `2>&1` and `!` before a command mean the same in all shells.
pub(crate) fn is_only_bash(text: &[u8]) -> bool {
    (0..text.len()).any(|at| {
        let (before, rest) = text.split_at(at);
        let Some(found) = ONLY_BASH.iter().find(|mark| rest.starts_with(mark)) else {
            return false;
        };
        let behind = rest.get(found.len()..).unwrap_or_default().first().copied().unwrap_or(b' ');
        let blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b')');
        let at_border = before.last().is_none_or(|byte| blank(*byte));
        match *found {
            b"{" if before.ends_with(b"$") => !is_plain_parameter(rest),
            b"{" | b"!" => !(at_border && blank(behind)),
            b">&" => !(behind.is_ascii_digit() || behind == b'-'),
            b"((" => !before.ends_with(b"$"),
            word if word.first().is_some_and(u8::is_ascii_alphabetic) => at_border && blank(behind),
            _ => true,
        }
    })
}

/// Recognizes `{NAME}`, `{NAME:-...}` and similar forms that all shells support.
fn is_plain_parameter(rest: &[u8]) -> bool {
    let inner = rest.get(1..).unwrap_or_default();
    let inner = inner.strip_prefix(b"#").unwrap_or(inner);
    let name = inner.iter().take_while(|byte| is_name_byte(**byte)).count();
    let name = name.max(usize::from(inner.first().is_some_and(|byte| b"@*?$!-".contains(byte))));
    let behind = inner.get(name..).unwrap_or_default();
    name > 0
        && (matches!(behind.first(), Some(b'}' | b'-' | b'=' | b'+' | b'?' | b'%' | b'#'))
            || matches!(behind, [b':', b'-' | b'=' | b'+' | b'?', ..]))
}
