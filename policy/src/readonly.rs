//! The read-only proof of one command: by tables, and by reading the programs that
//! some commands carry as text. What no entry covers is refused.

mod awk;
mod find;
mod jq;
mod sed;
mod shell;
mod test;

pub(crate) use sed::is_harmless as sed_is_harmless;
pub(crate) use shell::is_harmless as redirect_is_harmless;

use crate::analysis::{Analysis, Found};
use crate::decision::{Access, Span};
use crate::getopt::{self, Options, Sorted, Trouble};
use crate::parse::Word;
use crate::tables::{self, Check, Glued, Operands, Program, names};

/// Why a command is not proven read-only.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) span: Span,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self { code, message: message.into(), span }
    }
}

/// A word that names a path, and what is done to it.
#[derive(Debug, Clone)]
pub(crate) struct PathWord {
    pub(crate) word: Word,
    pub(crate) access: Access,
}

impl PathWord {
    pub(crate) fn read(word: &Word) -> Self {
        Self { word: word.clone(), access: Access::Read }
    }
}

pub(crate) type Proof = Result<Vec<PathWord>, Refusal>;

/// Proves the command read-only, and says which paths it reads.
pub(crate) fn prove(found: &Found, analysis: &Analysis) -> Proof {
    let mut paths = shell::check(found)?;
    let Some(program) = found.words.first() else {
        return Ok(paths);
    };
    let Some(name) = found.trusted_name() else {
        return Err(match &program.text {
            None => Refusal::new("unknown_program", "which program runs is not known", program.span),
            Some(_) => Refusal::new(
                "untrusted_program",
                "a program given by path is known only under a read-only root directory",
                program.span,
            ),
        });
    };
    if analysis.defined.contains(name) {
        let message = "the text defines a function of this name";
        return Err(Refusal::new("function_call", message, program.span));
    }
    if found.opaque {
        let message = "what this program launches could not be made out";
        return Err(Refusal::new("launcher_not_understood", message, program.span));
    }
    if prints_version(name, &found.words) {
        return Ok(paths);
    }
    if found.safe_launcher {
        paths.extend(found.reads.iter().map(PathWord::read));
        return Ok(paths);
    }
    let (entry, rest, more) = entry(name, &found.words)?;
    paths.extend(more);
    paths.extend(check_program(entry, rest, analysis, program.span)?);
    if found.feeds_arguments && matches!(entry.name, "echo" | "printf" | "seq") {
        paths.extend(rest.iter().filter(|word| looks_like_path(word)).map(PathWord::read));
    }
    Ok(paths)
}

/// `PROGRAM --version` and nothing else.
fn prints_version(name: &[u8], words: &[Word]) -> bool {
    let [_, flag] = words else {
        return false;
    };
    let flags = names::VERSION_FLAGS.iter().find(|(program, _)| program.as_bytes() == name);
    flags.is_some_and(|(_, flags)| {
        flag.text.as_deref().is_some_and(|text| flags.split(' ').any(|known| known.as_bytes() == text))
    })
}

/// Whether a text that is not in a path's place could become a path elsewhere.
pub(crate) fn looks_like_path(word: &Word) -> bool {
    word.foreign_home || word.lead.starts_with(b"/") || word.lead.windows(2).any(|pair| pair == b"..")
}

/// The table's entry, the words behind the program and its subcommand, and the
/// paths that global options name.
fn entry<'w>(
    name: &[u8],
    words: &'w [Word],
) -> Result<(&'static Program, &'w [Word], Vec<PathWord>), Refusal> {
    let span = words.first().map(|word| word.span).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    let unknown =
        |name: &str, span| Refusal::new("not_read_only", format!("`{name}` {}", what_it_does(name)), span);
    if !names::has_subcommands(&name) {
        let entry = tables::program(&name).ok_or_else(|| unknown(&name, span))?;
        return Ok((entry, rest, Vec::new()));
    }
    let (rest, paths) = skip_global_options(&name, rest)?;
    let mut found = None;
    let mut full = name.into_owned();
    for (index, word) in rest.iter().enumerate().take(2) {
        let Some(text) = &word.text else {
            break;
        };
        full = format!("{full} {}", String::from_utf8_lossy(text));
        let behind = rest.get(index + 1..).unwrap_or_default();
        found = tables::program(&full).map(|entry| (entry, behind)).or(found);
    }
    let subcommand = rest.first().map_or(span, |word| word.span);
    let (entry, rest) = found.ok_or_else(|| unknown(&full, subcommand))?;
    Ok((entry, rest, paths))
}

