//! What a command launches: the words or the text that another program runs. It
//! decides nothing; it only makes hidden commands visible.

use crate::decision::Span;
use crate::getopt::{self, Sorted};
use crate::parse::{Assign, Word};
use crate::tables::{self, Launcher, Runs, Takes};

/// One thing that is launched.
#[derive(Debug)]
pub(crate) enum Launch {
    /// A command, with the assignments before it.
    Command { words: Vec<Word>, assignments: Vec<Assign> },
    /// Text for a shell; `None` where it is not known.
    Text(Option<Vec<u8>>, Span),
}

/// What a command launches.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    pub(crate) launches: Vec<Launch>,
    /// Whether the program is a launcher that is as harmless as what it runs.
    pub(crate) safe: bool,
    /// Whether the program may launch something that could not be made out.
    pub(crate) opaque: bool,
    /// Whether it runs what it reads from standard input.
    pub(crate) runs_input: bool,
    /// A path that the launcher itself reads.
    pub(crate) reads: Vec<Word>,
}

/// The program's name without its directory.
pub(crate) fn base_name(program: &[u8]) -> &[u8] {
    program.rsplit(|byte| *byte == b'/').next().unwrap_or(program)
}

/// Finds what the words launch.
pub(crate) fn launches(words: &[Word]) -> Launches {
    let Some((program, rest)) = words.split_first() else {
        return Launches::default();
    };
    let Some(text) = program.text.as_deref() else {
        return Launches::default();
    };
    match base_name(text) {
        b"find" | b"fd" | b"fdfind" => find_exec(rest),
        b"source" | b"." => sourced(rest.iter().find(|word| word.text.as_deref() != Some(b"--"))),
        // They give a name to another program, or to code from a file.
        b"hash" if rest.iter().any(|word| may_have_flag(word, b'p')) => opaque(),
        b"enable" if rest.iter().any(|word| may_have_flag(word, b'f')) => opaque(),
        b"alias" => alias(rest),
        b"git" => git_run(rest),
        b"command" if looks_up(rest) => Launches::default(),
        name => match tables::launcher(name) {
            Some(launcher) => from_launcher(launcher, rest),
            None => Launches::default(),
        },
    }
}

/// `command -v` and `-V` run nothing.
fn looks_up(rest: &[Word]) -> bool {
    let flag = rest.first().and_then(|word| word.text.as_deref());
    matches!(flag, Some(b"-v" | b"-V" | b"-pv" | b"-pV"))
}

fn opaque() -> Launches {
    Launches { opaque: true, ..Launches::default() }
}

fn one(launch: Launch) -> Launches {
    Launches { launches: vec![launch], ..Launches::default() }
}

fn from_launcher(launcher: &'static Launcher, rest: &[Word]) -> Launches {
    let sorted = getopt::sort(rest, &launcher.options);
    if !sorted.troubles.is_empty() {
        return opaque();
    }
    let operands: Vec<Word> = sorted.operands.iter().filter_map(|index| rest.get(*index).cloned()).collect();
    let mut found = match launcher.runs {
        Runs::Operands => command(launcher, &operands),
        Runs::JoinedText if launcher.name == "watch" && sorted.has("x") => command(launcher, &operands),
        Runs::JoinedText => joined(launcher, &operands),
        Runs::ShellText => shell_text(launcher, &sorted, &operands),
        Runs::Xargs => xargs(&sorted, operands),
        Runs::FirstText => trap(&operands),
        Runs::Callback => callback(&sorted),
    };
    found.safe = launcher.safe && !found.opaque;
    let paths = sorted.flags.into_iter().filter(|given| given.flag.takes == Takes::Read);
    found.reads.extend(paths.filter_map(|given| given.value));
    found
}

/// The operands are the command, after those that the launcher keeps.
fn command(launcher: &Launcher, operands: &[Word]) -> Launches {
    let kept = operands.get(..launcher.skip).unwrap_or(operands);
    if kept.iter().any(|word| !word.exactly_one) {
        return opaque();
    }
    let mut rest = operands.get(launcher.skip..).unwrap_or_default();
    let mut assignments = Vec::new();
    while let Some((word, tail)) = rest.split_first() {
        let text = word.text.as_deref().unwrap_or(&word.lead);
        let Some(name) = assigned_name(launcher, text) else {
            break;
        };
        if tables::names::is_evaluated(name) {
            return opaque();
        }
        assignments.push(Assign {
            name: name.to_vec(),
            values: vec![value_of(word, name.len() + 1)],
            span: word.span,
        });
        rest = tail;
    }
    match rest {
        [] => return Launches::default(),
        // `flock FILE -c text`
        [flag, text, ..] if flag.text.as_deref() == Some(b"-c") => {
            return one(Launch::Text(text.text.clone(), text.span));
        }
        _ => {}
    }
    one(Launch::Command { words: rest.to_vec(), assignments })
}

