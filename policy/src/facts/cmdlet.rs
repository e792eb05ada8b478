//! The facts about a call of a cmdlet.

use crate::analysis::{Analysis, Found};
use crate::decision::Span;
use crate::parse::Word;
use crate::paths::{self, Located, Places, WriterPaths};
use crate::powershell::Call;
use crate::readonly::{self, PathWord, Proof, Refusal};
use crate::tables::names;

/// Returns why a cmdlet is not read-only, if it is not, its paths, and those that it edits.
pub(super) fn facts(
    found: &Found,
    analysis: &Analysis,
    places: &Places<'_>,
) -> (Option<Refusal>, Vec<Located>, Option<WriterPaths>) {
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
    if found.in_powershell.as_ref().is_some_and(|own| own.is_function) {
        let span = found.words.first().map_or(Span::default(), |word| word.span);
        return Err(Refusal::new("function_call", "the text defines a function with this name", span));
    }
    // The redirections and the environment are those of any command.
    let bare = Found { words: Vec::new(), in_powershell: None, ..found.clone() };
    readonly::prove(&bare, analysis)?;
    Ok(reads)
}
