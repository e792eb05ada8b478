//! The breadth of rules: allow rules that permit more than they seem to, and programs that can run anything.

use crate::launch::base_name;
use crate::rules::{Rule, Rules, Tool, matching::Element};
use crate::tables::names::{protected_names, runs_anything_in_powershell};
use crate::tables::{self, CmdletEffect, Launcher, cmdlets, interpreter};

/// Reports whether a prefix rule for this program would allow any command. This holds if it runs commands from its
/// arguments, or text in a programming language.
pub(crate) fn runs_anything(program: &[u8]) -> bool {
    let launches = tables::launcher(&[program]).is_some_and(Launcher::is_told);
    let language = || interpreter(program).is_some_and(|language| !language.texts.is_empty());
    launches || language() || is_runner_of_powershell(program)
}

/// Reports whether the command runs text or programs in PowerShell, also on Windows.
fn is_runner_of_powershell(name: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(name).to_ascii_lowercase();
    let told = cmdlets::alias(&lower).map_or(lower.clone(), str::to_ascii_lowercase);
    runs_anything_in_powershell(&told)
}

/// Returns warnings about allow rules that permit more than they seem to.
pub(super) fn over_broad(rules: &Rules) -> Vec<String> {
    rules
        .allow
        .iter()
        .filter_map(|rule| match rule.tool() {
            Tool::Bash | Tool::PowerShell if is_over_broad(rule) => {
                Some(format!("the allow rule `{}` lets its program run any command", rule.text()))
            }
            Tool::Edit => lifted(rule).map(|name| {
                format!("the allow rule `{}` also covers the protected name `{name}`", rule.text())
            }),
            _ => None,
        })
        .collect()
}

fn is_over_broad(rule: &Rule) -> bool {
    let elements = rule.words().map_or(&[][..], |pattern| pattern.elements());
    let open = elements.contains(&Element::AnyWords);
    let Some(Element::Word(program)) = elements.first() else {
        return rule.words().is_some();
    };
    let named: Vec<Vec<u8>> = elements.iter().map_while(Element::literal).collect();
    let Some((program, subcommands)) = named.split_first().filter(|_| !program.contains(&None)) else {
        return open;
    };
    let name = match rule.tool() {
        Tool::PowerShell => powershell_name(program),
        _ => base_name(program).to_vec(),
    };
    let mut full: Vec<&[u8]> = vec![&name];
    open && (runs_anything(&name)
        || (rule.tool() == Tool::PowerShell && runs_what_is_not_shown(&name))
        || subcommands.iter().any(|word| {
            full.push(word);
            tables::launcher(&full).is_some_and(Launcher::is_told)
        }))
}

/// Reports whether the cmdlet may run something that its words do not show.
fn runs_what_is_not_shown(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    let cmdlet = cmdlets::cmdlet(cmdlets::alias(&name).unwrap_or(&name));
    cmdlet.is_some_and(|cmdlet| cmdlet.effect == CmdletEffect::Runs)
}

/// Returns a program's name in PowerShell's form, which ignores case and the extension.
fn powershell_name(program: &[u8]) -> Vec<u8> {
    let name = base_name(program).to_ascii_lowercase();
    name.strip_suffix(b".exe").map(<[u8]>::to_vec).unwrap_or(name)
}

/// Returns a protected name that the rule covers without naming it.
pub(crate) fn lifted(rule: &Rule) -> Option<&'static str> {
    protected_names().find(|name| {
        let covers = |path: &str| {
            rule.path().is_some_and(|pattern| pattern.matches(path, "/workspace", "/home/agent"))
        };
        let named = rule.text().contains(name);
        !named && (covers(&format!("/workspace/{name}")) || covers(&format!("/workspace/sub/{name}")))
    })
}
