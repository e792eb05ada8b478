//! The facts about a call of a cmdlet.

use crate::analysis::{Analysis, Found};
use crate::decision::Span;
use crate::paths::{self, Located, Places};
use crate::powershell::Call;
use crate::readonly::{self, PathWord, Proof, Refusal};

/// Returns why a cmdlet is not read-only, if it is not, and its paths.
pub(super) fn facts(
    found: &Found,
    analysis: &Analysis,
    places: &Places<'_>,
) -> (Option<Refusal>, Vec<Located>) {
    let call = found.call();
    let mut words: Vec<PathWord> = paths::redirect_writes(found).collect();
    let refusal = match call.map(|call| prove(call, found, analysis)) {
        Some(Ok(reads)) => {
            words.extend(reads);
            None
        }
        Some(Err(refusal)) => {
            words.extend(call.map(|call| call.uses.clone()).unwrap_or_default());
            Some(refusal)
        }
        None => None,
    };
    let located = words.iter().flat_map(|word| paths::locate(word, &found.directory, places));
    (refusal, located.filter(|located| located.path != "/dev/null").collect())
}

fn prove(call: &Call, found: &Found, analysis: &Analysis) -> Proof {
    let reads = call.proof.clone()?;
    if found.in_powershell.as_ref().is_some_and(|own| own.is_function) {
        let span = found.words.first().map_or(Span::default(), |word| word.span);
        return Err(Refusal::new("function_call", "the text defines a function with this name", span));
    }
    // The redirections and the environment are those of any command.
    let bare = Found { words: Vec::new(), in_powershell: None, ..found.clone() };
    readonly::prove(&bare, analysis)?;
    Ok(reads)
}
