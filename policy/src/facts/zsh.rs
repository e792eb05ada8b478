//! The dangers of zsh that a bash parse does not show. A zsh command is never proven read-only. The
//! bash parse is used only to match deny rules, and rules that name the whole command.

use crate::analysis::{Analysis, Found};
use crate::decision::Span;
use crate::launch::base_name;
use crate::parse::Problem;
use crate::tables::names;

const CODE: &str = "zsh_dangerous_commands";

/// Finds commands, expansions and globs with which zsh opens, writes or runs files.
pub(super) fn problems(text: &[u8], analysis: &Analysis) -> Vec<Problem> {
    let by_name = analysis.commands.iter().filter_map(danger);
    let by_text = expansions(text);
    by_name.chain(by_text).map(|span| Problem { code: CODE, span }).collect()
}

fn danger(found: &Found) -> Option<Span> {
    let (program, rest) = found.words.split_first()?;
    let name = base_name(program.text.as_deref()?);
    let edits =
        name == b"fc" && rest.iter().any(|word| word.lead.starts_with(b"-") && word.lead.contains(&b'e'));
    (names::is_zsh_danger(name) || edits).then_some(program.span)
}

/// Finds `=cmd` and `=(...)` at the start of a word, `~[...]`, and dangerous names in any position. A bash parse may
/// not recognize them as commands.
fn expansions(text: &[u8]) -> Vec<Span> {
    let mut out = Vec::new();
    let mut begins = true;
    for (at, byte) in text.iter().enumerate() {
        let next = text.get(at + 1).copied().unwrap_or(b' ');
        let expands = *byte == b'=' && begins && !matches!(next, b' ' | b'\t' | b'\n' | b'=' | b'~');
        if expands || (*byte == b'~' && next == b'[') {
            out.push(Span::new(at, at + 2));
        }
        begins = matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b'{' | b'<' | b'>' | b'`');
    }
    out
}
