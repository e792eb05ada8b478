//! The commands that a command launches: words or text that another program runs. It makes hidden commands visible and
//! makes no decision.

mod arguments;
mod batch;
mod builtins;
mod languages;
mod launches;
mod lookup;
mod operands;

pub(crate) use arguments::files as files_of_pwsh;
pub(crate) use batch::{begin_with, reads_ended_by_nul, start_of_found};
pub(crate) use launches::{Launch, Launches, PowerShell};
pub(crate) use lookup::behind_options;

use crate::getopt::{self, FlagProblem, Sorted};
use crate::parse::{Assign, Word};
use crate::tables::names::is_git_command_setting;
use crate::tables::{self, Launcher, Runs, Takes};

/// Returns the program's name without its directory.
pub(crate) fn base_name(program: &[u8]) -> &[u8] {
    program.rsplit(|byte| *byte == b'/').next().unwrap_or(program)
}

/// Returns everything that the words and the assignments before them launch.
pub(crate) fn launches(words: &[Word], assignments: &[Assign]) -> Launches {
    let mut found = of_words(words);
    found.launches.extend(by_variables(assignments));
    found
}

/// Returns the commands that programs run because of these variables.
pub(crate) fn by_variables(assignments: &[Assign]) -> impl Iterator<Item = Launch> {
    let commands = assignments.iter().filter(|assign| tables::names::is_command_variable(&assign.name));
    commands.flat_map(|assign| &assign.values).map(|value| {
        // For example `LESSOPEN="|program %s"`.
        let text = value.text.as_deref().map(|text| text.strip_prefix(b"|").unwrap_or(text).to_vec());
        Launch::Text(text, value.span)
    })
}

fn of_words(words: &[Word]) -> Launches {
    let Some((program, rest)) = words.split_first() else {
        return Launches::default();
    };
    let Some(text) = program.text.as_deref() else {
        return Launches::default();
    };
    let name = base_name(text);
    if let Some(found) = builtins::launches(name, rest) {
        return found;
    }
    let mut found = match lookup::launcher(name, rest) {
        lookup::Looked::Launcher(launcher, rest) => from_launcher(launcher, rest),
        lookup::Looked::Hidden => Launches::opaque(),
        lookup::Looked::Nothing => Launches::default(),
    };
    if name == b"git" {
        found.launches.extend(git_settings(rest));
    }
    found
}

fn from_launcher(launcher: &'static Launcher, rest: &[Word]) -> Launches {
    match launcher.runs {
        Runs::Somewhere => {
            return Launches { opaque: launcher.shell || !rest.is_empty(), ..Launches::default() };
        }
        Runs::Powershell => return languages::powershell(rest),
        Runs::Find => return batch::find(rest),
        Runs::Awk => return languages::awk(rest),
        Runs::Sed => return languages::sed(rest),
        Runs::Editor => return languages::editor(rest),
        Runs::GitConfig => return git_config(rest),
        Runs::BehindDashes => {
            if let Some(behind) = operands::behind_dashes(rest) {
                return Launches { elsewhere: launcher.elsewhere, ..operands::command(launcher, behind, 0) };
            }
        }
        // Most of these programs have no flag that runs anything.
        Runs::Flags if !launcher.shell && !rest.iter().any(|word| word.lead.starts_with(b"-")) => {
            return Launches::default();
        }
        _ => {}
    }
    let sorted = getopt::sort(rest, &launcher.options);
    if is_trouble(launcher, &sorted, rest) {
        return Launches::opaque();
    }
    let operands: Vec<Word> = sorted.operands.iter().filter_map(|index| rest.get(*index).cloned()).collect();
    let starts_shell = starts_shell(launcher, &sorted, &operands);
    let mut found = by_operands(launcher, &sorted, operands, rest);
    // The shell and the files that it reads first are unknown.
    found.runs_input |= starts_shell;
    found.opaque |= starts_shell;
    by_flags(&sorted, rest, &mut found);
    found.safe = launcher.safe && !found.opaque;
    found.elsewhere = launcher.elsewhere;
    let paths = sorted.flags.into_iter().filter(|given| given.flag.takes == Takes::Read);
    found.reads.extend(paths.filter_map(|given| given.value));
    found
}

/// Reports whether the launcher starts a shell that reads commands, because no command is given.
fn starts_shell(launcher: &Launcher, sorted: &Sorted, operands: &[Word]) -> bool {
    let runs = |takes| matches!(takes, Takes::ShellText | Takes::Command);
    let has_command = (launcher.runs == Runs::Operands && operands.len() > launcher.skip)
        || sorted.flags.iter().any(|given| runs(given.flag.takes));
    !has_command && (launcher.shell || launcher.shell_with.iter().any(|flag| sorted.has(flag)))
}

/// Reports whether flags that are not understood may hide a launched command.
fn is_trouble(launcher: &Launcher, sorted: &Sorted, rest: &[Word]) -> bool {
    if launcher.runs == Runs::Flags {
        return false;
    }
    sorted.troubles.iter().any(|(trouble, index)| {
        let whole = rest.get(*index).is_some_and(|word| word.lead.contains(&b'='));
        !(launcher.lenient && whole && *trouble == FlagProblem::UnknownFlag)
    })
}

