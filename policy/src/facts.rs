//! Facts about the commands that do not depend on rules: proofs, paths, problems. They are computed once and used
//! by every step.

mod cmdlet;
pub(crate) mod codes;
mod zsh;

use std::collections::BTreeMap;

use crate::analysis::{Analysis, Directory, Found};
use crate::connections::{self, Connection};
use crate::decision::{Access, Nesting, Reason, Span};
use crate::parse::{Assign, Problem, Surroundings, Word};
use crate::paths::{self, Located, Places, WriterPaths};
use crate::profile::Profile;
use crate::readonly::{self, PathWord, Refusal};
use crate::request::{Request, Shell};
use crate::snapshot::{Expanded, Snapshot};
use crate::tables;

pub(crate) struct Facts<'a> {
    pub(crate) analysis: Analysis,
    pub(crate) commands: Vec<CommandFacts>,
    pub(crate) places: Places<'a>,
    /// Whether PowerShell reads the text.
    pub(crate) is_powershell: bool,
    /// The session's snapshot, which can redefine names.
    snapshot: Option<&'a Snapshot>,
}

/// The facts about one command.
pub(crate) struct CommandFacts {
    /// The reason why the command is not proven read-only.
    pub(crate) refusal: Option<Refusal>,
    /// The paths that it names.
    pub(crate) paths: Vec<Located>,
    /// The paths that it writes, if it is a known writer.
    pub(crate) writes: Option<WriterPaths>,
    /// The connection that it makes to other hosts.
    pub(crate) connection: Option<Connection>,
}

impl<'a> Facts<'a> {
    pub(crate) fn none() -> Self {
        Self {
            analysis: Analysis::default(),
            commands: Vec::new(),
            places: Places { workspace: "/workspace", home: "/home/agent", additional: &[], readable: None },
            is_powershell: false,
            snapshot: None,
        }
    }

