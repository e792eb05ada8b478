//! Matches rules with the commands that were found: the rules that deny or ask, and the paths that
//! rules permit.

use std::cell::OnceCell;

use super::path_rules;
use super::spelling::{self, FlaggedCommand};
use crate::analysis::Found;
use crate::decision::{Reason, ShadowHit, Verdict};
use crate::facts::Facts;
use crate::launch::base_name;
use crate::limits;
use crate::paths::Located;
use crate::powershell::Call;
use crate::profile::Profile;
use crate::request::Request;
use crate::rules::globs::{PATH_STEPS, PathPattern};
use crate::rules::matching::{StepBudget, WordPattern, WordView};
use crate::rules::raw::RawViews;
use crate::rules::{Rule, Rules, Tool};
use crate::tables::{self, Options, Takes};

/// The steps that the comparison of a rule with a host takes.
const HOST_STEPS: usize = 16;

/// The rules of the profile and the request.
pub(super) struct RuleSet<'a> {
    sets: Vec<&'a Rules>,
    shadow: &'a Rules,
    budget: StepBudget,
    /// A separate bound for paths in text that is not understood, so that they do not use up the
    /// bound of command rules.
    path_budget: StepBudget,
}

impl<'a> RuleSet<'a> {
    pub(super) fn new(request: &Request<'a>, profile: &'a Profile) -> Self {
        let mut sets = vec![profile.rules()];
        sets.extend(request.extra_rules);
        Self { sets, shadow: profile.shadow(), budget: StepBudget::new(), path_budget: StepBudget::new() }
    }

    /// Returns a reason if the bound was reached before everything was compared. An unmatched rule
    /// may apply.
    pub(super) fn budget_exceeded(&self) -> Option<Reason> {
        let message = "the comparison of the rules with this text takes too long";
        let is_used_up = self.budget.is_used_up() || self.path_budget.is_used_up();
        is_used_up.then(|| Reason::new("rules_too_costly", message, None))
    }

    /// Reports whether any rule denies or asks about commands or paths. Rules about hosts do not count: the runner's
    /// proxy applies them to every connection, whatever the text of the command is.
    pub(super) fn any_forbids(&self) -> bool {
        let mut rules = self.sets.iter().flat_map(|rules| rules.deny.iter().chain(&rules.ask));
        rules.any(|rule| rule.tool() != Tool::Network)
    }