/// The name that `NAME=value` before a launched command sets. The shell's keywords
/// want a name; `env` and `sudo` take whatever stands before the sign.
fn assigned_name<'t>(launcher: &Launcher, text: &'t [u8]) -> Option<&'t [u8]> {
    if !launcher.assignments {
        return None;
    }
    if matches!(launcher.name, "time" | "coproc") {
        return crate::parse::assignment_name(text);
    }
    let end = text.iter().position(|byte| *byte == b'=')?;
    text.get(..end)
}

/// The part of `NAME=value` behind the sign.
fn value_of(word: &Word, from: usize) -> Word {
    let behind = |text: &Vec<u8>| text.get(from..).unwrap_or_default().to_vec();
    Word { text: word.text.as_ref().map(behind), lead: behind(&word.lead), ..word.clone() }
}

/// `eval a b`, `watch a b`: the words joined are parsed again.
fn joined(launcher: &Launcher, operands: &[Word]) -> Launches {
    let Some(first) = operands.first() else {
        return if launcher.name == "parallel" { opaque() } else { Launches::default() };
    };
    // What xargs adds has the span of what it stands for.
    let end = operands.iter().map(|word| word.span.end).max().unwrap_or_default();
    let span = Span::new(first.span.start, end);
    let mut text = Vec::new();
    for word in operands {
        let Some(bytes) = &word.text else {
            return one(Launch::Text(None, span));
        };
        if launcher.name == "parallel" && bytes.starts_with(b":::") {
            break;
        }
        text.extend_from_slice(bytes);
        text.push(b' ');
    }
    let mut found = one(Launch::Text(Some(text), span));
    found.opaque = launcher.name == "parallel";
    found
}

fn shell_text(launcher: &Launcher, sorted: &Sorted, operands: &[Word]) -> Launches {
    let by_flag = ["c", "command", "run"].iter().find_map(|name| sorted.values(name).next());
    if let Some(value) = by_flag {
        return one(Launch::Text(value.text.clone(), value.span));
    }
    if launcher.name == "su" || launcher.name == "runuser" {
        // `su user -c text`: GNU getopt permutes.
        return if operands.len() > 1 { opaque() } else { Launches::default() };
    }
    if operands.iter().any(|word| word.lead.starts_with(b"+")) {
        return opaque();
    }
    match operands.first() {
        _ if sorted.has("version") || sorted.has("help") => Launches::default(),
        Some(word) if sorted.has("c") => one(Launch::Text(word.text.clone(), word.span)),
        _ if sorted.has("s") => Launches { runs_input: true, ..Launches::default() },
        script => sourced(script),
    }
}

/// A script by name: its text is not looked at, unless it is what stands in the command.
fn sourced(script: Option<&Word>) -> Launches {
    let stdin = |text: &[u8]| matches!(text, b"-" | b"/dev/stdin" | b"/dev/fd/0" | b"/proc/self/fd/0");
    match script {
        Some(word) if word.is_process_input() => opaque(),
        Some(word) if !word.text.as_deref().is_some_and(stdin) => Launches::default(),
        _ => Launches { runs_input: true, ..Launches::default() },
    }
}

/// Whether the word is a cluster of flags with this one, or could become one.
fn may_have_flag(word: &Word, flag: u8) -> bool {
    match &word.text {
        Some(text) => text.starts_with(b"-") && text.contains(&flag),
        None => !getopt::is_operand(word),
    }
}

fn xargs(sorted: &Sorted, operands: Vec<Word>) -> Launches {
    let mut replace = None;
    for given in sorted.flags.iter().filter(|given| ["I", "i", "replace"].iter().any(|name| given.is(name))) {
        replace = Some(given.value.as_ref().map_or(Some(b"{}".to_vec()), |value| value.text.clone()));
    }
    if replace == Some(None) {
        return opaque();
    }
    // Which of them wins depends on their order and on their values: both are assumed.
    let appends = ["n", "L", "l", "max-args", "max-lines"].iter().any(|flag| sorted.has(flag));
    let mut words = operands;
    let span = words.first().map(|word| word.span).unwrap_or_default();
    if words.is_empty() {
        words.push(Word::known(b"echo", span));
    }
    if let Some(mark) = replace.flatten() {
        words.iter_mut().for_each(|word| blank(word, &mark));
        if appends {
            words.push(Word::unknown(false, span));
        }
    } else {
        words.push(Word::unknown(false, span));
    }
    one(Launch::Command { words, assignments: Vec::new() })
}

