//! The rules that a person may add with an answer. They must name the programs and paths that they allow. A wider rule
//! belongs in a profile, where it is reviewed.

use crate::decision::Decision;
use crate::launch::base_name;
use crate::profile::breadth::runs_anything;
use crate::rules::matching::Element;
use crate::rules::{Rule, Tool};
use crate::tables;

/// The reason why a rule cannot be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRemembered {
    /// The program's name contains a star.
    #[error(
        "the rule does not contain the full name of its program; write the full name, or the whole command"
    )]
    Program,
    /// The program runs the programs that its arguments name.
    #[error("the rule would let its program run any command; write the whole command, without a star")]
    RunsAnything,
    /// The rule names a path that was not asked about, or several paths.
    #[error("a rule about a path can be remembered only if the decision suggests it")]
    Path,
}

/// Checks whether the rule may be remembered with the answer to this decision. `decide` checks whether the rule
/// covers the command.
///
/// # Errors
/// The reason why it may not be remembered.
pub fn memorable(rule: &Rule, asked: &Decision) -> Result<(), NotRemembered> {
    match rule.tool() {
        Tool::Bash | Tool::PowerShell => names_program(rule),
        Tool::Read | Tool::Edit => {
            let suggested = asked.suggested_rules.iter().any(|text| text == rule.text());
            if suggested { Ok(()) } else { Err(NotRemembered::Path) }
        }
    }
}

fn names_program(rule: &Rule) -> Result<(), NotRemembered> {
    let elements = rule.words().map_or(&[][..], |pattern| pattern.elements());
    let Some((program, rest)) = elements.split_first() else {
        return Err(NotRemembered::Program);
    };
    let program = program.literal().ok_or(NotRemembered::Program)?;
    let named: Vec<Vec<u8>> = rest.iter().map_while(Element::literal).collect();
    if named.len() == rest.len() {
        return Ok(());
    }
    let name = base_name(&program);
    let anything = match named.first() {
        None => {
            runs_anything(name)
                || tables::launcher(&[name]).is_some()
                || tables::has_launching_subcommands(&[name])
        }
        Some(sub) => {
            let full = [name, sub.as_slice()];
            runs_anything(name)
                || tables::launcher(&[name]).is_some()
                || tables::launcher(&full).is_some()
                || tables::has_launching_subcommands(&full)
        }
    };
    if anything { Err(NotRemembered::RunsAnything) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
