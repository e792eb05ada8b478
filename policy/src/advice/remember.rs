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
    /// The rule is about hosts.
    #[error("a rule about a host cannot be remembered; add it to the profile")]
    Host,
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
        Tool::Network => Err(NotRemembered::Host),
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
mod tests {
    use super::*;
    use crate::{Profile, Request, decide};

    fn answer(rule: &str) -> Result<(), NotRemembered> {
        let asked = decide(&Request::bash(b"cat /etc/shadow"), &Profile::blank("p"));
        memorable(&Rule::parse(rule).unwrap(), &asked)
    }

    #[test]
    fn what_names_its_command_is_remembered() {
        for rule in [
            "Bash(make all)",
            "Bash(make:*)",
            "Bash(npm run:*)",
            "Bash(git push:*)",
            "Bash(git push * --force)",
            "Bash(python3 -c 'print(1)')",
            "Bash(sudo ls)",
            "Bash(echo \\*)",
            "Read(//etc/shadow)",
        ] {
            assert_eq!(answer(rule), Ok(()), "{rule}");
        }
    }

    #[test]
    fn what_would_allow_anything_is_not() {
        for rule in ["Bash", "Bash(*)", "Bash(* --version)", "Bash(mak*)", "Bash(ma* all)"] {
            assert_eq!(answer(rule), Err(NotRemembered::Program), "{rule}");
        }
        for rule in [
            "Bash(sh:*)",
            "Bash(/bin/bash:*)",
            "Bash(bash -c *)",
            "Bash(bash -c:*)",
            "Bash(env:*)",
            "Bash(env * ls)",
            "Bash(sudo:*)",
            "Bash(sudo ls*)",
            "Bash(xargs:*)",
            "Bash(python3.11:*)",
            "Bash(python3 -c *)",
            "Bash(find . -name *)",
            "Bash(timeout:*)",
            "Bash(nohup:*)",
            "Bash(parallel:*)",
            "Bash(watch:*)",
            "Bash(setsid:*)",
            "Bash(ssh host:*)",
        ] {
            assert_eq!(answer(rule), Err(NotRemembered::RunsAnything), "{rule}");
        }
        assert_eq!(answer("Network(example.com)"), Err(NotRemembered::Host));
        for rule in ["Read", "Read(**)", "Read(//etc/**)", "Edit(//etc/shadow)", "Edit(*)"] {
            assert_eq!(answer(rule), Err(NotRemembered::Path), "{rule}");
        }
    }

    #[test]
    fn rules_behind_a_profile_lift_neither_what_it_denies_nor_what_it_asks_about() {
        let profile = Profile::builtin("demo").unwrap();
        let rules = ["Bash(git push:*)", "Bash(make:*)"].map(|text| Rule::parse(text).unwrap());
        let more = profile.with_allowed(rules);
        assert_ne!(more.policy_version(), profile.policy_version());
        for command in [&b"git push"[..], b"make all"] {
            let [before, after] = [&profile, &more].map(|by| decide(&Request::bash(command), by).verdict);
            assert_eq!(before, after);
        }
        let strict = Profile::builtin("strict").unwrap();
        let allowed = strict.with_allowed([Rule::parse("Bash(make:*)").unwrap()]);
        assert_eq!(decide(&Request::bash(b"make all"), &allowed).verdict, crate::Verdict::Allow);
    }
}