/// What the other tables know of a program that is not read-only.
fn what_it_does(name: &str) -> &'static str {
    let launcher = tables::launchers::launcher_named(name.as_bytes()).map(|entry| entry.reason);
    let writer = tables::writers::writer_named(name.as_bytes()).map(|entry| entry.reason);
    writer.or(launcher).unwrap_or("is not known to be read-only")
}

fn skip_global_options<'w>(name: &str, words: &'w [Word]) -> Result<(&'w [Word], Vec<PathWord>), Refusal> {
    let mut rest = words;
    let mut paths = Vec::new();
    while let Some((word, tail)) = rest.split_first() {
        let Some(text) = word.text.as_deref().filter(|text| text.starts_with(b"-")) else {
            break;
        };
        if text == b"--version" {
            break;
        }
        let option = names::GLOBAL_OPTIONS
            .iter()
            .find(|option| option.program == name && option.flag.as_bytes() == text);
        let Some(option) = option.filter(|option| option.harmless) else {
            let message = format!(
                "`{}` before the subcommand is not known to be harmless",
                String::from_utf8_lossy(text)
            );
            return Err(Refusal::new("global_option", message, word.span));
        };
        rest = tail;
        if option.takes_value {
            let Some((value, tail)) = rest.split_first() else {
                break;
            };
            if name == "git" {
                paths.push(PathWord::read(value));
            }
            rest = tail;
        }
    }
    Ok((rest, paths))
}

fn check_program(entry: &'static Program, rest: &[Word], analysis: &Analysis, span: Span) -> Proof {
    match entry.check {
        Check::Find => return find::check(rest, span),
        Check::Test => return test::check(rest, analysis, span),
        _ => {}
    }
    let raw = matches!(entry.name, "echo" | "true" | "false" | ":" | "yes");
    if raw {
        return Ok(Vec::new());
    }
    let sorted = getopt::sort(
        rest,
        &Options {
            short: entry.short,
            long: entry.long,
            refused: entry.refused,
            stop_at_operand: entry.stops,
            digits: entry.digits,
        },
    );
    troubles(entry, &sorted, rest)?;
    glued(entry, rest)?;
    asks_for_signature(entry, &sorted, span)?;
    let operands: Vec<&Word> = sorted.operands.iter().filter_map(|index| rest.get(*index)).collect();
    let mut paths = flag_paths(entry, &sorted, span)?;
    paths.extend(operand_paths(entry, &sorted, &operands)?);
    paths.extend(language(entry, &sorted, &operands, span)?);
    Ok(paths)
}

fn troubles(entry: &Program, sorted: &Sorted, rest: &[Word]) -> Result<(), Refusal> {
    for (trouble, index) in &sorted.troubles {
        let word = rest.get(*index);
        let span = word.map(|word| word.span).unwrap_or_default();
        let text = word.map(|word| String::from_utf8_lossy(&word.lead).into_owned());
        let text = text.unwrap_or_default();
        return Err(match trouble {
            Trouble::UnknownWord if entry.harmless => continue,
            Trouble::Refused(reason) => {
                Refusal::new("dangerous_flag", format!("`{text}` of {} {reason}", entry.name), span)
            }
            Trouble::UnknownFlag => Refusal::new(
                "unknown_flag",
                format!("`{text}` is not known to be harmless for {}, which {}", entry.name, entry.reason),
                span,
            ),
            Trouble::UnknownWord => Refusal::new(
                "unknown_word",
                format!("a word of {} is not known and could be a flag that does harm", entry.name),
                span,
            ),
        });
    }
    Ok(())
}

