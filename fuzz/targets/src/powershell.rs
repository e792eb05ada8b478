//! The invariants of PowerShell texts: all places lie inside the text, a rule that denies a command denies the text,
//! and other spellings and blocks keep the meaning.

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Shell, Verdict, decide};
use airlock_powershell::{Argument, Element, RedirectionTarget, Script, Span, Value};

fn request(text: &str) -> Request<'_> {
    Request { shell: Shell::Pwsh, ..Request::bash(text.as_bytes()) }
}

/// Checks that each place of the parser is a part of the text.
pub fn lies_inside(script: &Script, text: &str) {
    let inside =
        |span: Span| assert!(text.get(span.start..span.end).is_some(), "{span:?} of {} bytes", text.len());
    for command in &script.commands {
        inside(command.span);
        assert!(!command.elements.is_empty(), "a command has a name");
        assert!(command.within.is_none_or(|outer| outer < script.commands.len()));
        for element in &command.elements {
            match element {
                Element::Parameter { value, span, .. } => {
                    inside(*span);
                    value.iter().for_each(|value| argument(value, &inside));
                }
                Element::Argument(found) => argument(found, &inside),
            }
        }
        for redirection in &command.redirections {
            inside(redirection.span);
            if let RedirectionTarget::File { name, .. } = &redirection.to {
                argument(name, &inside);
            }
        }
    }
    script.members.iter().for_each(|found| inside(found.span));
    script.types.iter().for_each(|found| inside(found.span));
    script.assignments.iter().for_each(|found| inside(found.span));
    script.constructs.iter().for_each(|found| inside(found.span));
    script.redirections.iter().for_each(|found| inside(found.span));
    if let Some(fault) = script.fault {
        assert!(fault.at <= text.len());
    }
}

fn argument(found: &Argument, inside: &impl Fn(Span)) {
    inside(found.span);
    match &found.value {
        Value::Array(values) => values.iter().for_each(|value| argument(value, inside)),
        Value::Hashtable(Some(entries)) => entries.iter().for_each(|(_, value)| argument(value, inside)),
        _ => {}
    }
}

/// Returns the names of the cmdlets that were found.
fn cmdlets(decision: &Decision) -> impl Iterator<Item = &str> {
    decision.commands.iter().filter_map(|command| command.powershell.as_ref()?.command.as_deref())
}

/// Checks that a rule which denies a cmdlet of the text denies the text in every mode.
pub fn rules_hold(text: &str, decision: &Decision, sandboxed: &Profile) {
    let none: &[&str] = &[];
    for name in cmdlets(decision).take(2) {
        let rule = format!("PowerShell({name}:*)");
        let Ok(rules) = Rules::parse(none, none, &[rule.as_str()]) else { continue };
        let denied = Request { extra_rules: Some(&rules), mode: Some(Mode::Bypass), ..request(text) };
        let verdict = decide(&denied, sandboxed).verdict;
        assert!(verdict == Verdict::Deny || !decision.parse_complete, "`{rule}` does not deny `{text}`");
    }
}

/// Checks that a command which is written again from its reading has the same parameters and values.
pub fn spelling_changes_nothing(decision: &Decision, profile: &Profile) {
    let readings = decision.commands.iter().filter_map(|command| command.powershell.as_ref());
    for reading in readings.take(4) {
        let Some(command) = &reading.command else { continue };
        let mut text = format!("& '{}'", command.replace('\'', "''"));
        let known = reading.parameters.iter().all(|parameter| {
            text.push_str(&format!(" -{}", parameter.name));
            let [value] = parameter.values.as_slice() else { return parameter.values.is_empty() };
            let Some(value) = value.as_ref().filter(|value| !value.contains('\0')) else { return false };
            text.push_str(&format!(
                ":'{}'",
                value.replace(['\'', '\u{2018}', '\u{2019}', '\u{201a}', '\u{201b}'], "''")
            ));
            !value.contains(['\u{2018}', '\u{2019}', '\u{201a}', '\u{201b}'])
        });
        if !known || text.len() > 8_000 {
            continue;
        }
        let again = decide(&request(&text), profile);
        let found = again.commands.first().and_then(|found| found.powershell.as_ref());
        let names = |parameters: &[airlock_policy::BoundParameter]| {
            parameters
                .iter()
                .map(|parameter| (parameter.name.clone(), parameter.values.clone()))
                .collect::<Vec<_>>()
        };
        let is_same = found.is_some_and(|found| {
            found.command == reading.command
                && (found.parameters.is_empty() || names(&found.parameters) == names(&reading.parameters))
        });
        assert!(is_same, "`{text}` is read as {found:?}, and not as {reading:?}");
    }
}

/// Checks that a script block with the text contains the same cmdlets, and is not read-only if the text is not.
pub fn in_a_block_is_the_same(text: &str, decision: &Decision, profile: &Profile) {
    let lower = text.to_ascii_lowercase();
    let moves = ["using", "param", "begin", "process", "end", "clean", "dynamicparam", "requires"];
    if !decision.parse_complete || moves.iter().any(|word| lower.contains(word)) {
        return;
    }
    let wrapped = format!("& {{\n{text}\n}}");
    let again = decide(&request(&wrapped), profile);
    if !again.parse_complete {
        return;
    }
    assert!(cmdlets(decision).eq(cmdlets(&again)), "a block changes the commands of `{text}`");
    assert!(decision.read_only || !again.read_only, "a block makes `{text}` read-only");
}
