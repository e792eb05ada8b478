//! The invariants of every decision. It exists, is deterministic, stays within its text and limits, and is readable.
//! More deny or ask rules never loosen it.

use airlock_policy::{
    Decision, FoundCommand, Mode, Profile, Request, Requirement, Rules, Shell, Span, Verdict, check, decide,
    limits, parts,
};

use crate::bounds::bounded;

/// Decides, and checks all invariants of a single decision.
pub fn checked(request: &Request<'_>, profile: &Profile) -> Decision {
    let decision = bounded(|| decide(request, profile));
    assert_eq!(decision, decide(request, profile), "the same request gets the same decision");
    assert!(!decision.reasons.is_empty(), "a decision has a reason");
    assert!(decision.reasons.iter().all(|reason| reason.code != "internal_fault"));
    assert!(decision.reasons.len() <= limits::MAX_REASONS + 1);
    assert!(decision.commands.len() <= limits::MAX_LISTED_COMMANDS);
    spans_lie_inside(&decision, request.command.len());
    read_only_is_enforced(&decision, request);
    let json = serde_json::to_string(&decision).expect("a decision is JSON");
    let _: serde_json::Value = serde_json::from_str(&json).expect("JSON is read back");
    let parts = bounded(|| parts(request, profile));
    let text = check::render(request.command, &decision, &parts, check::Style::PLAIN);
    let tame = |c: char| c == '\n' || !c.is_control();
    assert!(text.chars().all(tame), "all text of the command is escaped");
    decision
}

fn spans_lie_inside(decision: &Decision, length: usize) {
    let inside = |span: Span| {
        assert!(span.start <= span.end && span.end <= length, "{span:?} of {length} bytes");
    };
    decision.reasons.iter().filter_map(|reason| reason.span).for_each(inside);
    decision.warnings.iter().filter_map(|warning| warning.span).for_each(inside);
    decision.rewrites.iter().for_each(|rewrite| inside(rewrite.span));
    for command in &decision.commands {
        inside(command.span);
        command.argv.iter().for_each(|word| inside(word.span));
        command.redirects.iter().for_each(|redirect| inside(redirect.span));
        command.assignments.iter().for_each(|assignment| inside(assignment.span));
    }
    for index in decision.reasons.iter().filter_map(|reason| reason.command_index) {
        assert!(index < decision.commands.len());
    }
    assert!(decision.paths.iter().all(|path| path.command_index < decision.commands.len()));
}

fn read_only_is_enforced(decision: &Decision, request: &Request<'_>) {
    if !decision.read_only {
        assert!(!decision.concurrency_safe);
        return;
    }
    assert!(decision.parse_complete && request.shell != Shell::Zsh && request.unsandboxed.is_none());
    for requirement in [Requirement::ReadOnlyMount, Requirement::TrustedPath] {
        assert!(decision.requires.contains(&requirement), "read-only is enforced by the runner");
    }
    assert!(decision.commands.iter().all(|command| command.read_only));
}

/// Checks that a bare deny rule denies, a bare allow rule never tightens, and a tighter mode never
/// loosens.
pub fn is_monotone(text: &[u8], sandboxed: &Profile) {
    let verdict = |mode, rules| {
        let request = Request { mode: Some(mode), extra_rules: rules, ..Request::bash(text) };
        decide(&request, sandboxed).verdict
    };
    let none: &[&str] = &[];
    let denies = Rules::parse(none, none, &["Bash"]).expect("a bare rule");
    let allows = Rules::parse(&["Bash"], none, none).expect("a bare rule");
    let modes = [Mode::Bypass, Mode::AcceptEdits, Mode::Default, Mode::Plan];
    let plain = modes.map(|mode| verdict(mode, None));
    assert!(plain.is_sorted(), "a tighter mode is never looser: {plain:?}");
    for (mode, plain) in modes.into_iter().zip(plain) {
        assert!(verdict(mode, Some(&denies)) >= plain, "a deny rule never loosens");
        assert!(verdict(mode, Some(&allows)) <= plain, "an allow rule never tightens");
    }
    let decision = decide(&Request { extra_rules: Some(&denies), ..Request::bash(text) }, sandboxed);
    let runs = decision
        .commands
        .iter()
        .any(|command| command.argv.first().is_some_and(|program| program.text.is_some()));
    assert!(!runs || decision.verdict == Verdict::Deny, "a deny rule for every program denies each command");
}

/// Checks that a command with every word quoted has the same words.
pub fn quoting_changes_nothing(decision: &Decision, profile: &Profile) {
    for command in decision.commands.iter().take(4) {
        let Some((words, text)) = quoted(command) else {
            continue;
        };
        let again = decide(&Request::bash(&text), profile);
        let first = again.commands.first();
        let same = first.is_some_and(|first| {
            first.argv.len() == words.len()
                && first.argv.iter().zip(&words).all(|(word, wanted)| word.text.as_deref() == Some(*wanted))
        });
        let shown = String::from_utf8_lossy(&text);
        assert!(same, "`{shown}` has other words: {:?}", again.commands);
    }
}

/// Returns the words of a command if all are known, and a text that can only mean these words.
fn quoted(command: &FoundCommand) -> Option<(Vec<&[u8]>, Vec<u8>)> {
    let words: Vec<&[u8]> = command.argv.iter().map(|word| word.text.as_deref()).collect::<Option<_>>()?;
    let mut text = Vec::new();
    for word in &words {
        text.push(b'\'');
        for byte in *word {
            match byte {
                0 => return None,
                b'\'' => text.extend_from_slice(b"'\\''"),
                other => text.push(*other),
            }
        }
        text.extend_from_slice(b"' ");
    }
    (!words.is_empty() && text.len() <= limits::MAX_PARSED_BYTES).then_some((words, text))
}