/// Short flags in one word, of programs that do not read them as getopt does.
fn glued(entry: &Program, rest: &[Word]) -> Result<(), Refusal> {
    if entry.glued == Glued::Anything {
        return Ok(());
    }
    let is_plain = |cluster: &[u8]| {
        let valued = cluster.iter().position(|letter| getopt::takes_value(entry.short, *letter));
        let value = valued.and_then(|at| cluster.get(at + 1..)).unwrap_or_default();
        let alone = valued.unwrap_or(cluster.len().saturating_sub(1)) == 0;
        cluster.starts_with(b"-")
            || (value.iter().all(u8::is_ascii_digit) && (alone || entry.glued == Glued::Numbers))
    };
    let strange = rest.iter().find(|word| word.lead.strip_prefix(b"-").is_some_and(|rest| !is_plain(rest)));
    strange.map_or(Ok(()), |word| {
        let message = format!("{} reads flags in one word in a way of its own", entry.name);
        Err(Refusal::new("unknown_flag", message, word.span))
    })
}

/// A format of git that shows whether a signature is good: gpg is run to tell.
fn asks_for_signature(entry: &Program, sorted: &Sorted, span: Span) -> Result<(), Refusal> {
    let asks = |text: &[u8]| {
        text.windows(2).any(|part| part == b"%G") || text.windows(9).any(|part| part == b"signature")
    };
    let formats =
        sorted.flags.iter().filter(|flag| matches!(flag.name.as_str(), "format" | "pretty" | "sort"));
    let mut values = formats.filter_map(|flag| flag.value.as_ref());
    match values.find(|value| entry.name.starts_with("git ") && asks(&value.lead)) {
        None => Ok(()),
        Some(_) => Err(Refusal::new("dangerous_flag", "this format of git runs gpg", span)),
    }
}

fn flag_paths(entry: &Program, sorted: &Sorted, span: Span) -> Proof {
    let mut paths = Vec::new();
    for flag in sorted.flags.iter().filter(|flag| flag.is_path) {
        let Some(value) = &flag.value else {
            let message = format!("a flag of {} lacks its value", entry.name);
            return Err(Refusal::new("unknown_flag", message, span));
        };
        paths.push(PathWord::read(value));
    }
    Ok(paths)
}

fn operand_paths(entry: &Program, sorted: &Sorted, operands: &[&Word]) -> Proof {
    let too_many = |most: usize| {
        let surplus = operands.get(most).copied();
        let uncertain = operands.iter().find(|word| !word.exactly_one).copied();
        surplus.or(uncertain).map(|word| {
            let message = format!("an operand here is not read by {} but changes something", entry.name);
            Refusal::new("operand_writes", message, word.span)
        })
    };
    let paths_from = |skip: usize| operands.iter().skip(skip).map(|word| PathWord::read(word)).collect();
    match entry.operands {
        Operands::Paths => Ok(paths_from(0)),
        Operands::Text if entry.name.starts_with("git ") => Ok(operands
            .iter()
            .filter(|word| outside_pathspec(word))
            .map(|word| PathWord::read(word))
            .collect()),
        Operands::Text => Ok(Vec::new()),
        Operands::TextThenPaths(skip, flags) => {
            let given = flags.split_whitespace().any(|flag| sorted.has(flag));
            Ok(paths_from(if given { 0 } else { skip }))
        }
        Operands::AtMost(most) => match too_many(most) {
            Some(refusal) => Err(refusal),
            None => Ok(paths_from(0)),
        },
        Operands::TextAtMost(most) => too_many(most).map_or(Ok(Vec::new()), Err),
        Operands::Nothing => too_many(0).map_or(Ok(Vec::new()), Err),
    }
}

/// git takes revisions and paths in the same place; `a..b` is a revision.
fn outside_pathspec(word: &Word) -> bool {
    let text = word.text.as_deref().unwrap_or(&word.lead);
    word.foreign_home
        || text.starts_with(b"/")
        || text == b".."
        || text.starts_with(b"../")
        || text.windows(4).any(|part| part == b"/../")
}

