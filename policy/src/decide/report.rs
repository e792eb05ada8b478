//! The outcome of a step. Converts facts to the outcome of the read-only proof, and facts with an outcome to a decision.

use crate::advice;
use crate::analysis::{Found, InPowerShell};
use crate::decision::{
    Assignment, BoundParameter, Category, Decision, FoundCommand, PathUse, PowerShellCommand, Reason,
    Redirect, Requirement, Rewrite, ShadowHit, Span, Verdict, Word,
};
use crate::facts::{self, Facts};
use crate::last_step::LastStep;
use crate::limits;
use crate::meaning;
use crate::powershell::Call;
use crate::profile::Profile;
use crate::readonly;

impl Facts<'_> {
    /// Returns the decision without the parts that `advice` adds.
    pub(super) fn report(&self, outcome: Outcome, profile: &Profile) -> Decision {
        let read_only = self.is_read_only();
        let moves = self.analysis.commands.iter().any(|found| {
            let shell_itself = found.launcher.is_none();
            let named = matches!(found.program(), Some(b"cd" | b"pushd" | b"popd"));
            shell_itself && (named || found.call().is_some_and(Call::changes_directory))
        });
        let mut reasons = outcome.reasons;
        if outcome.verdict == Verdict::Allow {
            reasons.extend(self.analysis.notes.iter().map(facts::problem_reason));
        }
        reasons.truncate(limits::MAX_REASONS);
        Decision {
            verdict: outcome.verdict,
            reasons,
            commands: self.reported_commands(),
            read_only,
            concurrency_safe: read_only && !moves,
            requires: outcome.requires,
            category: Category::Other,
            no_output_expected: false,
            endings: self.endings(),
            paths: self.reported_paths(),
            runs: Vec::new(),
            obeyed: Vec::new(),
            network: Vec::new(),
            rewrites: self.rewrites(),
            warnings: Vec::new(),
            suggested_rules: Vec::new(),
            edit: None,
            shadow: outcome.shadow,
            parse_complete: self.analysis.complete,
            last_step: outcome.last_step,
            policy_version: profile.policy_version(),
        }
    }

    /// Returns the commands that may determine the exit code, including launched commands with a passed-on exit
    /// code.
    fn endings(&self) -> Vec<usize> {
        let mut endings = self.analysis.endings.clone();
        let mut next = 0;
        while let Some(found) = endings.get(next).and_then(|index| self.analysis.commands.get(*index)) {
            let argv: Vec<Option<&[u8]>> = found.words.iter().map(|word| word.text.as_deref()).collect();
            let launched = self.analysis.launched_by(endings.get(next).copied());
            if let ([only], true) = (launched.as_slice(), meaning::passes_on(&argv)) {
                endings.push(*only);
            }
            next += 1;
        }
        endings
    }

    /// Returns the parts that are read as something else. A text that is not understood has no rewrites.
    fn rewrites(&self) -> Vec<Rewrite> {
        let nulls = self.analysis.nulls.iter().filter(|_| self.analysis.complete);
        nulls.map(|span| Rewrite { span: *span, text: "/dev/null".to_owned() }).collect()
    }

    /// Returns the outcome of the read-only proof.
    pub(super) fn proven(&self) -> Outcome {
        let reason = if self.analysis.commands.is_empty() {
            Reason::new("empty_command", "there is nothing to run", None)
        } else {
            Reason::new("read_only", "every command is proven read-only", None)
        };
        Outcome { by_proof: true, ..Outcome::new(Verdict::Allow, reason) }
    }

    fn reported_commands(&self) -> Vec<FoundCommand> {
        let both = self.analysis.commands.iter().zip(&self.commands);
        both.map(|(found, facts)| reported(found, facts.refusal.is_none())).collect()
    }

    fn reported_paths(&self) -> Vec<PathUse> {
        let mut uses = Vec::new();
        for (index, facts) in self.commands.iter().enumerate() {
            for located in facts.paths.iter().filter(|located| located.exact) {
                let path =
                    PathUse { path: located.path.clone(), access: located.access, command_index: index };
                if !uses.contains(&path) {
                    uses.push(path);
                }
            }
        }
        uses
    }
}

