//! The step of profiles that allow everything inside the sandbox. It allows every command that does not ask to run
//! outside the sandbox. It asks about commands that destroy a person's work. It also asks about text that is not
//! understood if a rule might apply to it. Deny and ask rules have answered before.
//!
//! Commands that destroy a person's work irrecoverably are those of `tables/warnings.toml`. They are found in the text
//! of the command only, not in the effects of a script or a program.

use super::allow::covering_rule;
use super::match_rules::RuleSet;
use super::report::Outcome;
use crate::advice::warn::{applies, behind_subcommand, is_program};
use crate::analysis::{Directory, Found};
use crate::decision::{Access, Reason, Verdict};
use crate::facts::Facts;
use crate::getopt::is_one_of;
use crate::launch::base_name;
use crate::parse::Word;
use crate::paths::{Located, Places, is_below, locate};
use crate::profile::Profile;
use crate::readonly::PathWord;
use crate::request::{Mode, Request, Shell};
use crate::rules::Rule;
use crate::rules::matching::StepBudget;
use crate::rules::overlap::may_meet;
use crate::rules::raw::{RawViews, Unquoted};
use crate::tables::{Destroys, Target, destroys};

/// Returns the answer for a sandboxed command, in every mode except plan.
pub(super) fn outcome(
    request: &Request<'_>,
    profile: &Profile,
    rules: &RuleSet<'_>,
    views: &[&Facts<'_>],
    mode: Mode,
) -> Option<Outcome> {
    let applies = profile.allow_confined() && request.unsandboxed.is_none() && mode != Mode::Plan;
    let facts = views.first().filter(|_| applies)?;
    let destroyed = |facts: &&Facts<'_>| {
        let reasons = (0..facts.commands.len()).filter_map(|index| destroys_at(facts, rules, index, mode));
        reasons.collect::<Vec<_>>()
    };
    let reasons: Vec<_> = views.iter().flat_map(destroyed).collect();
    if !reasons.is_empty() {
        return Some(Outcome::with(Verdict::Ask, reasons));
    }
    if request.shell == Shell::Zsh || views.iter().any(|facts| is_uncertain(facts)) {
        if let Some(reason) = destroys_in_text(request.command) {
            return Some(Outcome::new(Verdict::Ask, reason));
        }
        if rules.any_forbids() {
            return Some(uncertain(views));
        }
    }
    let inside = views.iter().all(|facts| rules.paths_not_permitted(facts).is_empty());
    if inside && views.iter().all(|facts| facts.all_proven()) {
        return Some(facts.proven());
    }
    let message = "the profile allows commands that stay inside the sandbox";
    Some(Outcome::new(Verdict::Allow, Reason::new("confined", message, None)))
}

/// Reports whether the text may run a command that no rule was compared with.
fn is_uncertain(facts: &Facts<'_>) -> bool {
    !facts.analysis.complete || facts.has_opaque() || facts.hidden_program().is_some()
}

