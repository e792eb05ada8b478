//! Checks of single programs that go beyond flags and operands.

use std::borrow::Cow;

use super::proof::{Proof, Refusal};
use super::{awk, jq, network, sed};
use crate::analysis::Analysis;
use crate::decision::Span;
use crate::getopt::Sorted;
use crate::parse::{Word, is_name_byte};
use crate::tables::{Check, Options, Program, Takes, names};

/// Runs the additional check of a program.
pub(super) fn check(entry: &Program, sorted: &Sorted, operands: &[&Word], span: Span) -> Proof {
    if operands.is_empty() && ["help", "version"].iter().any(|flag| sorted.has(flag)) {
        return Ok(Vec::new());
    }
    match entry.check {
        Check::Awk => awk::check(operands, span),
        Check::Sed => sed::check(sorted, operands, span),
        Check::Jq => jq::check_jq(operands, span),
        Check::Yq => jq::check_yq(operands, span),
        Check::Date => date(operands),
        Check::Printf => printf(operands, span),
        Check::ListingOnly(flags) => listing(entry, sorted, operands, flags),
        Check::GitConfig => git_config(sorted, operands, span),
        Check::Names => plain_names(operands),
        Check::Getent => getent(operands, span),
        Check::NoResponseFile => response_file(operands),
        Check::Directory => directory(operands, span),
        Check::Tar => check_tar(sorted, span),
        Check::LocalFiles => network::check_local(sorted, operands),
        Check::Sockets => network::check_sockets(operands),
        Check::NoHost => network::check_no_host(sorted, operands),
        Check::Manual => manual(operands),
        Check::Processes => processes(operands),
        Check::JqByFlag => sorted.values("jq").try_fold(Vec::new(), |_, text| jq::check_jq(&[text], span)),
        Check::NoAssignment => no_assignment(entry, operands),
        Check::NoFormatCommand => no_format_command(sorted, span),
        _ => Ok(Vec::new()),
    }
}

/// Checks date: `date 0101` sets the clock; `date +%s` prints.
fn date(operands: &[&Word]) -> Proof {
    let setter = operands.iter().find(|word| !word.lead.starts_with(b"+"));
    setter.map_or(Ok(Vec::new()), |word| {
        Err(Refusal::new("operand_writes", "an operand of date without `+` sets the clock", word.span))
    })
}

fn listing(entry: &Program, sorted: &Sorted, operands: &[&Word], flags: &[&str]) -> Proof {
    let lists = flags.iter().any(|flag| sorted.has(flag));
    match operands.first() {
        Some(word) if !lists => {
            let message =
                format!("{} with an operand makes a change unless a flag makes it list", entry.name);
            Err(Refusal::new("operand_writes", message, word.span))
        }
        _ => Ok(Vec::new()),
    }
}

fn git_config(sorted: &Sorted, operands: &[&Word], span: Span) -> Proof {
    let reads = ["list", "get", "get-all", "get-regexp", "get-urlmatch", "get-color", "get-colorbool"];
    let by_flag = reads.iter().any(|flag| sorted.has(flag));
    let first = operands.first().and_then(|word| word.text.as_deref());
    let one_key = operands.len() == 1 && first.is_some_and(|key| key.contains(&b'.'));
    if by_flag || one_key {
        return Ok(Vec::new());
    }
    Err(Refusal::new("operand_writes", "git config writes unless a flag makes it read", span))
}

/// Refuses `NAME=value`, which sets the value that `NAME` would print.
fn no_assignment(entry: &Program, operands: &[&Word]) -> Proof {
    let sets = |word: &&&Word| word.text.as_deref().is_none_or(|text| text.contains(&b'='));
    operands.iter().find(sets).map_or(Ok(Vec::new()), |word| {
        let message = format!("an operand of {} with a `=` sets a value", entry.name);
        Err(Refusal::new("operand_writes", message, word.span))
    })
}

