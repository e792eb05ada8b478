//! The changes of a text or of rules, and the property that must hold after each.

use airlock_policy::{Decision, Mode, Verdict};
use fastrand::Rng;

use super::law::{self, Facts, Law};
use super::spelling;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    OneMoreDeny,
    OneMoreAsk,
    OneAllowLess,
    TighterMode,
    InAList,
    BeforeAnother,
    InASubshell,
    InAPipe,
    InAShell,
    InTimeout,
    SpeltAnew,
}

pub(super) const CHANGES: &[Change] = &[
    Change::OneMoreDeny,
    Change::OneMoreAsk,
    Change::OneAllowLess,
    Change::TighterMode,
    Change::InAList,
    Change::BeforeAnother,
    Change::InASubshell,
    Change::InAPipe,
    Change::InAShell,
    Change::InTimeout,
    Change::SpeltAnew,
];

pub(super) struct Changed {
    pub(super) text: Vec<u8>,
    pub(super) law: Law,
}

impl Change {
    /// Returns the text and rules after the change, or none if the change does not apply.
    pub(super) fn of(self, text: &[u8], law: &Law, before: &Decision, rng: &mut Rng) -> Option<Changed> {
        match self {
            Self::OneMoreDeny | Self::OneMoreAsk | Self::OneAllowLess | Self::TighterMode => {
                Some(Changed { text: text.to_vec(), law: self.tighter(law, &facts(text, before), rng)? })
            }
            Self::SpeltAnew => Some(Changed { text: spelling::anew(text, before, rng)?, law: law.clone() }),
            _ => Some(Changed { text: self.within(text, before)?, law: self.without_its_own_rules(law) }),
        }
    }

    /// Returns whether the second decision is valid after the first.
    pub(super) fn holds(self, before: &Decision, after: &Decision) -> bool {
        if self == Self::SpeltAnew {
            before.verdict == after.verdict
        } else {
            before.verdict <= after.verdict
        }
    }

    fn tighter(self, law: &Law, before: &Facts<'_>, rng: &mut Rng) -> Option<Law> {
        let mut law = law.clone();
        match self {
            Self::OneMoreDeny => {
                let at = rng.usize(..=law.deny.len());
                law.deny.insert(at, law::rule(before, rng)?);
            }
            Self::OneMoreAsk => {
                let at = rng.usize(..=law.ask.len());
                law.ask.insert(at, law::rule(before, rng)?);
            }
            Self::OneAllowLess => {
                let at = rng.usize(..law.allow.len().max(1));
                drop((at < law.allow.len()).then(|| law.allow.remove(at))?);
            }
            _ => {
                let modes = [Mode::Bypass, Mode::AcceptEdits, Mode::Default, Mode::Plan];
                let tighter: Vec<Mode> = modes.into_iter().filter(|mode| *mode > law.mode).collect();
                law.mode = *rng.choice(&tighter)?;
            }
        }
        Some(law)
    }

    /// Returns the text as a part of a larger one.
    fn within(self, text: &[u8], before: &Decision) -> Option<Vec<u8>> {
        let end: &[u8] = if text.contains(&b'\n') || text.contains(&b'#') { b"\n" } else { b"" };
        let last = text.trim_ascii_end().last().copied();
        let in_braces = !end.is_empty() || matches!(last, Some(b'&' | b';'));
        // A check of the input rejects texts that begin like the rest of another text.
        let begins = text.iter().find(|byte| !matches!(byte, b' ' | b'\n'));
        let is_rest =
            matches!(begins, Some(b'\t' | b'-' | b';' | b'|' | b'&' | b')')) || text.ends_with(b"\\");
        // Commands found in a text with an incomplete parse may not exist. Only a rule's verdict on its words is
        // reliable.
        let by_rule = before.reasons.first().is_some_and(|first| first.rule.is_some());
        let is_doubtful = !before.parse_complete && before.verdict != Verdict::Allow && !by_rule;
        let empty = is_rest || is_doubtful || before.commands.is_empty();
        // `((` would start arithmetic.
        let open: &[u8] = if text.starts_with(b"(") { b"( " } else { b"(" };
        match self {
            _ if empty => None,
            Self::InAList => Some([b"true; ", text].concat()),
            // An incomplete text can continue in the next line.
            Self::BeforeAnother if !before.parse_complete => None,
            Self::BeforeAnother => Some([text, b"\ntrue"].concat()),
            Self::InASubshell => Some([open, text, end, b")"].concat()),
            Self::InAPipe if in_braces => Some([b"{ ", text, b"\n} | cat"].concat()),
            Self::InAPipe => Some([text, b" | cat"].concat()),
            Self::InAShell => {
                let text = String::from_utf8(text.to_vec()).ok()?;
                Some(format!("sh -c '{}'", text.replace('\'', "'\\''")).into_bytes())
            }
            _ => is_one_program(text, before).then(|| [b"timeout 5 ", text].concat()),
        }
    }

    /// Removes rules about `sh` or `timeout`, which match only the larger text.
    fn without_its_own_rules(self, law: &Law) -> Law {
        let own: &[&str] = match self {
            Self::InAShell => &["Bash(sh"],
            Self::InTimeout => &["Bash(timeout"],
            _ => &[],
        };
        let mut law = law.clone();
        law.allow.retain(|rule| !own.iter().any(|own| rule.starts_with(own)));
        law
    }
}

fn facts<'t>(text: &'t [u8], decision: &Decision) -> Facts<'t> {
    Facts { text, decision: decision.clone() }
}

/// Builtins and reserved words.
const NO_PROGRAM: &str = "alias bg bind break builtin caller cd command compgen complete compopt continue coproc declare \
    dirs disown enable eval exec exit export fc fg function getopts hash help history if jobs let \
    local logout mapfile popd pushd read readarray readonly return set shift shopt source suspend \
    time times trap type typeset ulimit umask unalias unset wait . : ! [[ {";

/// Returns whether the text is one program with its words. `timeout` cannot run a builtin or a reserved word.
fn is_one_program(text: &[u8], before: &Decision) -> bool {
    let Some(first) = before.commands.first() else { return false };
    let outer = before.commands.iter().filter(|found| found.nesting.is_empty()).count();
    let program = first.argv.first().filter(|word| word.span.start == 0);
    let program = program.and_then(|word| word.text.as_deref());
    outer == 1
        && first.nesting.is_empty()
        && before.parse_complete
        && !text.contains(&b'\n')
        && program.is_some_and(|program| !NO_PROGRAM.split(' ').any(|name| name.as_bytes() == program))
}

#[test]
fn a_verdict_that_is_looser_does_not_hold() {
    assert!(Verdict::Allow < Verdict::Ask && Verdict::Ask < Verdict::Deny);
}