fn by_operands(launcher: &'static Launcher, sorted: &Sorted, operands: Vec<Word>, rest: &[Word]) -> Launches {
    if sorted.flags.iter().any(|given| given.flag.takes == Takes::SplitText) {
        return words_of_split_text(sorted, rest)
            .map_or_else(Launches::opaque, |words| from_launcher(launcher, &words));
    }
    match launcher.runs {
        Runs::Operands if launcher.name == "entr" && sorted.has("s") => operands::first_text(&operands),
        Runs::Operands | Runs::BehindDashes => operands::command(launcher, &operands, launcher.skip),
        Runs::TextOrOperands => operands::text_or_command(launcher, &operands),
        Runs::JoinedText if launcher.name == "watch" && sorted.has("x") => {
            operands::command(launcher, &operands, 0)
        }
        Runs::JoinedText => operands::joined(operands.get(launcher.skip..).unwrap_or_default()),
        Runs::EachText => operands::each_text(&operands),
        Runs::FirstText => operands::first_text(&operands),
        Runs::ShellText => builtins::shell(sorted, &operands),
        Runs::LoginShell => builtins::login(launcher, sorted, &operands),
        // `crontab -l` only lists.
        Runs::Input if launcher.name == "crontab" && sorted.has("l") => Launches::default(),
        Runs::Input => Launches::input(),
        Runs::Xargs => batch::xargs(sorted, operands),
        Runs::Parallel => batch::parallel(&operands),
        Runs::Callback => builtins::callback(sorted),
        _ => Launches::default(),
    }
}

/// Adds the commands in the values of flags.
fn by_flags(sorted: &Sorted, rest: &[Word], found: &mut Launches) {
    for given in &sorted.flags {
        match (given.flag.takes, &given.value) {
            (Takes::ShellText, Some(value)) => found.launches.push(Launch::text(value)),
            (Takes::NamedText, Some(value)) => found.launches.extend(operands::named_text(value)),
            (Takes::Command, attached) => {
                let behind = sorted.behind.and_then(|from| rest.get(from..)).unwrap_or_default();
                let words: Vec<Word> = attached.iter().chain(behind).cloned().collect();
                found.launches.extend(batch::until_semicolon(words));
            }
            _ => {}
        }
    }
}

/// Handles `git -c NAME=value`.
fn git_settings(rest: &[Word]) -> Vec<Launch> {
    let mut found = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let flag = word.text.as_deref();
        if flag != Some(b"-c") {
            continue;
        }
        let Some(value) = words.next() else {
            break;
        };
        let text = value.text.as_deref().unwrap_or(&value.lead);
        if let Some(end) = text.iter().position(|byte| *byte == b'=') {
            let (name, behind) = text.split_at_checked(end).unwrap_or((text, &[]));
            let behind = value.text.is_some().then(|| behind.get(1..).unwrap_or_default());
            found.extend(git_setting(name, behind, value));
        }
    }
    found
}

/// Handles `git config NAME value`, also with `set` or flags before the name.
fn git_config(rest: &[Word]) -> Launches {
    let operands: Vec<&Word> = rest.iter().filter(|word| !word.lead.starts_with(b"-")).collect();
    let pairs = operands.windows(2).filter_map(|pair| match pair {
        [name, value] => git_setting(name.text.as_deref()?, value.text.as_deref(), value),
        _ => None,
    });
    Launches { launches: pairs.take(1).collect(), ..Launches::default() }
}

/// Returns the command of a setting. An alias is a subcommand or, after `!`, text for a shell;
/// other settings name programs.
fn git_setting(name: &[u8], value: Option<&[u8]>, word: &Word) -> Option<Launch> {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let alias = name.starts_with(b"alias.");
    if !alias && !name.starts_with(b"pager.") && !is_git_command_setting(last) {
        return None;
    }
    let text = value.map(|value| match value.strip_prefix(b"!") {
        Some(text) => text.to_vec(),
        None if alias => [b"git ", value].concat(),
        // `fsmonitor` and pagers can be switched on and off.
        None if matches!(value, b"" | b"true" | b"false") => b":".to_vec(),
        // The short name of a helper.
        None if last == b"helper" && !value.starts_with(b"/") => b":".to_vec(),
        None => value.to_vec(),
    });
    Some(Launch::Text(text, word.span))
}

/// Returns the launcher's words with the text split, or `None` if they are unknown. The text is shorter than the
/// word that it came from, so repeated splitting ends.
fn words_of_split_text(sorted: &Sorted, rest: &[Word]) -> Option<Vec<Word>> {
    let text = sorted.flags.iter().find(|given| given.flag.takes == Takes::SplitText);
    let value = text.and_then(|given| given.value.as_ref())?;
    let texts = split_text(value.text.as_deref()?)?;
    let split = texts.iter().map(|text| Word::known(text, value.span));
    let behind = sorted.behind.and_then(|from| rest.get(from..)).unwrap_or_default();
    Some(split.chain(behind.iter().cloned()).collect())
}

/// Splits a text as `env -S` does. Returns `None` for variables and for text that env refuses.
fn split_text(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'$', None | Some(b'"')) => return None,
            (end, Some(open)) if end == open => quote = None,
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r', None) => out.extend(word.take()),
            (b'#', None) if word.is_none() => return Some(out),
            (b'\\', None | Some(b'"')) => match (bytes.next()?, quote) {
                (b'_', None) => out.extend(word.take()),
                (b'_', _) => word.get_or_insert_default().push(b' '),
                (b'c', None) => {
                    out.extend(word.take());
                    return Some(out);
                }
                (escaped, _) => word.get_or_insert_default().push(escape(escaped)?),
            },
            (b'\\', Some(_)) => {
                let next = bytes.next()?;
                let word = word.get_or_insert_default();
                if !matches!(next, b'\\' | b'\'') {
                    word.push(b'\\');
                }
                word.push(next);
            }
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    out.extend(word.take());
    quote.is_none().then_some(out)
}

fn escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'#' | b'$' | b'\\' | b'"' | b'\'' => byte,
        _ => return None,
    })
}
