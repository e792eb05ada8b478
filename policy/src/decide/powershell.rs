//! PowerShell text that is not understood, or that may run commands that it does not show: in a request, or in a bash
//! command that starts `pwsh`. Deny and ask rules are matched with it word by word; if there are such rules, the policy
//! asks in every mode.

use super::match_rules::RuleSet;
use crate::decision::{Reason, Span, Verdict};
use crate::facts::Facts;
use crate::request::{Request, Shell};
use crate::rules::raw::{RawViews, Unquoted};

/// PowerShell text in the forms that rules are compared with.
pub(super) struct Text {
    lowered: Vec<u8>,
    folded: Unquoted,
    /// The command that receives the text, and its span.
    place: Option<(usize, Span)>,
}

impl Text {
    fn new(text: &[u8], place: Option<(usize, Span)>) -> Self {
        Self { lowered: text.to_ascii_lowercase(), folded: Unquoted::of_powershell(text), place }
    }

    /// Returns the text of a PowerShell request and the texts that its commands receive, if they are not understood.
    /// Empty if no rule denies or asks.
    pub(super) fn all(request: &Request<'_>, rules: &RuleSet<'_>, views: &[&Facts<'_>]) -> Vec<Self> {
        if !rules.any_forbids() {
            return Vec::new();
        }
        let unseen = |facts: &&Facts<'_>| !facts.analysis.complete || facts.has_opaque();
        let own = (request.shell == Shell::Pwsh && views.iter().any(unseen))
            .then(|| Self::new(request.command, None));
        let started =
            views.iter().flat_map(|facts| (0..facts.analysis.commands.len()).map(move |at| (facts, at)));
        own.into_iter().chain(started.filter_map(|(facts, at)| Self::of_command(facts, at))).collect()
    }

    /// Returns the text that this command receives.
    pub(super) fn of_command(facts: &Facts<'_>, index: usize) -> Option<Self> {
        let found = facts.analysis.commands.get(index)?;
        let text = found.powershell.as_deref()?;
        Some(Self::new(text, Some((index, found.span))))
    }

    /// Returns the reason of a deny rule that matches the text, or of an ask rule that may match it.
    pub(super) fn answer(&self, rules: &RuleSet<'_>, verdict: Verdict) -> Option<Reason> {
        let views = RawViews::new(&self.lowered, &self.folded);
        let (index, span) = self.place.unzip();
        let placed = |found: Reason| Reason { command_index: index, span, ..found };
        match verdict {
            Verdict::Deny => rules.denied_in(&views).map(placed),
            _ => rules.asked_in(&views).map(placed).or_else(|| {
                let message =
                    "this PowerShell text may run commands that it does not show, and a rule may apply to them";
                rules.any_forbids().then(|| placed(Reason::new("powershell_opaque", message, None)))
            }),
        }
    }
}