/// Refuses `#(command)` in a tmux format, which runs the command.
fn no_format_command(sorted: &Sorted, span: Span) -> Proof {
    let values = sorted.flags.iter().filter_map(|given| given.value.as_ref());
    let runs =
        |word: &Word| word.text.as_deref().is_none_or(|text| text.windows(2).any(|pair| pair == b"#("));
    match values.into_iter().any(runs) {
        false => Ok(Vec::new()),
        true => Err(Refusal::new("dangerous_flag", "a format of tmux can run commands", span)),
    }
}

/// Permits databases that are local files. Others can be queried over the network.
fn getent(operands: &[&Word], span: Span) -> Proof {
    let database = operands.first().and_then(|word| word.text.as_deref());
    match database {
        Some(b"passwd" | b"group" | b"services" | b"protocols" | b"rpc" | b"initgroups") => Ok(Vec::new()),
        _ => Err(Refusal::new("network", "this database may be queried over the network", span)),
    }
}

/// Checks ps: letters without a dash are flags, and `e` shows the environment of processes.
fn processes(operands: &[&Word]) -> Proof {
    let mut taken = false;
    for word in operands {
        let letters = word.text.as_deref().unwrap_or_default();
        let valued = letters.iter().position(|letter| b"oOptUkq".contains(letter));
        let flags = letters.get(..valued.unwrap_or(letters.len())).unwrap_or_default();
        if !std::mem::take(&mut taken) && flags.contains(&b'e') {
            let message = "`e` shows the environment of processes";
            return Err(Refusal::new("proc_environ_access", message, word.span));
        }
        taken = valued.is_some_and(|at| at + 1 == letters.len());
    }
    Ok(Vec::new())
}

/// Checks man: a page that is given by its path selects its own formatters, which are programs.
fn manual(operands: &[&Word]) -> Proof {
    match operands.iter().find(|word| word.text.is_none() || word.lead.contains(&b'/')) {
        None => Ok(Vec::new()),
        Some(word) => {
            let message = "a manual page that is named by path can run programs";
            Err(Refusal::new("dangerous_flag", message, word.span))
        }
    }
}

/// Checks the names that `read` sets. A subscript would be evaluated.
fn plain_names(operands: &[&Word]) -> Proof {
    let plain = |word: &&Word| {
        let text = word.text.as_deref().unwrap_or_default();
        !text.is_empty() && text.iter().copied().all(is_name_byte)
    };
    match operands.iter().find(|word| !plain(word) || names::is_dangerous_variable(&word.lead)) {
        None => Ok(Vec::new()),
        Some(word) => {
            let message = "the name of the variable is not plain and harmless";
            Err(Refusal::new("dangerous_variables", message, word.span))
        }
    }
}

/// Refuses `@FILE`: programs of binutils read further flags from the file.
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
        Some(_) => Err(Refusal::new("unknown_directory", "the named directory is not known", span)),
    }
}

/// Checks the format of `printf`: in bash's builtin, `%n` sets a variable, which could be PATH.
fn printf(operands: &[&Word], span: Span) -> Proof {
    let Some((format, arguments)) = operands.split_first() else {
        return Err(Refusal::new("unknown_flag", "printf has no operand", span));
    };
    let sets = match format.text.as_deref() {
        Some(text) => stores_count(text),
        None => !format.exactly_one || arguments.iter().any(|word| could_be_dangerous(word)),
    };
    if sets {
        let message = "this format may set a variable, as `%n` does";
        return Err(Refusal::new("dangerous_variables", message, format.span));
    }
    Ok(Vec::new())
}

fn could_be_dangerous(word: &Word) -> bool {
    word.text.as_deref().is_none_or(names::is_dangerous_variable)
}

/// Reports whether the format may contain `%n`. A time format in `%(...)T` is not parsed; the text
/// after its start is checked as a format.
fn stores_count(format: &[u8]) -> bool {
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(b"%") {
            rest = behind;
            continue;
        }
        let conversion = rest.iter().find(|byte| !b"-+ #'*.0123456789hjlLtz".contains(byte));
        if conversion == Some(&b'n') {
            return true;
        }
    }
    false
}

