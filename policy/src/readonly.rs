//! The read-only proof of one command: by tables, and by reading programs that some commands contain
//! as text. A command without an entry is refused.

mod awk;
mod checks;
mod find;
mod jq;
mod network;
mod options;
mod proof;
mod sed;
mod shell;

pub(crate) use checks::with_dashes;
pub(crate) use proof::{PathWord, Proof, Refusal, looks_like_path};
pub(crate) use sed::is_harmless as sed_is_harmless;
pub(crate) use shell::check_environment;
pub(crate) use shell::is_harmless as redirect_is_harmless;

use crate::analysis::{Analysis, Found};
use crate::connections::{self, Connection};
use crate::decision::Span;
use crate::parse::Word;
use crate::tables::{self, Name, Options, Program, Takes};

/// The largest number of words in a subcommand, such as `gh pr view`.
const MOST_SUBCOMMANDS: usize = 3;

/// The refusal code for a command that would be read-only but is useless without a network.
pub(crate) const NEEDS_NETWORK: &str = "needs_network";

/// Proves the command read-only, and returns the paths that it reads.
pub(crate) fn prove(found: &Found, analysis: &Analysis) -> Proof {
    let paths = prove_by_tables(found, analysis)
        .map_err(|refusal| shell::told_to_a_shell(found).unwrap_or(refusal))?;
    check_environment(found, analysis)?;
    if let Some(connection) = connections::of(found).filter(Connection::is_certain) {
        return Err(needs_network(connection.entry.name, connection.span));
    }
    Ok(paths)
}

/// Returns the paths that the command reads by its words, if only its redirects prevent the proof.
pub(crate) fn reads_without_redirects(found: &Found, analysis: &Analysis) -> Option<Vec<PathWord>> {
    if found.redirects.is_empty() {
        return None;
    }
    prove(&Found { redirects: Vec::new(), ..found.clone() }, analysis).ok()
}

fn prove_by_tables(found: &Found, analysis: &Analysis) -> Proof {
    let mut paths = shell::check(found)?;
    shell::check_variables(found)?;
    let Some(program) = found.words.first() else {
        return Ok(paths);
    };
    let Some(name) = found.trusted_name() else {
        return Err(match &program.text {
            None => Refusal::new("unknown_program", "the name of the program is not known", program.span),
            Some(_) => Refusal::new(
                "untrusted_program",
                "a program that is named by path is trusted only in a read-only directory, such as /usr/bin",
                program.span,
            ),
        });
    };
    if analysis.defined.contains(name) {
        let message = "the text defines a function with this name";
        return Err(Refusal::new("function_call", message, program.span));
    }
    if found.opaque {
        let message = "the command that this program launches is not known";
        return Err(Refusal::new("launcher_not_understood", message, program.span));
    }
    if prints_version(name, &found.words) {
        return Ok(paths);
    }
    if let Some(script) = script_checked(name, &found.words) {
        paths.push(PathWord::read(script));
        return Ok(paths);
    }
    if found.safe_launcher {
        paths.extend(found.reads.iter().map(PathWord::read));
        return Ok(paths);
    }
    let (entry, rest, more) = entry(name, &found.words)?;
    paths.extend(more);
    paths.extend(options::check(entry, rest, analysis, program.span)?);
    if entry.network && !asks_for_help(rest) {
        return Err(needs_network(entry.name, program.span));
    }
    if found.feeds_arguments && entry.prints_operands {
        paths.extend(rest.iter().filter(|word| looks_like_path(word)).map(PathWord::read));
    }
    Ok(paths)
}

/// Returns the refusal of a command that only reads, but not from this host.
fn needs_network(name: &str, span: Span) -> Refusal {
    let message = format!("`{name}` needs a network, which a read-only run does not have");
    Refusal::new(NEEDS_NETWORK, message, span)
}

fn asks_for_help(rest: &[Word]) -> bool {
    rest.iter().any(|word| word.text.as_deref() == Some(b"--help"))
}

/// Recognizes `PROGRAM --version` without further arguments.
fn prints_version(name: &[u8], words: &[Word]) -> bool {
    let [_, flag] = words else {
        return false;
    };
    let flags = tables::version_flags(name);
    flag.text.as_deref().is_some_and(|text| flags.iter().any(|known| known.as_bytes() == text))
}

/// Returns the script of `bash -n SCRIPT`, which bash reads but does not run.
fn script_checked<'w>(name: &[u8], words: &'w [Word]) -> Option<&'w Word> {
    let [_, flag, script] = words else {
        return None;
    };
    let alone = script.exactly_one && crate::getopt::is_operand(script);
    let known = script.text.as_deref().is_none_or(|text| !text.is_empty() && !text.starts_with(b"+"));
    let checks = flag.text.as_deref() == Some(b"-n") && tables::names::checks_syntax(name);
    (checks && alone && known && script.lead.first() != Some(&b'-')).then_some(script)
}