    /// Returns the facts of the text as written and, if there are aliases, of the text after alias expansion. A
    /// read-only run sets some variables itself; their values in the request count only if the text is not proven.
    pub(crate) fn all(request: &Request<'a>, profile: &'a Profile) -> (Self, Option<Self>) {
        let of = |environment: Environment<'a>| {
            let behind = Self::behind_aliases(request, profile, environment);
            (Self::of_text(request.command, None, (request, environment), profile), behind)
        };
        let (plain, behind) = of(Environment::of_read_only(request));
        let by_itself = request.shell == Shell::Bash && request.unsandboxed.is_none();
        let reads = by_itself && plain.is_read_only() && behind.as_ref().is_none_or(Self::is_read_only);
        if reads || !Environment::has_overridden(request) {
            (plain, behind)
        } else {
            of(Environment::of(request))
        }
    }

    /// Returns the facts after alias expansion, or `None` if there are no aliases.
    fn behind_aliases(
        request: &Request<'a>,
        profile: &'a Profile,
        environment: Environment<'a>,
    ) -> Option<Self> {
        let snapshot = request.snapshot.filter(|_| request.shell == Shell::Bash)?;
        let expanded = snapshot.expand(request.command, environment.home)?;
        Some(Self::of_text(&expanded.text, Some(&expanded), (request, environment), profile))
    }

    fn of_text(
        text: &[u8],
        expanded: Option<&Expanded>,
        (request, environment): (&Request<'a>, Environment<'a>),
        profile: &'a Profile,
    ) -> Self {
        let start = Directory::at(request.cwd.unwrap_or(request.workspace));
        let surroundings = Surroundings::of_home(environment.home);
        let find = if request.shell == Shell::Pwsh { Analysis::of_powershell } else { Analysis::of };
        let mut analysis = find(text, &start, surroundings, environment.assignments());
        if let Some(expanded) = expanded {
            analysis.map_spans(|span| expanded.original(span));
            if !expanded.complete {
                let whole = Span::new(0, request.command.len());
                analysis.problems.push(Problem { code: "aliases_not_expanded", span: whole });
                analysis.complete = false;
            }
        }
        analysis.distrust_aliases(request.command);
        let functions = request.snapshot.into_iter().flat_map(Snapshot::functions).cloned();
        analysis.defined.extend(functions);
        let line = request.command.iter().position(|byte| *byte == b'\n');
        if let Some(at) = line.filter(|_| !analysis.complete && request.shell != Shell::Pwsh) {
            analysis.problems.push(Problem { code: "newlines", span: Span::new(at, at + 1) });
        }
        let places = Places {
            workspace: request.workspace,
            home: request.home,
            additional: profile.additional_directories(),
            readable: request.unsandboxed.is_none().then(|| profile.readable_roots()),
        };
        let commands =
            analysis.commands.iter().map(|found| command_facts(found, &analysis, &places)).collect();
        let is_powershell = request.shell == Shell::Pwsh;
        let mut facts = Self { analysis, commands, places, is_powershell, snapshot: request.snapshot };
        if request.shell == Shell::Zsh {
            let dangers = zsh::problems(request.command, &facts.analysis);
            facts.analysis.complete &= dangers.is_empty();
            facts.analysis.problems.extend(dangers);
        }
        facts
    }

    /// Reports whether no variable of the environment can load or run code.
    pub(crate) fn has_safe_environment(&self) -> bool {
        self.analysis.unsafe_variable().is_none()
    }

    /// Reports whether the command is read-only: all of it is proven, and no problem was found in its text.
    pub(crate) fn is_read_only(&self) -> bool {
        self.all_proven() && !self.has_problems()
    }

    pub(crate) fn all_proven(&self) -> bool {
        self.analysis.complete && self.commands.iter().all(|facts| facts.refusal.is_none())
    }

    pub(crate) fn has_opaque(&self) -> bool {
        self.analysis.hides || self.analysis.commands.iter().any(|found| found.opaque)
    }

    pub(crate) fn is_free_of_git_and_outside(&self) -> bool {
        let git = self
            .analysis
            .commands
            .iter()
            .any(|found| found.program().is_none_or(|name| name.ends_with(b"git")));
        let outside = self.commands.iter().flat_map(|facts| &facts.paths).any(|path| path.outside);
        !git && !outside
    }

    /// Returns a reason if a program's name is unknown or a launcher hides a program.
    pub(crate) fn hidden_program(&self) -> Option<Reason> {
        (0..self.analysis.commands.len()).find_map(|index| self.hidden_program_at(index))
    }

    /// Like [`Self::hidden_program`], for one command.
    pub(crate) fn hidden_program_at(&self, index: usize) -> Option<Reason> {
        let found = self.analysis.commands.get(index)?;
        let program = found.words.first()?;
        let (code, message) = if program.text.is_none() {
            ("unknown_program", "the name of the program is not known")
        } else if self.is_unknown_name(found) {
            ("snapshot_name", "the session's shell snapshot may redefine this name")
        } else if found.opaque && found.call().is_some() {
            ("launcher_not_understood", "the cmdlet may run or change something that its words do not show")
        } else if found.opaque {
            ("launcher_not_understood", "the command that this program launches is not known")
        } else {
            return None;
        };
        Some(Reason { command_index: Some(index), ..Reason::new(code, message, Some(program.span)) })
    }

    /// Reports whether the snapshot makes the program's name unknown.
    fn is_unknown_name(&self, found: &Found) -> bool {
        // Text that the shell reads later, for example by `eval`, is not expanded here.
        let later = found.nesting.contains(&Nesting::ShellText);
        let Some(snapshot) = self.snapshot else { return false };
        // PowerShell looks for the name as written, before its own aliases.
        let names = found.program().into_iter().chain(found.written_name());
        let words = found.words.iter().filter(|_| snapshot.counts_each_word());
        let mut names = names.chain(words.filter_map(|word| word.text.as_deref()));
        names.any(|name| snapshot.is_unknown(name) || (later && snapshot.is_alias(name)))
    }

    pub(crate) fn problem_reasons(&self) -> Vec<Reason> {
        self.analysis.problems.iter().map(problem_reason).collect()
    }

    /// Returns the reason for each command that is not proven.
    pub(crate) fn refusals(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for (index, facts) in self.commands.iter().enumerate() {
            if let Some(refusal) = &facts.refusal {
                reasons.push(Reason {
                    command_index: Some(index),
                    ..Reason::new(refusal.code, refusal.message.clone(), Some(refusal.span))
                });
                reasons.extend(self.substituted(index));
            }
        }
        let told = reasons.iter().any(|reason| reason.code == "environment");
        let first = self.analysis.commands.first().filter(|_| !told);
        let environment = first.and_then(|found| readonly::check_environment(found, &self.analysis).err());
        reasons.extend(environment.map(|refusal| Reason::new(refusal.code, refusal.message, None)));
        reasons
    }

    /// Returns a reason if the command runs inside a substitution of another command.
    fn substituted(&self, index: usize) -> Option<Reason> {
        let found = self.analysis.commands.get(index)?;
        let inside = |kind: &Nesting| matches!(kind, Nesting::Substitution | Nesting::ProcessSubstitution);
        found.nesting.iter().any(inside).then(|| Reason {
            command_index: Some(index),
            ..problem_reason(&Problem { code: "command_substitution", span: found.span })
        })
    }

    pub(crate) fn has_problems(&self) -> bool {
        !self.analysis.problems.is_empty()
    }
}