fn reported(found: &Found, read_only: bool) -> FoundCommand {
    let lossy = |word: &crate::parse::Word| {
        word.text.as_deref().map(|text| String::from_utf8_lossy(text).into_owned())
    };
    FoundCommand {
        argv: argv(found),
        span: found.span,
        redirects: found
            .redirects
            .iter()
            .map(|redirect| Redirect {
                operator: redirect.text.to_owned(),
                descriptor: redirect.descriptor,
                target: redirect.target.as_ref().and_then(lossy),
                harmless: readonly::redirect_is_harmless(redirect),
                span: redirect.span,
            })
            .collect(),
        assignments: found
            .assignments
            .iter()
            .filter(|assign| !assign.name.is_empty())
            .map(|assign| Assignment {
                name: String::from_utf8_lossy(&assign.name).into_owned(),
                value: assign.values.first().and_then(lossy),
                span: assign.span,
            })
            .collect(),
        nesting: found.nesting.clone(),
        read_only,
        category: advice::category(found),
        powershell: found.in_powershell.as_ref().map(|own| in_powershell(own)),
    }
}

/// Returns the words of the command; of a command of PowerShell, its elements as written.
fn argv(found: &Found) -> Vec<Word> {
    match &found.in_powershell {
        Some(own) => {
            let word = |(text, span): &(Option<String>, Span)| {
                let text = text.as_ref().map(|text| text.clone().into_bytes());
                Word { exactly_one: text.is_some(), text, span: *span }
            };
            own.elements.iter().map(word).collect()
        }
        None => {
            let word = |word: &crate::parse::Word| Word {
                text: word.text.clone(),
                exactly_one: word.exactly_one,
                span: word.span,
            };
            found.words.iter().map(word).collect()
        }
    }
}

fn in_powershell(own: &InPowerShell) -> PowerShellCommand {
    let lossy = |word: &crate::parse::Word| {
        word.text.as_deref().map(|text| String::from_utf8_lossy(text).into_owned())
    };
    let bound = |(name, values, span): &(&'static str, Vec<crate::parse::Word>, Span)| BoundParameter {
        name: (*name).to_owned(),
        values: values.iter().map(lossy).collect(),
        span: *span,
    };
    PowerShellCommand {
        name: own.elements.first().and_then(|(name, _)| name.clone()),
        command: own.call.as_ref().map(|call| call.cmdlet.name.to_owned()),
        parameters: own.call.iter().flat_map(|call| call.parameters.iter().map(bound)).collect(),
    }
}

pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<Reason>,
    pub(super) requires: Vec<Requirement>,
    pub(super) shadow: Vec<ShadowHit>,
    /// Whether the read-only proof answered, which the mode plan requires.
    pub(super) by_proof: bool,
    /// Whether no earlier step has an opinion about the command.
    pub(super) last_step: LastStep,
}

impl Outcome {
    pub(super) fn new(verdict: Verdict, reason: Reason) -> Self {
        Self::with(verdict, vec![reason])
    }

    pub(super) fn with(verdict: Verdict, reasons: Vec<Reason>) -> Self {
        let mut told: Vec<Reason> = Vec::new();
        for reason in reasons {
            let again = |known: &Reason| {
                (known.code, known.span, &known.message) == (reason.code, reason.span, &reason.message)
                    && known.rule == reason.rule
            };
            if told.len() < limits::MAX_REASONS && !told.iter().any(again) {
                told.push(reason);
            }
        }
        Self {
            verdict,
            reasons: told,
            requires: Vec::new(),
            shadow: Vec::new(),
            by_proof: false,
            last_step: LastStep::default(),
        }
    }

    pub(super) fn requiring(mut self, requirement: Requirement) -> Self {
        self.requires.push(requirement);
        self
    }
}
