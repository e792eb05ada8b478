//! PowerShell started from bash. Its text is kept unparsed for the comparison with rules.

use super::launches::{Launches, PowerShell};
use crate::parse::Word;
use crate::tables::names;

pub(super) fn launches(rest: &[Word]) -> Launches {
    let switches =
        rest.iter().take_while(|word| folded(word).is_some_and(|word| names::is_powershell_switch(&word)));
    let own = rest.get(switches.count()..).unwrap_or_default();
    if is_script(own)
        || matches!(own, [word] if folded(word).is_some_and(|word| names::tells_of_powershell(&word)))
    {
        return Launches::default();
    }
    let text =
        rest.iter().map(|word| word.text.as_deref().unwrap_or(&word.lead)).collect::<Vec<_>>().join(&b' ');
    let is_dash = |word: &Word| word.text.as_deref() == Some(b"-");
    let reads_input = own.is_empty() || own.iter().any(|word| word.text.is_none() || is_dash(word));
    Launches { powershell: Some(PowerShell { text, reads_input }), ..Launches::default() }
}

fn folded(word: &Word) -> Option<Vec<u8>> {
    word.text.as_deref().map(<[u8]>::to_ascii_lowercase)
}

/// Recognizes `x.ps1` and `-File x.ps1`: as with other shells, the text is in a file.
fn is_script(words: &[Word]) -> bool {
    let name = match words {
        [flag, name, ..] if matches!(folded(flag).as_deref(), Some(b"-file" | b"-f")) => name,
        [name, ..] => name,
        [] => return false,
    };
    let text = name.text.as_deref().unwrap_or_default();
    !text.starts_with(b"-") && text.to_ascii_lowercase().ends_with(b".ps1") && !text.contains(&b' ')
}