/// Returns the reason for a problem of the text.
pub(crate) fn problem_reason(problem: &Problem) -> Reason {
    let message = codes::message(problem.code).unwrap_or("this part of the text is not understood");
    Reason::new(problem.code, message, Some(problem.span))
}

fn command_facts(found: &Found, analysis: &Analysis, places: &Places<'_>) -> CommandFacts {
    if found.call().is_some() || found.calls_own_code() {
        let (refusal, paths, writes) = cmdlet::facts(found, analysis, places);
        return CommandFacts { refusal, paths, writes, connection: None };
    }
    let writes = paths::writer_paths(found);
    let proof = readonly::prove(found, analysis);
    let mut words: Vec<PathWord> = paths::redirect_writes(found).collect();
    let refusal = match proof {
        Ok(reads) => {
            words.extend(reads);
            None
        }
        Err(refusal) => {
            match readonly::reads_without_redirects(found, analysis) {
                Some(reads) => words.extend(reads),
                None => words.extend(suspected_paths(found, writes.is_some())),
            }
            words.extend(paths::redirect_reads(found));
            Some(refusal)
        }
    };
    if let Some(writes) = &writes {
        words.extend(writes.paths.iter().cloned());
    }
    let located = words.iter().flat_map(|word| paths::locate(word, &found.directory, places));
    let mut paths: Vec<Located> = located.filter(|located| located.path != "/dev/null").collect();
    if refusal.is_none() && readonly::reads_names_only(found) {
        let listed = |path: &&mut Located| path.exact && !path.climbs && places.lists(&path.path);
        paths.iter_mut().filter(listed).for_each(|path| path.outside = false);
    }
    CommandFacts { refusal, paths, writes, connection: connections::of(found) }
}

/// For a known program with unknown flags, returns every word that looks like a path, as if it were written.
fn suspected_paths(found: &Found, is_writer: bool) -> Vec<PathWord> {
    let name = found.trusted_name().unwrap_or_default();
    let known = tables::program(&[name]).is_some();
    if !known || is_writer {
        return Vec::new();
    }
    let words = found.words.iter().skip(1);
    words
        .filter(|word| word.foreign_home || word.lead.starts_with(b"/") || word.lead.starts_with(b".."))
        .map(|word| PathWord { word: word.clone(), access: Access::Write })
        .collect()
}

/// The environment of one type of run.
#[derive(Clone, Copy)]
struct Environment<'a> {
    env: Option<&'a BTreeMap<String, Vec<u8>>>,
    read_only: bool,
    /// The command's HOME.
    home: &'a str,
}

impl<'a> Environment<'a> {
    /// Returns the environment of the request.
    fn of(request: &Request<'a>) -> Self {
        let own = request.env.and_then(|env| env.get("HOME")).and_then(|home| std::str::from_utf8(home).ok());
        Self { env: request.env, read_only: false, home: own.unwrap_or(request.home) }
    }

    /// Returns the environment without the variables that a read-only run sets itself.
    fn of_read_only(request: &Request<'a>) -> Self {
        Self { env: request.env, read_only: true, home: request.home }
    }

    /// Reports whether the request sets variables that a read-only run overrides.
    fn has_overridden(request: &Request<'_>) -> bool {
        let mut names = request.env.into_iter().flat_map(BTreeMap::keys);
        names.any(|name| airlock_variables::is_overridden(name.as_bytes()))
    }

    fn assignments(self) -> Vec<Assign> {
        let own = self.env.into_iter().flatten();
        let counts = |name: &str| !(self.read_only && airlock_variables::is_overridden(name.as_bytes()));
        own.filter(|(name, _)| counts(name))
            .map(|(name, value)| Assign {
                name: name.clone().into_bytes(),
                values: vec![Word::known(value, Span::default())],
                span: Span::default(),
            })
            .collect()
    }
}