    pub(super) fn allow(&self) -> impl Iterator<Item = &'a Rule> {
        self.sets.iter().flat_map(|rules| &rules.allow)
    }

    pub(super) fn denied(&self, facts: &Facts<'_>, raw: Option<&RawViews<'_>>) -> Option<Reason> {
        let rules = self.sets.iter().flat_map(|rules| &rules.deny);
        self.hit(rules, facts, raw, "deny_rule", "a rule denies it")
    }

    pub(super) fn asked(&self, facts: &Facts<'_>, raw: Option<&RawViews<'_>>) -> Option<Reason> {
        let rules = self.sets.iter().flat_map(|rules| &rules.ask);
        self.hit(rules, facts, raw, "ask_rule", "a rule asks about it")
    }

    /// Returns a reason for each ask rule about a host that the commands name.
    pub(super) fn asked_hosts(&self, facts: &Facts<'_>) -> Vec<Reason> {
        let rules = self.sets.iter().flat_map(|rules| &rules.ask).filter(|rule| rule.hosts().is_some());
        let commands = 0..facts.commands.len();
        let reasons = rules.flat_map(|rule| {
            commands.clone().filter_map(move |index| {
                let span = host_span(rule, facts, index, &self.budget)?;
                Some(Reason {
                    rule: Some(rule.text().to_owned()),
                    command_index: Some(index),
                    ..Reason::new("ask_rule", "a rule asks about it", Some(span))
                })
            })
        });
        reasons.take(limits::MAX_REASONS).collect()
    }

    /// Returns the rule that denies something that this PowerShell text may contain.
    pub(super) fn denied_in(&self, text: &RawViews<'_>) -> Option<Reason> {
        let rules = self.sets.iter().flat_map(|rules| &rules.deny);
        self.rule_in_text(rules, text, "deny_rule", "a rule denies it")
    }

    /// Returns the rule that asks about something that this PowerShell text may contain.
    pub(super) fn asked_in(&self, text: &RawViews<'_>) -> Option<Reason> {
        let rules = self.sets.iter().flat_map(|rules| &rules.ask);
        self.rule_in_text(rules, text, "ask_rule", "a rule asks about it")
    }

    fn rule_in_text<'r>(
        &self,
        mut rules: impl Iterator<Item = &'r Rule>,
        text: &RawViews<'_>,
        code: &'static str,
        message: &str,
    ) -> Option<Reason> {
        let holds = |rule: &&Rule| rule.words().is_some_and(|words| self.text_holds(text, words.lowered()));
        let rule = rules.find(holds)?;
        Some(Reason { rule: Some(rule.text().to_owned()), ..Reason::new(code, message, None) })
    }

    /// Reports whether the words may occur, in order, in a text that is not understood.
    fn text_holds(&self, text: &RawViews<'_>, words: &WordPattern) -> bool {
        text.may_hold(words, &self.budget) || spelling::may_hold(text, words, &self.budget)
    }

    fn hit<'r>(
        &self,
        rules: impl Iterator<Item = &'r Rule>,
        facts: &Facts<'_>,
        raw: Option<&RawViews<'_>>,
        code: &'static str,
        message: &str,
    ) -> Option<Reason> {
        let mut rules = rules.peekable();
        let candidates = if rules.peek().is_some() { candidates(facts) } else { Vec::new() };
        for rule in rules {
            let place = self.place(rule, facts, &candidates);
            let in_text = || raw.filter(|raw| self.is_in_text(rule, raw, facts)).map(|_| (None, None));
            if let Some((index, span)) = place.or_else(in_text) {
                return Some(Reason {
                    rule: Some(rule.text().to_owned()),
                    command_index: index,
                    ..Reason::new(code, message, span)
                });
            }
        }
        None
    }

    /// Reports whether the rule may apply to a text that is not understood.
    fn is_in_text(&self, rule: &Rule, raw: &RawViews<'_>, facts: &Facts<'_>) -> bool {
        let places = (facts.places.workspace, facts.places.home);
        match rule.tool() {
            Tool::Read | Tool::Edit => {
                rule.path().is_some_and(|path| raw.may_name(path, places, &self.path_budget))
            }
            Tool::Bash | Tool::PowerShell => rule.words().is_some_and(|words| self.text_holds(raw, words)),
            Tool::Network => false,
        }
    }

    /// Returns the command and the span that the rule may apply to.
    fn place(
        &self,
        rule: &Rule,
        facts: &Facts<'_>,
        candidates: &[Candidate<'_>],
    ) -> Option<(Option<usize>, Option<crate::Span>)> {
        let mut candidates = candidates.iter().enumerate().take_while(|_| !self.budget.is_used_up());
        candidates.find_map(|(index, candidate)| {
            let span = self.place_at(rule, facts, index, candidate)?;
            Some((Some(index), Some(span)))
        })
    }

    /// Returns the span of this command that the rule may apply to.
    fn place_at(
        &self,
        rule: &Rule,
        facts: &Facts<'_>,
        index: usize,
        candidate: &Candidate<'_>,
    ) -> Option<crate::Span> {
        let found = facts.analysis.commands.get(index)?;
        if !self.budget.spend(1) {
            return None;
        }
        match rule.tool() {
            // Rules for either shell apply to both, because one shell can start the other.
            Tool::Bash | Tool::PowerShell => {
                rule.words().filter(|words| candidate.may_meet(words, &self.budget)).map(|_| found.span)
            }
            Tool::Read | Tool::Edit => {
                path_rules::hit(rule, facts, index, &candidate.loose_paths, &self.budget)
            }
            Tool::Network => host_span(rule, facts, index, &self.budget),
        }
    }

    /// Returns the rule that denies or asks about this command alone.
    pub(super) fn forbidding_rule(&self, facts: &Facts<'_>, index: usize) -> Option<(Verdict, Reason)> {
        let candidate = Candidate::of(facts.analysis.commands.get(index)?);
        let lists = [
            (Verdict::Deny, "deny_rule", "a rule denies it"),
            (Verdict::Ask, "ask_rule", "a rule asks about it"),
        ];
        lists.into_iter().find_map(|(verdict, code, message)| {
            let rules = self.sets.iter().flat_map(|rules| match verdict {
                Verdict::Deny => &rules.deny,
                _ => &rules.ask,
            });
            let mut hits =
                rules.filter_map(|rule| Some((rule, self.place_at(rule, facts, index, &candidate)?)));
            let (rule, span) = hits.next()?;
            let why = Reason::new(code, message, Some(span));
            Some((verdict, Reason { rule: Some(rule.text().to_owned()), ..why }))
        })
    }

    pub(super) fn shadow_hits(&self, facts: &Facts<'_>) -> Vec<ShadowHit> {
        let lists = [
            (&self.shadow.deny, Verdict::Deny),
            (&self.shadow.ask, Verdict::Ask),
            (&self.shadow.allow, Verdict::Allow),
        ];
        let mut hits = Vec::new();
        let none = lists.iter().all(|(rules, _)| rules.is_empty());
        let candidates = if none { Vec::new() } else { candidates(facts) };
        for (rules, verdict) in lists {
            for rule in rules {
                if let Some((command_index, _)) = self.place(rule, facts, &candidates) {
                    hits.push(ShadowHit { rule: rule.text().to_owned(), verdict, command_index });
                }
            }
        }
        hits
    }

    /// Returns the paths outside the workspace, and the protected names, that no allow rule permits.
    pub(super) fn paths_not_permitted(&self, facts: &Facts<'_>) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = Vec::new();
        for (index, command) in facts.commands.iter().enumerate() {
            for path in command.paths.iter().filter(|path| path.outside || path.protected) {
                if self.permits(path, facts) {
                    continue;
                }
                let (code, message) = if path.outside {
                    ("path_outside", format!("`{}` is outside the workspace", path.path))
                } else {
                    ("protected_path", format!("`{}` is a protected name", path.path))
                };
                let found =
                    Reason { command_index: Some(index), ..Reason::new(code, message, Some(path.span)) };
                if !reasons.contains(&found) {
                    reasons.push(found);
                }
            }
        }
        reasons
    }

    /// Reports whether an allow rule names the path with its access.
    pub(super) fn permits(&self, path: &Located, facts: &Facts<'_>) -> bool {
        path.exact && self.allow().any(|rule| self.names_path(rule, path, facts))
    }

    fn names_path(&self, rule: &Rule, path: &Located, facts: &Facts<'_>) -> bool {
        let fits = path_rules::fits(rule, path.access);
        fits && self.path_matches(rule, path, facts)
    }

    fn path_matches(&self, rule: &Rule, path: &Located, facts: &Facts<'_>) -> bool {
        let places = &facts.places;
        let matches = |pattern: &PathPattern| pattern.matches(&path.path, places.workspace, places.home);
        self.budget.spend(PATH_STEPS + path.path.len()) && rule.path().is_some_and(matches)
    }

    /// Reports whether the rule allows every command that the words can become.
    pub(super) fn must_match(&self, rule: &Rule, found: &Found) -> bool {
        let tool = if found.in_powershell.is_some() { Tool::PowerShell } else { Tool::Bash };
        let Some(pattern) = rule.words().filter(|_| rule.tool() == tool) else {
            return false;
        };
        if let Some(call) = found.call() {
            return call.must_match(pattern, &self.budget);
        }
        let (Some(name), Some(_)) = (found.trusted_name(), found.words.first()) else {
            return false;
        };
        if !pattern.may_begin(WordView::Known(name), &self.budget) {
            return false;
        }
        let rest = found.words.get(1..).unwrap_or_default();
        let words: Vec<WordView<'_>> =
            std::iter::once(WordView::Known(name)).chain(word_views(rest)).collect();
        pattern.must_match(&words, &self.budget)
            || pattern.must_match(&without_global_options(name, &words, true), &self.budget)
    }
}

