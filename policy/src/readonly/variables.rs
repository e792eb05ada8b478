//! Commands that unset variables, or set them by name, before another command reads them: `unset`,
//! `env -u`, `env -i`, `printf -v`.

use super::proof::Refusal;
use crate::analysis::{Analysis, Found};
use crate::getopt;
use crate::parse::Word;
use crate::tables::{self, names};

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
pub(super) fn check(found: &Found) -> Result<(), Refusal> {
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