/// A word with the mark in it becomes one that is known only up to the mark.
fn blank(word: &mut Word, mark: &[u8]) {
    let Some(text) = &word.text else {
        return;
    };
    let found = (0..text.len()).find(|at| text.get(*at..).is_some_and(|t| t.starts_with(mark)));
    if let Some(at) = found.filter(|_| !mark.is_empty()) {
        word.lead = text.get(..at).unwrap_or_default().to_vec();
        word.text = None;
    }
}

/// `find -exec ... ;`, `fd -x ...`.
fn find_exec(rest: &[Word]) -> Launches {
    let mut found = Launches::default();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_deref().unwrap_or_default();
        let runs = matches!(
            text,
            b"-exec" | b"-execdir" | b"-ok" | b"-okdir" | b"-x" | b"-X" | b"--exec" | b"--exec-batch"
        );
        if !runs {
            // It may become an action with what it runs.
            found.opaque |=
                word.text.is_none() && !word.exactly_one && !word.glob && !getopt::is_operand(word);
            continue;
        }
        let mut inner: Vec<Word> = Vec::new();
        let mut ended = false;
        for word in words.by_ref() {
            let after_place = inner.last().is_some_and(|last| last.text.as_deref() == Some(b"{}"));
            ended = matches!(word.text.as_deref(), Some(b";"))
                || (after_place && word.text.as_deref() == Some(b"+"));
            if ended {
                break;
            }
            inner.push(word.clone());
        }
        found.opaque |= may_end_early(&inner, ended);
        inner.iter_mut().for_each(|word| blank(word, b"{}"));
        found.launches.push(Launch::Command { words: inner, assignments: Vec::new() });
    }
    found
}

/// Whether an unknown word among those of `-exec` could be the `;` that ends them, so
/// that what follows is an action of its own. One such word alone leaves a `;` over,
/// which find refuses before it does anything.
fn may_end_early(inner: &[Word], ended: bool) -> bool {
    let unknown = |word: &&Word| {
        let begins = !matches!(word.lead.first(), None | Some(b';' | b'+' | b'*' | b'?' | b'['));
        word.text.is_none() && !word.is_process_input() && !(begins && (word.exactly_one || word.glob))
    };
    let many = inner.iter().filter(unknown).count() > 1
        || inner.iter().any(|word| unknown(&word) && !word.exactly_one);
    let acts = inner.iter().skip_while(|word| !unknown(word)).any(|word| word.lead.starts_with(b"-"));
    many || (inner.iter().any(|word| unknown(&word)) && (!ended || acts))
}

/// `trap text SIGNAL`.
fn trap(operands: &[Word]) -> Launches {
    match operands.first() {
        Some(word) if word.text.as_deref() != Some(b"-") => one(Launch::Text(word.text.clone(), word.span)),
        _ => Launches::default(),
    }
}

/// `mapfile -C text`, `compgen -C text`, `compgen -W words`.
fn callback(sorted: &Sorted) -> Launches {
    let mut found = Launches::default();
    for text in sorted.values("C") {
        found.launches.push(Launch::Text(text.text.clone(), text.span));
    }
    // The words are expanded.
    let plain = |text: &Vec<u8>| !text.iter().any(|byte| matches!(byte, b'$' | b'`'));
    found.opaque |= !sorted.values("W").all(|word| word.text.as_ref().is_some_and(plain));
    found
}

fn alias(rest: &[Word]) -> Launches {
    let mut found = Launches::default();
    for word in rest {
        let Some(text) = &word.text else {
            found.opaque = true;
            continue;
        };
        if let Some(at) = text.iter().position(|byte| *byte == b'=') {
            let value = text.get(at + 1..).unwrap_or_default();
            found.launches.push(Launch::Text(Some(value.to_vec()), word.span));
        }
    }
    found
}

/// `git bisect run`, `git submodule foreach`, `git rebase --exec`.
fn git_run(rest: &[Word]) -> Launches {
    let texts: Vec<&[u8]> = rest.iter().map(|word| word.text.as_deref().unwrap_or_default()).collect();
    let Some(at) =
        texts.windows(2).position(|pair| matches!(pair, [b"bisect", b"run"] | [b"submodule", b"foreach"]))
    else {
        return Launches::default();
    };
    let inner = rest.get(at + 2..).unwrap_or_default();
    let inner: Vec<Word> = inner.iter().skip_while(|word| word.lead.starts_with(b"-")).cloned().collect();
    match inner.as_slice() {
        [] => Launches::default(),
        [single] => one(Launch::Text(single.text.clone(), single.span)),
        _ => one(Launch::Command { words: inner, assignments: Vec::new() }),
    }
}