fn language(entry: &Program, sorted: &Sorted, operands: &[&Word], span: Span) -> Proof {
    match entry.check {
        Check::Awk => awk::check(operands, span),
        Check::Sed => sed::check(sorted, operands, span),
        Check::Jq => jq::check_jq(operands, span),
        Check::Yq => jq::check_yq(operands),
        Check::Date => date(operands),
        Check::SomeOperand if operands.is_empty() => {
            Err(Refusal::new("unknown_flag", format!("{} lacks an operand", entry.name), span))
        }
        Check::ListingOnly(flags) => listing(entry, sorted, operands, flags),
        Check::GitConfig => git_config(sorted, operands, span),
        Check::Names => plain_names(operands),
        Check::Getent => getent(operands, span),
        Check::NoResponseFile => response_file(operands),
        Check::Directory => directory(operands, span),
        _ => Ok(Vec::new()),
    }
}

/// `date 0101` sets the clock; `date +%s` prints.
fn date(operands: &[&Word]) -> Proof {
    let setter = operands.iter().find(|word| !word.lead.starts_with(b"+"));
    setter.map_or(Ok(Vec::new()), |word| {
        Err(Refusal::new("operand_writes", "an operand of date without `+` sets the clock", word.span))
    })
}

fn listing(entry: &Program, sorted: &Sorted, operands: &[&Word], flags: &str) -> Proof {
    let lists = flags.split_whitespace().any(|flag| sorted.has(flag));
    match operands.first() {
        Some(word) if !lists => {
            let message = format!("an operand of {} without a listing flag changes something", entry.name);
            Err(Refusal::new("operand_writes", message, word.span))
        }
        _ => Ok(Vec::new()),
    }
}

fn git_config(sorted: &Sorted, operands: &[&Word], span: Span) -> Proof {
    let reads = ["l", "list", "get", "get-all", "get-regexp", "get-urlmatch", "get-color"];
    let by_flag = reads.iter().any(|flag| sorted.has(flag));
    let first = operands.first().and_then(|word| word.text.as_deref());
    let by_word = matches!(first, Some(b"get" | b"list"));
    let one_key = operands.len() == 1 && first.is_some_and(|key| key.contains(&b'.'));
    if by_flag || by_word || one_key {
        return Ok(Vec::new());
    }
    Err(Refusal::new("operand_writes", "git config writes unless it is told to read", span))
}

/// Databases that are files; others are asked for over the network.
fn getent(operands: &[&Word], span: Span) -> Proof {
    let database = operands.first().and_then(|word| word.text.as_deref());
    match database {
        Some(b"passwd" | b"group" | b"services" | b"protocols" | b"rpc" | b"initgroups") => Ok(Vec::new()),
        _ => Err(Refusal::new("network", "this database may be asked over the network", span)),
    }
}

/// What `read` sets: names without a subscript, which would be evaluated.
fn plain_names(operands: &[&Word]) -> Proof {
    let plain = |word: &&Word| {
        let text = word.text.as_deref().unwrap_or_default();
        !text.is_empty() && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    match operands.iter().find(|word| !plain(word) || names::is_dangerous_variable(&word.lead)) {
        None => Ok(Vec::new()),
        Some(word) => {
            let message = "what is set here is not a plain, harmless name";
            Err(Refusal::new("dangerous_variables", message, word.span))
        }
    }
}

/// binutils read more flags from the file behind `@`.
fn response_file(operands: &[&Word]) -> Proof {
    match operands.iter().find(|word| word.lead.starts_with(b"@")) {
        None => Ok(Vec::new()),
        Some(word) => {
            let message = "the flags in this file are not known";
            Err(Refusal::new("unknown_flag", message, word.span))
        }
    }
}

fn directory(operands: &[&Word], span: Span) -> Proof {
    match operands.first() {
        None => Ok(Vec::new()),
        Some(word) if word.text.as_deref().is_some_and(|text| text != b"-" && !text.starts_with(b"+")) => {
            Ok(Vec::new())
        }
        Some(_) => Err(Refusal::new("unknown_directory", "where this leads is not known", span)),
    }
}