/// Returns the answer for a text that is not understood and that a rule may apply to.
fn uncertain(views: &[&Facts<'_>]) -> Outcome {
    let message = "a rule may apply to a part of the text that is not understood";
    let mut reasons = vec![Reason::new("rules_not_certain", message, None)];
    reasons.extend(views.iter().filter_map(|facts| facts.hidden_program()));
    reasons.extend(views.iter().flat_map(|facts| facts.problem_reasons()));
    Outcome::with(Verdict::Ask, reasons)
}

/// Returns a reason if this command matches and no rule allows it.
pub(super) fn destroys_at(
    facts: &Facts<'_>,
    rules: &RuleSet<'_>,
    index: usize,
    mode: Mode,
) -> Option<Reason> {
    let found = facts.analysis.commands.get(index)?;
    if removes_work(facts, index) && covering_rule(index, rules, facts, mode).is_none() {
        let message = "the command deletes the workspace, HOME or a repository";
        let reason = Reason::new("destroys_work", message, Some(found.span));
        return Some(Reason { command_index: Some(index), ..reason });
    }
    let program = found.program().map(base_name)?;
    let mut known = destroys().iter().filter(|entry| is_program(entry.command.program, program));
    let entry = known.find(|entry| does(entry, program, found, facts))?;
    if covering_rule(index, rules, facts, mode).is_some() {
        return None;
    }
    let message = format!("the command {}", entry.command.message);
    Some(Reason { command_index: Some(index), ..Reason::new("destroys_work", message, Some(found.span)) })
}

/// Reports whether the command is `Remove-Item -Recurse` of irrecoverable work.
fn removes_work(facts: &Facts<'_>, index: usize) -> bool {
    let call = facts.analysis.commands.get(index).and_then(Found::call);
    let recursive =
        call.is_some_and(|call| call.cmdlet.name == "Remove-Item" && call.has_parameter("Recurse"));
    let paths = facts.commands.get(index).map(|command| command.paths.as_slice()).unwrap_or_default();
    recursive && paths.iter().any(|path| path.access == Access::Delete && is_work(path, &facts.places))
}

/// Returns a reason if the words of an entry occur in a text that is not understood.
fn destroys_in_text(text: &[u8]) -> Option<Reason> {
    let unquoted = Unquoted::of(text);
    let views = RawViews::new(text, &unquoted);
    let budget = StepBudget::new();
    let stands = |words: &&str| {
        let rule = Rule::parse(&format!("Bash({words})")).ok();
        rule.is_none_or(|rule| rule.words().is_some_and(|pattern| views.may_hold(pattern, &budget)))
    };
    let entry = destroys().iter().find(|entry| entry.text.iter().any(&stands))?;
    let message = format!("the text may contain a command that {}", entry.command.message);
    Some(Reason::new("destroys_work", message, None))
}

/// Reports whether the command deletes every file that it finds in irrecoverable work.
pub(super) fn destroys_files(found: &Found, facts: &Facts<'_>) -> bool {
    let program = found.program().map(base_name).unwrap_or_default();
    let mut known = destroys().iter().filter(|entry| is_program(entry.command.program, program));
    known.any(|entry| entry.target == Target::Here && does(entry, program, found, facts))
}

fn does(entry: &Destroys, program: &[u8], found: &Found, facts: &Facts<'_>) -> bool {
    if !applies(&entry.command, program, found) {
        return false;
    }
    let rest = found.words.get(1..).unwrap_or_default();
    let words = behind_subcommand(&entry.command, program, rest).unwrap_or(rest);
    let less = words.iter().filter_map(|word| word.text.as_deref()).any(|text| is_one_of(entry.unless, text));
    let narrowed = entry.whole && words.iter().any(names_a_part);
    !less && !narrowed && is_aimed(entry.target, words, found, facts)
}

fn names_a_part(word: &Word) -> bool {
    !word.lead.starts_with(b"-") && !matches!(word.text.as_deref(), Some(b"." | b"./" | b":/"))
}

fn is_aimed(target: Target, words: &[Word], found: &Found, facts: &Facts<'_>) -> bool {
    let places = &facts.places;
    match target {
        Target::Anything => true,
        Target::Work => operands(words, found, places).iter().any(|path| is_work(path, places)),
        Target::Here => {
            let begins = |word: &&Word| !matches!(word.lead.first(), Some(b'-' | b'(' | b'!'));
            let starts: Vec<Word> = words.iter().take_while(begins).cloned().collect();
            let here = [Word::known(b".", found.span)];
            let starts = if starts.is_empty() { here.as_slice() } else { starts.as_slice() };
            operands(starts, found, places).iter().any(|path| is_work(path, places))
        }
        Target::Root => runs_in(found, |path| path == places.workspace.trim_end_matches('/')),
        Target::Repository => runs_in(found, |path| is_below(path, places.workspace)),
    }
}

/// Reports whether the command, which is git, may run in a directory that satisfies `test`.
fn runs_in(found: &Found, test: impl Fn(&str) -> bool) -> bool {
    let mut words = found.words.iter().skip_while(|word| word.text.as_deref() != Some(b"-C"));
    let directory = match words.nth(1).map(|word| word.text.as_deref().map(std::str::from_utf8)) {
        None => found.directory.clone(),
        Some(Some(Ok(text))) => found.directory.enter(text),
        Some(_) => Directory::unknown(),
    };
    directory.possible().is_none_or(|possible| possible.iter().any(|path| test(path)))
}

/// Returns the paths of the operands. `$PWD` is the directory in which the command runs.
fn operands(words: &[Word], found: &Found, places: &Places<'_>) -> Vec<Located> {
    let here = |word: &Word| word.only.as_deref() == Some(b"PWD");
    let named = words.iter().filter(|word| !word.lead.starts_with(b"-"));
    let paths = named.map(|word| if here(word) { Word::known(b".", word.span) } else { word.clone() });
    paths
        .flat_map(|word| locate(&PathWord { word, access: Access::Delete }, &found.directory, places))
        .collect()
}

/// Reports whether the path is irrecoverable work, or everything in it.
pub(super) fn is_work(path: &Located, places: &Places<'_>) -> bool {
    match &path.glob {
        None => path.exact && is_root_of_work(&path.path, places),
        Some(glob) => {
            let (directory, name) = glob.rsplit_once('/').unwrap_or(("", glob));
            let all = name.bytes().all(|byte| b"*?.[]!".contains(&byte));
            may_meet(name, ".git") || (all && is_root_of_work(directory, places))
        }
    }
}

fn is_root_of_work(path: &str, places: &Places<'_>) -> bool {
    let holds = |root: &str| is_below(root, path);
    let mut parts = path.rsplit('/');
    let (last, above) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let repository = last == ".git" || (above == ".git" && matches!(last, "objects" | "refs"));
    repository || holds(places.workspace) || holds(places.home)
}
