//! The meaning of a text's exit code, in terms of the programs that may have returned it. Programs
//! without a table entry and the code 0 have no meaning.

use crate::launch::base_name;
use crate::tables::{self, Exit};

/// The base of the exit codes for signals.
const SIGNALS: u8 = 128;

/// The meaning of an exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitMeaning {
    /// One line for a person, such as `grep: no line matched`.
    pub text: String,
    /// Whether it is a failure, rather than an answer such as that of `grep` or `diff`.
    pub is_failure: bool,
}

/// Returns the meaning of `code` for a text that one of `endings` ended. `endings` are the commands
/// of [`crate::Decision::endings`], each with its words, `None` for an unknown word. Returns `None`
/// for 0 and if no meaning is known.
#[must_use]
pub fn exit_meaning(endings: &[Vec<Option<&[u8]>>], code: u8) -> Option<ExitMeaning> {
    if code == 0 {
        return None;
    }
    let entries: Vec<Option<&Exit>> = endings.iter().map(|argv| entry(argv)).collect();
    let mut texts: Vec<String> = Vec::new();
    let mut is_failure = false;
    for entry in entries.iter().flatten() {
        let Some((_, means, failure)) = entry.codes.iter().find(|(known, ..)| *known == code) else {
            continue;
        };
        let text = format!("{}: {means}", entry.name);
        is_failure |= failure;
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        return of_any_shell(code);
    }
    let mut text = texts.join("; or ");
    // A program without an entry can return any code.
    if entries.iter().any(Option::is_none) {
        text.push_str("; or another command failed");
        is_failure = true;
    }
    Some(ExitMeaning { text, is_failure })
}

/// Reports whether the command returns the exit code of the command that it runs, except for its
/// own codes.
pub(crate) fn passes_on(argv: &[Option<&[u8]>]) -> bool {
    entry(argv).is_some_and(|entry| entry.passes)
}

/// Returns the entry of the program or of its subcommand.
fn entry(argv: &[Option<&[u8]>]) -> Option<&'static Exit> {
    let (program, rest) = argv.split_first()?;
    let name = base_name((*program)?);
    let mut rest = rest.iter();
    let subcommand = loop {
        match rest.next() {
            // git's options with a value.
            Some(Some(b"-C" | b"-c")) => drop(rest.next()),
            Some(Some(word)) if word.starts_with(b"-") => {}
            Some(Some(word)) => break Some(*word),
            Some(None) | None => break None,
        }
    };
    let of_subcommand = subcommand.and_then(|word| tables::exit(&[name, word]));
    of_subcommand.or_else(|| tables::exit(&[name]))
}

/// Returns the meaning of a code that the shell itself defines.
fn of_any_shell(code: u8) -> Option<ExitMeaning> {
    let text = match code {
        126 => "the command was found, but could not be run".to_owned(),
        127 => "the command was not found".to_owned(),
        _ => format!("ended by {} (128 + {})", signal(code.checked_sub(SIGNALS)?)?, code - SIGNALS),
    };
    Some(ExitMeaning { text, is_failure: true })
}

/// Returns the name of a signal that ends a process, by its number on Linux.
fn signal(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Request, decide};

    /// Returns the meaning of a code for a text, using the decision about the text.
    fn meaning(text: &str, code: u8) -> Option<String> {
        let profile = Profile::builtin("strict").unwrap();
        let decision = decide(&Request::bash(text.as_bytes()), &profile);
        let words =
            |index: &usize| decision.commands[*index].argv.iter().map(|word| word.text.as_deref()).collect();
        let endings: Vec<Vec<Option<&[u8]>>> = decision.endings.iter().map(words).collect();
        exit_meaning(&endings, code).map(|meaning| {
            let kind = if meaning.is_failure { "failure" } else { "answer" };
            format!("{kind}: {}", meaning.text)
        })
    }

    #[test]
    fn the_command_that_ends_the_text_says_what_its_code_means() {
        let cases = [
            ("grep x f", 1, Some("answer: grep: no line matched")),
            ("/usr/bin/grep x f", 1, Some("answer: grep: no line matched")),
            ("cat f | grep x", 1, Some("answer: grep: no line matched")),
            ("echo a; ls; grep x f", 1, Some("answer: grep: no line matched")),
            ("(echo a; { grep x f; })", 1, Some("answer: grep: no line matched")),
            ("false || grep x f", 1, Some("answer: grep: no line matched")),
            ("echo a\ndiff a b", 1, Some("answer: diff: the files differ")),
            ("timeout 5 grep x f", 1, Some("answer: grep: no line matched")),
            ("timeout 5 grep x f", 124, Some("failure: timeout: the time limit was reached")),
            ("timeout 5 nice -n 3 env A=1 diff a b", 1, Some("answer: diff: the files differ")),
            ("git -C sub --no-pager diff --exit-code", 1, Some("answer: git diff: the files differ")),
            ("git frobnicate", 128, Some("failure: git: a fatal error")),
            ("[ -e x ]", 1, Some("answer: [: the condition is false")),
            ("nosuch", 127, Some("failure: the command was not found")),
            ("./x", 139, Some("failure: ended by SIGSEGV (128 + 11)")),
            ("xargs grep x <f", 123, Some("failure: xargs: a command it ran failed")),
        ];
        for (text, code, said) in cases {
            assert_eq!(meaning(text, code).as_deref(), said, "{text} {code}");
        }
    }

    #[test]
    fn what_more_than_one_command_may_have_given_is_said_with_care() {
        let other = "or another command failed";
        let cases = [
            ("cd src && grep x f", 1, Some(format!("failure: grep: no line matched; {other}"))),
            ("make && grep x f && true", 1, {
                Some(format!("failure: grep: no line matched; or make: something is not up to date; {other}"))
            }),
            ("diff a b && diff c d", 1, Some("answer: diff: the files differ".to_owned())),
            ("cat <<E && grep x f\nE\n", 1, Some(format!("failure: grep: no line matched; {other}"))),
        ];
        for (text, code, said) in cases {
            assert_eq!(meaning(text, code), said, "{text} {code}");
        }
    }

    #[test]
    fn nothing_is_said_where_nothing_is_known() {
        let cases = [
            ("grep x f", 0),
            ("grep x f", 7),
            ("! grep x f", 1),
            ("if grep x f; then exit 1; fi", 1),
            ("for x in a; do grep x f; done", 1),
            ("set -o pipefail; grep x f | head", 1),
            ("trap 'exit 1' EXIT; grep x f", 1),
            ("grep x f | head", 1),
            ("grep x f; f() { :; }", 1),
            ("x=$(grep x f)", 1),
            ("grep x f; exit 1", 1),
            ("grep x 'f", 1),
            ("true; exec grep x f", 1),
            ("./x", 128 + 100),
            ("", 1),
        ];
        for (text, code) in cases {
            assert_eq!(meaning(text, code), None, "{text} {code}");
        }
    }
}