/// Returns the span of a command whose words name a host of the rule.
fn host_span(rule: &Rule, facts: &Facts<'_>, index: usize, budget: &StepBudget) -> Option<crate::Span> {
    let hosts = rule.hosts()?;
    let connection = facts.commands.get(index)?.connection.as_ref()?;
    let mut targets = connection.targets.iter();
    targets.any(|target| budget.spend(HOST_STEPS) && hosts.matches(target)).then_some(connection.span)
}

fn word_views(words: &[crate::parse::Word]) -> Vec<WordView<'_>> {
    words.iter().map(WordView::of).collect()
}

/// A command in the forms that deny and ask rules are compared with.
struct Candidate<'w> {
    /// The command as written, by its base name, and without its global options. Empty if the program is unknown.
    /// Another step asks about unknown programs.
    forms: Vec<Vec<WordView<'w>>>,
    /// The command's flags, independent of their spelling.
    flagged: Option<FlaggedCommand<'w>>,
    /// The readings of a command that PowerShell runs, in lower case.
    folded: Vec<Vec<WordView<'w>>>,
    /// The cmdlet that it calls, if it is one.
    call: Option<&'w Call>,
    /// Whether each word may be a program that the command launches.
    opaque: bool,
    /// The loose paths of the command, once a rule has to be compared with them.
    loose_paths: OnceCell<Vec<Located>>,
}

