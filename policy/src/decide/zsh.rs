//! The dangers of zsh that a bash parse does not show. A zsh command is never proven read-only. The
//! bash parse is used only to match deny rules, and rules that name the whole command.

use super::facts::Facts;
use super::match_rules::RuleSet;
use super::outcome::reason;
use crate::analysis::Found;
use crate::decision::{Reason, Span};
use crate::launch::base_name;
use crate::parse::Problem;
use crate::rules::matching::WordPattern;
use crate::tables::names;

const CODE: &str = "zsh_dangerous_commands";

/// Finds commands, expansions and globs with which zsh opens, writes or runs files.
pub(super) fn problems(text: &[u8], facts: &Facts<'_>) -> Vec<Problem> {
    let by_name = facts.analysis.commands.iter().filter_map(danger);
    let by_text = signs(text);
    by_name.chain(by_text).map(|span| Problem { code: CODE, span }).collect()
}

fn danger(found: &Found) -> Option<Span> {
    let (program, rest) = found.words.split_first()?;
    let name = base_name(program.text.as_deref()?);
    let edits =
        name == b"fc" && rest.iter().any(|word| word.lead.starts_with(b"-") && word.lead.contains(&b'e'));
    (names::is_zsh_danger(name) || edits).then_some(program.span)
}

/// Finds `=cmd` and `=(...)` at the start of a word, `~[...]`, and dangerous names in any position,
/// because a bash parse may not recognize them as commands.
fn signs(text: &[u8]) -> Vec<Span> {
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

/// Returns the rules that name every command word for word. No other rules allow zsh.
pub(super) fn by_exact_rules(rules: &RuleSet<'_>, facts: &Facts<'_>) -> Option<Vec<Reason>> {
    if !facts.analysis.complete || facts.analysis.commands.is_empty() || !facts.has_safe_environment() {
        return None;
    }
    let mut reasons = Vec::new();
    for (index, found) in facts.analysis.commands.iter().enumerate() {
        let plain = found.redirects.is_empty() && found.assignments.is_empty() && !found.opaque;
        let exact = |rule: &&crate::rules::Rule| rule.words().is_some_and(WordPattern::is_exact);
        let rule = rules.allow().filter(exact).find(|rule| plain && rules.must_match(rule, found))?;
        reasons.push(Reason {
            rule: Some(rule.text().to_owned()),
            command_index: Some(index),
            ..reason("allow_rule", "a rule allows it", Some(found.span))
        });
    }
    Some(reasons)
}