/// Reports whether the proven command reads only the names in a directory, not their contents or
/// anything below.
pub(crate) fn reads_names_only(found: &Found) -> bool {
    let recursive = |word: &Word| match word.lead.as_slice() {
        [b'-', b'-', long @ ..] => long.starts_with(b"rec"),
        [b'-', letters @ ..] => letters.contains(&b'R'),
        _ => word.text.is_none(),
    };
    let lists = found.trusted_name().is_some_and(tables::names::is_lister);
    let redirected = found.redirects.iter().any(|redirect| redirect.op == crate::parse::RedirOp::Read);
    lists && !redirected && !found.feeds_arguments && !found.words.iter().skip(1).any(recursive)
}

/// Returns the table entry, the words after the program and its subcommand, and the paths in global
/// options.
fn entry<'w>(
    name: &[u8],
    words: &'w [Word],
) -> Result<(&'static Program, &'w [Word], Vec<PathWord>), Refusal> {
    let span = words.first().map(|word| word.span).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let mut full = vec![name];
    let Some(global) = tables::global(&full) else {
        let entry = tables::program(&full).ok_or_else(|| unknown(&full, span))?;
        return Ok((entry, rest, Vec::new()));
    };
    let (mut rest, mut paths) = skip_global_options(&global.options, rest)?;
    let subcommand = rest.first().map_or(span, |word| word.span);
    let mut found = tables::program(&full).map(|entry| (entry, rest));
    for _ in 0..MOST_SUBCOMMANDS {
        let Some((text, behind)) =
            rest.split_first().and_then(|(word, tail)| Some((word.text.as_ref()?, tail)))
        else {
            break;
        };
        full.push(text);
        rest = behind;
        if let Some(global) = tables::global(&full) {
            let (behind, more) = skip_global_options(&global.options, rest)?;
            rest = behind;
            paths.extend(more);
        }
        found = tables::program(&full).map(|entry| (entry, rest)).or(found);
    }
    let (entry, rest) = found.ok_or_else(|| unknown(&full, subcommand))?;
    Ok((entry, rest, paths))
}

/// Returns a refusal with the description in the other tables, if the program is in one of them.
fn unknown(name: Name<'_>, span: Span) -> Refusal {
    let launcher = tables::launcher(name).map(|entry| entry.does);
    let network = tables::network(name).map(|entry| entry.does);
    let does = tables::writer(name).map(|entry| entry.does).or(launcher).or(network);
    let does = does.unwrap_or("is not known to be read-only");
    Refusal::new("not_read_only", format!("`{}` {does}", String::from_utf8_lossy(&name.join(&b' '))), span)
}

fn skip_global_options<'w>(
    options: &'static Options,
    words: &'w [Word],
) -> Result<(&'w [Word], Vec<PathWord>), Refusal> {
    let mut rest = words;
    let mut paths = Vec::new();
    while let Some((word, tail)) = rest.split_first() {
        let Some(text) = word.text.as_deref().filter(|text| text.starts_with(b"-")) else {
            break;
        };
        if text == b"--version" {
            break;
        }
        let bare = text.strip_prefix(b"--").unwrap_or(text.get(1..).unwrap_or_default());
        let (name, value) = match bare.iter().position(|byte| *byte == b'=') {
            Some(at) => (bare.get(..at).unwrap_or_default(), bare.get(at + 1..)),
            None => (bare, None),
        };
        let flag = options.exact(name).filter(|flag| flag.refused.is_none());
        let Some(flag) = flag.filter(|flag| value.is_none() || flag.takes != Takes::Nothing) else {
            let message = format!(
                "`{}` before the subcommand is not known to be harmless",
                String::from_utf8_lossy(text)
            );
            return Err(Refusal::new("global_option", message, word.span));
        };
        rest = tail;
        if let Some(value) = value {
            if flag.takes == Takes::Read {
                paths.push(global_path(&Word::known(value, word.span))?);
            }
        } else if matches!(flag.takes, Takes::Value | Takes::Read) {
            let Some((value, tail)) = rest.split_first() else {
                break;
            };
            if flag.takes == Takes::Read {
                paths.push(global_path(value)?);
            }
            rest = tail;
        }
    }
    Ok((rest, paths))
}

/// Checks the value of a global option. It is the location of everything after it, so it must be a
/// known path, not an address.
fn global_path(value: &Word) -> Result<PathWord, Refusal> {
    if network::is_local(value) && !value.lead.starts_with(b"github.com/") {
        return Ok(PathWord::read(value));
    }
    Err(Refusal::new("global_option", "this may be the address of another host", value.span))
}
