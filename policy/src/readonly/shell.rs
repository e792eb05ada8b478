//! The effects of the shell itself before a program runs: assignments, redirects, expansions. Also commands that set or
//! unset variables before another command reads them: `unset`, `env -u`, `env -i`, `printf -v`.

use super::proof::{PathWord, Proof, Refusal, looks_like_path};
use crate::analysis::{Analysis, Found};
use crate::getopt;
use crate::parse::{Assign, Redir, RedirOp, Word};
use crate::tables::{self, names};

pub(super) fn check(found: &Found) -> Proof {
    let mut paths = Vec::new();
    for word in &found.words {
        check_word(word)?;
    }
    for assign in &found.assignments {
        check_assignment(assign, found)?;
        paths.extend(assign.values.iter().filter(|word| looks_like_path(word)).map(PathWord::read));
    }
    for redirect in &found.redirects {
        paths.extend(check_redirect(redirect)?);
    }
    Ok(paths)
}

/// Returns a refusal if the program passes an argument to a shell, and the argument contains
/// several commands.
pub(super) fn told_to_a_shell(found: &Found) -> Option<Refusal> {
    let name = found.trusted_name().filter(|name| names::hands_to_shell(name))?;
    let joins = |byte: &u8| matches!(byte, b';' | b'|' | b'&');
    let word = found.words.iter().skip(1).find(|word| word.lead.iter().any(joins))?;
    let message = format!("{} passes this text to a shell", String::from_utf8_lossy(name));
    Some(Refusal::new("shell_metacharacters", message, word.span))
}

fn check_word(word: &Word) -> Result<(), Refusal> {
    if let Some(hazard) = word.hazards.first() {
        let message = "an expansion in this word has a side effect";
        return Err(Refusal::new(hazard.code, message, hazard.span));
    }
    if word.writes_to_process() {
        let message = "the command writes to `>(...)`, which is not checked";
        return Err(Refusal::new("command_substitution", message, word.span));
    }
    for name in &word.variables {
        if names::is_telling_variable(name) {
            let message = format!("the command reads the variable `{}`", String::from_utf8_lossy(name));
            return Err(Refusal::new("dangerous_variables", message, word.span));
        }
    }
    Ok(())
}

fn check_assignment(assign: &Assign, found: &Found) -> Result<(), Refusal> {
    for value in &assign.values {
        check_word(value)?;
    }
    let reads_line = found.program() == Some(b"read") && assign.name == b"IFS";
    if names::is_dangerous_variable(&assign.name) && !reads_line {
        let message = format!(
            "the variable `{}` affects which programs run or how the shell reads the text",
            String::from_utf8_lossy(&assign.name)
        );
        return Err(Refusal::new("dangerous_variables", message, assign.span));
    }
    if !found.words.is_empty() && !reads_line && !names::is_safe_variable(&assign.name) {
        let message =
            format!("`{}` is not in the list of harmless variables", String::from_utf8_lossy(&assign.name));
        return Err(Refusal::new("unknown_variable", message, assign.span));
    }
    Ok(())
}

/// Reports whether the redirect changes only the command's own streams.
pub(crate) fn is_harmless(redirect: &Redir) -> bool {
    check_redirect(redirect).is_ok()
}

fn check_redirect(redirect: &Redir) -> Proof {
    if let Some(target) = &redirect.target {
        check_word(target)?;
    }
    let text = redirect.target.as_ref().and_then(|word| word.text.as_deref());
    match redirect.op {
        RedirOp::Heredoc | RedirOp::HereString | RedirOp::Duplicate => Ok(Vec::new()),
        RedirOp::Write if text == Some(b"/dev/null") => Ok(Vec::new()),
        RedirOp::Write
            if redirect.target.as_ref().is_some_and(|word| !word.variables.is_empty() && text.is_none()) =>
        {
            let message = "a variable determines which file is written";
            Err(Refusal::new("dangerous_variables", message, redirect.span))
        }
        RedirOp::Write => {
            Err(Refusal::new("output_redirection", "the command writes to a file", redirect.span))
        }
        RedirOp::Read => match (&redirect.target, text) {
            (Some(word), Some(path)) if !is_network(path) => Ok(vec![PathWord::read(word)]),
            // The output of a command in the text, which is listed separately.
            (Some(word), None) if word.is_process_input() => Ok(Vec::new()),
            _ => Err(Refusal::new("input_redirection", "the input is not a known file", redirect.span)),
        },
    }
}

fn is_network(path: &[u8]) -> bool {
    path.starts_with(b"/dev/tcp") || path.starts_with(b"/dev/udp")
}

/// Refuses commands with variables that are not known to be harmless.
pub(crate) fn check_environment(found: &Found, analysis: &Analysis) -> Result<(), Refusal> {
    analysis.unsafe_variable().map_or(Ok(()), |name| {
        let message = if names::is_dangerous_variable(name) {
            "affects which programs run or how the shell reads the text"
        } else {
            "is not in the list of harmless variables"
        };
        let message = format!("`{}` of the environment {message}", String::from_utf8_lossy(name));
        Err(Refusal::new("environment", message, found.span))
    })
}

/// Refuses commands that set or unset a variable that affects which programs run.
pub(super) fn check_variables(found: &Found) -> Result<(), Refusal> {
    let Some((program, rest)) = found.words.split_first() else {
        return Ok(());
    };
    let touched = match found.trusted_name().unwrap_or_default() {
        b"unset" | b"export" | b"declare" | b"typeset" | b"local" | b"readonly" => steering_name(rest),
        b"printf" => rest.split_first().and_then(|(flag, rest)| {
            let by_name = flag.text.as_deref() == Some(b"-v");
            steering_name(rest.get(..1).unwrap_or_default()).filter(|_| by_name)
        }),
        b"env" => taken_by_env(rest),
        _ => None,
    };
    touched.map_or(Ok(()), |word| {
        let text = String::from_utf8_lossy(&word.lead);
        let program = String::from_utf8_lossy(&program.lead);
        let message =
            format!("`{text}` of {program} affects which programs run or how the shell reads the text");
        Err(Refusal::new("dangerous_variables", message, word.span))
    })
}

/// Returns the first word that names or sets such a variable.
fn steering_name(words: &[Word]) -> Option<&Word> {
    words.iter().find(|word| {
        let name = word.lead.split(|byte| *byte == b'=').next().unwrap_or_default();
        names::is_dangerous_variable(name)
    })
}

/// Returns the word of `env -i`, `env -` or `env -u NAME` that removes such a variable.
fn taken_by_env(rest: &[Word]) -> Option<&Word> {
    let launcher = tables::launcher(&[b"env"])?;
    let sorted = getopt::sort(rest, &launcher.options);
    let first = sorted.operands.first().and_then(|index| rest.get(*index));
    let alone = first.filter(|word| word.text.as_deref() == Some(b"-"));
    let all = alone.or_else(|| rest.first().filter(|_| sorted.has("ignore-environment")));
    let names: Vec<&Word> = sorted.values("unset").collect();
    all.or_else(|| {
        let taken = names.iter().find(|name| names::is_dangerous_variable(&name.lead))?;
        rest.iter().find(|word| word.span == taken.span)
    })
}
