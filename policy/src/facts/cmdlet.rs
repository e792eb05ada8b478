//! The facts about a call of a cmdlet, or of a function that the text defines.

use crate::analysis::{Analysis, Found};
use crate::parse::Word;
use crate::paths::{self, Located, Places, WriterPaths};
use crate::powershell::Call;
use crate::readonly::{self, PathWord, Proof, Refusal};
use crate::tables::names;

/// Returns why the call is not read-only, if it is not, its paths, and those that it edits.
pub(super) fn facts(
    found: &Found,
    analysis: &Analysis,
    places: &Places<'_>,
) -> (Option<Refusal>, Vec<Located>, Option<WriterPaths>) {
    let call = found.call();
    let mut words: Vec<PathWord> = paths::redirect_writes(found).collect();
    words.extend(found.reads.iter().map(PathWord::read));
    let proof = call.map_or_else(|| bare(found, analysis), |call| prove(call, found, analysis));
    let refusal = match proof {
        Ok(reads) => {
            words.extend(reads);
            None
        }
        Err(refusal) => {
            words.extend(call.map(|call| call.uses.clone()).unwrap_or_default());
            Some(refusal)
        }
    };
    let located = words.iter().flat_map(|word| paths::locate(word, &found.directory, places));
    let writes =
        call.filter(|call| is_edit(call)).map(|call| WriterPaths { paths: call.uses.clone(), is_edit: true });
    (refusal, located.filter(|located| located.path != "/dev/null").collect(), writes)
}

/// Reports whether the mode that accepts edits covers the call: its words show every file, and it creates no link.
fn is_edit(call: &Call) -> bool {
    const PLAIN: [&[u8]; 2] = [b"file", b"directory"];
    let plain = |value: &Word| {
        value.text.as_ref().is_some_and(|text| PLAIN.contains(&text.to_ascii_lowercase().as_slice()))
    };
    let mut types = call.parameters.iter().filter(|(name, ..)| *name == "ItemType");
    names::is_edit_by_powershell(call.cmdlet.name)
        && !call.hides
        && !call.is_open
        && call.uses.iter().all(|used| used.word.text.is_some())
        && types.all(|(_, values, _)| values.iter().all(plain))
}

fn prove(call: &Call, found: &Found, analysis: &Analysis) -> Proof {
    let reads = call.proof.clone()?;
    if is_replaced(call, found, analysis) {
        let span = found.words.first().map_or(found.span, |word| word.span);
        return Err(Refusal::new("function_call", "a function with this name replaces the cmdlet", span));
    }
    bare(found, analysis)?;
    Ok(reads)
}

/// Reports whether a function of the session has the name of the cmdlet. The body of one that the text defines is a
/// part of the text.
fn is_replaced(call: &Call, found: &Found, analysis: &Analysis) -> bool {
    let Some(own) = found.in_powershell.as_ref().filter(|own| !own.is_function) else {
        return false;
    };
    let written = own.elements.first().and_then(|(name, _)| name.as_deref()).unwrap_or_default();
    let names = [written.as_bytes(), call.cmdlet.name.as_bytes()];
    let in_text = &analysis.defined_in_powershell;
    if in_text.len() == analysis.defined.len() {
        return false;
    }
    let of_session = analysis.defined.iter().filter(|name| !in_text.contains(*name));
    of_session.into_iter().any(|name| names.iter().any(|own| own.eq_ignore_ascii_case(name)))
}

/// Proves the redirections and the environment, as those of any command.
fn bare(found: &Found, analysis: &Analysis) -> Proof {
    let bare = Found { words: Vec::new(), in_powershell: None, ..found.clone() };
    readonly::prove(&bare, analysis)
}
