//! The built-in deny rules for PowerShell. They apply to every command that PowerShell runs, at any depth, and to the
//! programs that these commands launch. The commands, patterns and paths are data in `tables/powershell_deny.toml`. A
//! profile can switch each rule off.

mod lost;
mod place;
mod text;

use crate::analysis::{Found, MethodCall};
use crate::decision::{Access, Nesting, Reason, Span};
use crate::facts::Facts;
use crate::launch::base_name;
use crate::parse::Word;
use crate::profile::Profile;
use crate::request::{Request, Shell};
use crate::tables::names::downloads;
use crate::tables::{self, BuiltinDeny, Denied, Runs};
use place::{Places, pattern_matches};

impl BuiltinDeny {
    /// Returns the code of its reason.
    fn code(self) -> &'static str {
        match self {
            Self::DownloadAndExecute => "download_and_execute",
            Self::IrreversibleDestruction => "irreversible_destruction",
            Self::Persistence => "persistence",
            Self::Elevation => "elevation",
        }
    }
}

/// Returns the reason if a rule denies the text.
pub(super) fn reason(request: &Request<'_>, profile: &Profile, views: &[&Facts<'_>]) -> Option<Reason> {
    views.iter().find_map(|facts| {
        let commands = (0..facts.analysis.commands.len()).find_map(|index| of_command(profile, facts, index));
        let own = request.shell == Shell::Pwsh && !facts.analysis.complete;
        let given = facts.analysis.commands.iter().filter_map(|found| found.powershell.as_deref());
        let texts = own.then_some(request.command).into_iter().chain(given);
        commands
            .or_else(|| facts.analysis.methods.iter().find_map(|call| of_method(profile, facts, call)))
            .or_else(|| executed(profile, &facts.analysis.executed_downloads))
            .or_else(|| texts.into_iter().find_map(|text| text::denied(profile, text)))
    })
}

/// Returns the reason if a rule denies this command.
pub(super) fn of_command(profile: &Profile, facts: &Facts<'_>, index: usize) -> Option<Reason> {
    let found = facts.analysis.commands.get(index)?;
    if !runs_in_powershell(facts, index) {
        let runs = reads_download(facts, index) && profile.applies(BuiltinDeny::DownloadAndExecute);
        return runs.then(|| Reason { command_index: Some(index), ..executes(found.span) });
    }
    let inside = facts.analysis.executed_downloads.iter().filter(|place| is_within(**place, found.span));
    let executed = inside.copied().collect::<Vec<_>>();
    if let Some(reason) = executed_reason(profile, &executed, found.span) {
        return Some(Reason { command_index: Some(index), ..reason });
    }
    let denies = |entry: &&Denied| profile.applies(entry.rule);
    let names = found.folded_names();
    let mut entries = names.iter().flat_map(|name| tables::denied_commands(name));
    let by_name = entries.find(|entry| denies(entry) && is_denied(entry, found, facts, index));
    let entry = by_name.or_else(|| {
        let written = written(found, facts, index);
        tables::denied_writes().filter(denies).find(|entry| writes(entry, &written, facts))
    })?;
    Some(Reason { command_index: Some(index), ..because(entry, found.span) })
}