fn candidates<'w>(facts: &'w Facts<'_>) -> Vec<Candidate<'w>> {
    facts.analysis.commands.iter().map(Candidate::of).collect()
}

impl<'w> Candidate<'w> {
    fn of(found: &'w Found) -> Self {
        let written = word_views(&found.words);
        let Some((WordView::Known(program), rest)) = written.split_first() else {
            return Self {
                forms: Vec::new(),
                flagged: None,
                folded: Vec::new(),
                call: None,
                opaque: false,
                loose_paths: OnceCell::new(),
            };
        };
        let name = base_name(program);
        let by_name: Vec<WordView<'_>> =
            std::iter::once(WordView::Known(name)).chain(rest.iter().copied()).collect();
        let mut forms = vec![without_global_options(name, &by_name, false), by_name, written];
        // git's own directory contains a program for each subcommand.
        let rest = forms.last().and_then(|words| words.get(1..)).unwrap_or_default().to_vec();
        if let Some(subcommand) = name.strip_prefix(b"git-") {
            let git = [WordView::Known(b"git"), WordView::Known(subcommand)];
            forms.insert(0, git.into_iter().chain(rest).collect());
        }
        forms.dedup();
        let folded = found.in_powershell.iter().flat_map(|own| &own.readings);
        Self {
            forms,
            flagged: FlaggedCommand::of(found),
            folded: folded.map(|words| word_views(words)).collect(),
            call: found.call(),
            opaque: found.opaque,
            loose_paths: OnceCell::new(),
        }
    }

    /// Reports whether the command may match the rule.
    fn may_meet(&self, pattern: &WordPattern, budget: &StepBudget) -> bool {
        self.forms.iter().any(|words| pattern.may_match(words, budget))
            || self.flagged.as_ref().is_some_and(|flagged| flagged.may_meet(pattern, budget))
            || (self.opaque && self.may_launch(pattern, budget))
            || self.may_meet_in_powershell(pattern, budget)
    }

    /// Reports whether the command may match the rule as PowerShell compares names.
    fn may_meet_in_powershell(&self, pattern: &WordPattern, budget: &StepBudget) -> bool {
        if self.folded.is_empty() {
            return false;
        }
        let lowered = pattern.lowered();
        self.folded.iter().any(|words| lowered.may_match(words, budget))
            || self.call.is_some_and(|call| call.may_match(lowered, &self.folded, budget))
    }

    fn may_launch(&self, pattern: &WordPattern, budget: &StepBudget) -> bool {
        let written = self.forms.last().map(Vec::as_slice).unwrap_or_default();
        (1..written.len()).filter_map(|from| written.get(from..)?.split_first()).any(|(first, rest)| {
            let WordView::Known(text) = first else {
                return false;
            };
            let name = WordView::Known(base_name(text));
            let words = || std::iter::once(name).chain(rest.iter().copied()).collect::<Vec<_>>();
            pattern.may_begin(name, budget) && budget.spend(rest.len()) && pattern.may_match(&words(), budget)
        })
    }
}

/// Returns the words without the options before the subcommand, and before a nested subcommand with
/// its own options.
fn without_global_options<'w>(name: &[u8], words: &[WordView<'w>], harmless_only: bool) -> Vec<WordView<'w>> {
    let mut out: Vec<WordView<'w>> = words.iter().take(1).copied().collect();
    let mut rest = words.get(1..).unwrap_or_default();
    let mut full = vec![name];
    while let Some(global) = tables::global(&full) {
        rest = behind_options(&global.options, rest, harmless_only);
        let Some((WordView::Known(text), tail)) = rest.split_first() else {
            break;
        };
        full.push(text);
        out.push(WordView::Known(text));
        rest = tail;
    }
    out.extend_from_slice(rest);
    out
}

fn behind_options<'s, 'w>(
    options: &'static Options,
    words: &'s [WordView<'w>],
    harmless_only: bool,
) -> &'s [WordView<'w>] {
    let mut rest = words;
    while let Some((WordView::Known(text), tail)) = rest.split_first() {
        let bare = text.strip_prefix(b"--").or_else(|| text.strip_prefix(b"-"));
        let end = bare.and_then(|bare| bare.iter().position(|byte| *byte == b'='));
        let flag = bare.and_then(|bare| options.exact(bare.get(..end.unwrap_or(bare.len()))?));
        let Some(flag) = flag.filter(|flag| flag.refused.is_none() || !harmless_only) else {
            break;
        };
        let separate = flag.takes != Takes::Nothing && end.is_none();
        rest = if separate { tail.get(1..).unwrap_or_default() } else { tail };
    }
    rest
}