/// Converts `tar tvf FILE` to `tar -t -v -f FILE`: the letters of a first word without a dash are
/// flags, and their values follow in the same order.
pub(crate) fn with_dashes<'w>(words: &'w [Word], options: &Options) -> Cow<'w, [Word]> {
    let Some((first, mut rest)) = words.split_first() else {
        return Cow::Borrowed(words);
    };
    let Some(letters) = first.text.as_deref().filter(|text| !text.starts_with(b"-")) else {
        return Cow::Borrowed(words);
    };
    let mut written = Vec::new();
    for letter in letters {
        written.push(Word::known(&[b'-', *letter], first.span));
        let valued = options.short(*letter).is_some_and(|flag| flag.takes != Takes::Nothing);
        if let Some((value, tail)) = rest.split_first().filter(|_| valued) {
            written.push(value.clone());
            rest = tail;
        }
    }
    written.extend_from_slice(rest);
    Cow::Owned(written)
}

/// Checks that tar lists, which requires `-t`. In an archive's name, the text before a colon is a
/// host that tar would log in to.
fn check_tar(sorted: &Sorted, span: Span) -> Proof {
    if !["t", "help", "version"].iter().any(|flag| sorted.has(flag)) {
        return Err(Refusal::new("not_read_only", "`tar` changes files unless a flag makes it list", span));
    }
    match sorted.values("f").find(|archive| !sorted.has("force-local") && !network::is_local(archive)) {
        None => Ok(Vec::new()),
        Some(archive) => Err(Refusal::new(
            "network",
            "the archive may be on another host; start its name with `./`",
            archive.span,
        )),
    }
}

/// `test` and `[`: harmless, except for operators that evaluate a subscript.
pub(super) fn test_command(rest: &[Word], analysis: &Analysis, span: Span) -> Proof {
    let refuse = |at: Span| {
        let message = "an operand may be a name with a subscript, which bash evaluates";
        Err(Refusal::new("arithmetic_evaluation", message, at))
    };
    let mut unknown_before = false;
    for (index, word) in rest.iter().enumerate() {
        let unknown = word.text.is_none() && word.lead.is_empty() && !is_number(word, analysis);
        let subscript = word.lead.contains(&b'[') && word.lead.len() > 1;
        let hidden = unknown && (unknown_before || !word.exactly_one);
        if hidden || (unknown_before && subscript) || may_evaluate(word) {
            return refuse(word.span);
        }
        unknown_before = unknown;
        if !matches!(word.text.as_deref(), Some(b"-v" | b"-R")) {
            continue;
        }
        let operand = rest.get(index + 1).and_then(|word| word.text.as_deref());
        let plain = operand.is_some_and(|name| !name.is_empty() && name.iter().copied().all(is_name_byte));
        if !plain {
            return refuse(rest.get(index + 1).map_or(span, |word| word.span));
        }
    }
    Ok(Vec::new())
}

/// Reports whether a glob may become an operator that evaluates the words next to it.
fn may_evaluate(word: &Word) -> bool {
    const OPERATORS: [&[u8]; 8] = [b"-v", b"-R", b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge"];
    let is_sign = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b']');
    let head = word.lead.split(is_sign).next().unwrap_or_default();
    let tail = word.lead.rsplit(is_sign).next().unwrap_or_default();
    word.glob && OPERATORS.iter().any(|operator| operator.starts_with(head) && operator.ends_with(tail))
}

/// Reports whether the word consists of variables that the text only sets to numbers, or of counts
/// from wc.
fn is_number(word: &Word, analysis: &Analysis) -> bool {
    let numeric = |name: &Vec<u8>| analysis.numeric.contains(name);
    let some = !word.variables.is_empty() || !word.substitutions.is_empty();
    some && word.substitutions.iter().all(|made| made.is_count()) && word.variables.iter().all(numeric)
}