fn is_within(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn executed(profile: &Profile, places: &[Span]) -> Option<Reason> {
    places.first().and_then(|place| executed_reason(profile, places, *place))
}

fn executed_reason(profile: &Profile, places: &[Span], span: Span) -> Option<Reason> {
    let applies = !places.is_empty() && profile.applies(BuiltinDeny::DownloadAndExecute);
    applies.then(|| executes(span))
}

fn executes(span: Span) -> Reason {
    let message = "a built-in rule denies it: the command runs code from another host";
    Reason::new(BuiltinDeny::DownloadAndExecute.code(), message, Some(span))
}

/// Reports whether bash pipes something from another host to a PowerShell that runs its input.
fn reads_download(facts: &Facts<'_>, index: usize) -> bool {
    let commands = &facts.analysis.commands;
    let is_piped = |found: &Found| found.nesting.contains(&Nesting::Pipeline);
    let Some(found) = commands.get(index).filter(|found| found.powershell.is_some() && is_piped(found))
    else {
        return false;
    };
    let reads = match found.words.as_slice() {
        [_] => true,
        [.., last] => last.text.as_deref() == Some(b"-"),
        [] => false,
    };
    let mut before = commands.iter().take(index).filter(|found| is_piped(found));
    reads && before.any(|found| found.folded_names().iter().any(|name| downloads(name)))
}

fn because(entry: &Denied, span: Span) -> Reason {
    let message = format!("a built-in rule denies it: the command {}", entry.message);
    Reason::new(entry.rule.code(), message, Some(span))
}

/// Reports whether PowerShell runs the command, or a command that launches it.
fn runs_in_powershell(facts: &Facts<'_>, index: usize) -> bool {
    let by_powershell =
        |index: usize| facts.analysis.commands.get(index).is_some_and(|found| found.in_powershell.is_some());
    let is_powershell = |index: usize| {
        let program = facts.analysis.commands.get(index).and_then(Found::program).map(base_name);
        let launcher = program.and_then(|name| tables::launcher(&[name]));
        launcher.is_some_and(|launcher| launcher.runs == Runs::Powershell)
    };
    let mut chain = facts.analysis.launcher_chain(index);
    facts.is_powershell
        || by_powershell(index)
        || chain.any(|above| by_powershell(above) || is_powershell(above))
}

fn is_denied(entry: &Denied, found: &Found, facts: &Facts<'_>, index: usize) -> bool {
    let call = found.call_anywhere();
    if call.is_some_and(|call| call.switches_on("WhatIf")) {
        return false;
    }
    let places = Places::new(facts);
    if let [_, only] = found.words.as_slice()
        && places.texts(only).iter().any(|text| entry.alone.contains(&text.as_str()))
    {
        return false;
    }
    let given = |name: &&str| call.is_none_or(|call| call.switches_on(name));
    if !entry.parameters.is_empty() && !entry.parameters.iter().any(given) {
        return false;
    }
    if entry.lost {
        return lost::deletes(found, facts, index);
    }
    let counts = |name: &str| entry.parameters.is_empty() || entry.parameters.contains(&name);
    let parameters = call.into_iter().flat_map(|call| &call.parameters).filter(|(name, ..)| counts(name));
    let words = found.words.iter().skip(1).filter(|_| found.call().is_none());
    has_value(entry, parameters.flat_map(|(_, words, _)| words).chain(words), &places)
}

/// Reports whether a word matches a pattern of the entry.
fn has_value<'w>(entry: &Denied, words: impl Iterator<Item = &'w Word>, places: &Places<'_>) -> bool {
    let mut texts = words.flat_map(|word| places.texts(word));
    let matches = |text: &str| entry.values.iter().any(|pattern| pattern_matches(pattern, text));
    entry.values.is_empty() || texts.any(|text| matches(&text))
}

fn of_method(profile: &Profile, facts: &Facts<'_>, call: &MethodCall) -> Option<Reason> {
    let places = Places::new(facts);
    let denies = |entry: &&Denied| profile.applies(entry.rule);
    let mut by_name = tables::denied_commands(&call.name).filter(denies);
    let entry = by_name.find(|entry| {
        if entry.lost {
            lost::is_lost_by(call, facts)
        } else {
            has_value(entry, call.arguments.iter(), &places)
        }
    });
    let changes = call.name.strip_prefix("io.file::").is_some_and(|method| {
        ["write", "append", "copy", "move", "create", "open"].iter().any(|start| method.starts_with(start))
            && !method.starts_with("openread")
            && !method.starts_with("opentext")
    });
    let paths = || call.arguments.iter().flat_map(|word| places.paths(word, &call.directory)).collect();
    let entry = entry.or_else(|| {
        let written: Vec<String> = if changes { paths() } else { Vec::new() };
        tables::denied_writes().filter(denies).find(|entry| writes(entry, &written, facts))
    })?;
    Some(because(entry, call.span))
}

/// Returns the paths that the command changes, in lower case.
fn written(found: &Found, facts: &Facts<'_>, index: usize) -> Vec<String> {
    let places = Places::new(facts);
    let located = facts.commands.get(index).map(|command| command.paths.as_slice()).unwrap_or_default();
    let changed = located.iter().filter(|path| matches!(path.access, Access::Write | Access::Create));
    let mut paths: Vec<String> =
        changed.filter(|path| path.exact).map(|path| path.path.to_lowercase()).collect();
    let mut words: Vec<&Word> =
        found.redirects.iter().filter_map(|redirect| redirect.target.as_ref()).collect();
    match found.call_anywhere() {
        Some(call) if call.switches_on("WhatIf") => return Vec::new(),
        Some(call) => words.extend(call.targets()),
        None if found.program().is_some_and(|name| tables::writer(&[base_name(name)]).is_some()) => {
            words.extend(found.words.iter().skip(1).filter(|word| word.text.is_none()));
        }
        None => {}
    }
    paths.extend(words.into_iter().flat_map(|word| places.paths(word, &found.directory)));
    paths
}

/// Reports whether one of the paths matches a pattern of the entry.
fn writes(entry: &Denied, paths: &[String], facts: &Facts<'_>) -> bool {
    let home = facts.places.home.to_lowercase();
    paths.iter().any(|path| {
        let of_home = path.strip_prefix(home.as_str()).filter(|rest| rest.starts_with('/'));
        let of_home = of_home.map(|rest| format!("~{rest}"));
        let matches = |pattern: &&str| {
            pattern_matches(pattern, path)
                || of_home.as_ref().is_some_and(|path| pattern_matches(pattern, path))
        };
        entry.writes.iter().any(matches)
    })
}
