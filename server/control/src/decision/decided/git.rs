//! The uses of git in a command, in the form for the runner: subcommands, paths of new repositories, and
//! settings that a rule or a person named. This module must not return a path that is uncertain.

use airlock_policy::{Access, Decision, FoundCommand, Verdict};

use crate::decision::offer::WORKSPACE;

/// Options of git before its subcommand that take the next word.
const OPTIONS_WITH_VALUE: [&str; 7] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];
/// Subcommands of git for which the next word determines the action.
const FAMILIES: [&str; 3] = ["worktree", "submodule", "stash"];
/// Commands that can change the shell's directory.
const MOVERS: [&str; 5] = ["cd", "pushd", "popd", "eval", "source"];
/// Options of `git config` that are followed by a name and its value.
const CONFIG_FLAGS: [&str; 6] = ["--local", "--global", "--worktree", "--add", "--replace-all", "set"];

/// Subcommands that create repositories, with their options that take the next word and those that do not.
const MAKERS: [(&str, &[&str], &[&str]); 4] = [
    (
        "init",
        &["-b", "--initial-branch", "--template", "--object-format", "--ref-format"],
        &["-q", "--quiet", "--bare"],
    ),
    (
        "clone",
        &[
            "-b",
            "--branch",
            "-o",
            "--origin",
            "-c",
            "--config",
            "--depth",
            "--reference",
            "--filter",
            "-j",
            "--jobs",
        ],
        &[
            "-q",
            "--quiet",
            "-v",
            "--verbose",
            "--progress",
            "--bare",
            "--mirror",
            "-n",
            "--no-checkout",
            "--recursive",
            "--recurse-submodules",
            "--single-branch",
            "--no-tags",
            "--shallow-submodules",
            "-l",
            "--local",
            "--sparse",
            "--no-hardlinks",
            "-s",
            "--shared",
        ],
    ),
    (
        "worktree add",
        &["-b", "-B"],
        &["-f", "--force", "-d", "--detach", "--lock", "-q", "--quiet", "--no-checkout"],
    ),
    (
        "submodule add",
        &["-b", "--branch", "--name", "--depth", "--reference"],
        &["-f", "--force", "-q", "--quiet"],
    ),
];

/// Returns the uses of git in a command that starts in this directory, unsorted.
pub(super) fn uses(decision: &Decision, directory: &[u8]) -> Vec<String> {
    let moves = |command: &FoundCommand| {
        let name = command.argv.first().and_then(|word| word.text.as_deref()).unwrap_or_default();
        MOVERS.iter().any(|mover| mover.as_bytes() == name)
    };
    let directory = std::str::from_utf8(directory).ok();
    let directory = directory.filter(|_| !decision.commands.iter().any(moves));
    let commands = decision.commands.iter().enumerate();
    commands.flat_map(|(index, command)| of_command(decision, index, command, directory)).collect()
}

fn of_command(
    decision: &Decision,
    index: usize,
    command: &FoundCommand,
    directory: Option<&str>,
) -> Vec<String> {
    let Some(git) = Git::of(command) else { return Vec::new() };
    if git.subcommand == "config" {
        let setting = git.setting().filter(|_| is_named(decision, index));
        return std::iter::once("config".to_owned()).chain(setting).collect();
    }
    let Some((_, valued, plain)) = MAKERS.iter().find(|(name, ..)| *name == git.subcommand) else {
        return vec![git.subcommand];
    };
    let bare = ["--bare", "--mirror"].iter().any(|flag| git.has(flag));
    let words = if bare { format!("{} --bare", git.subcommand) } else { git.subcommand.clone() };
    let place = git.operands(valued, plain).and_then(|operands| {
        let named = operands_place(&git.subcommand, &operands, bare)?;
        let by_policy = created(decision, index).filter(|_| git.is_plain());
        if by_policy.is_some() { by_policy } else { located(git.base(directory)?, &named) }
    });
    // If the repository's own directory is elsewhere, git creates a `.git` file that names it.
    let elsewhere = git.words.iter().flatten().any(|word| word.starts_with("--separate-git-dir"));
    match place {
        Some(place) => vec![format!("{words} {place}")],
        None if elsewhere => vec![words, "init --bare".to_owned()],
        None => vec![words],
    }
}

/// One command of git. A word with an unknown value is `None`.
struct Git<'a> {
    /// The words before the subcommand.
    before: Vec<Option<&'a str>>,
    subcommand: String,
    /// The words after the subcommand.
    words: Vec<Option<&'a str>>,
    /// Whether variables that are set for the command redirect it.
    is_led: bool,
}

impl<'a> Git<'a> {
    fn of(command: &'a FoundCommand) -> Option<Self> {
        let name = command.argv.first()?.text.as_deref()?;
        if name.rsplit(|byte| *byte == b'/').next()? != b"git" {
            return None;
        }
        let words = command.argv.iter().skip(1);
        let mut words = words.map(|word| match &word.text {
            Some(text) if word.exactly_one => std::str::from_utf8(text).ok(),
            _ => None,
        });
        let mut before = Vec::new();
        let subcommand = loop {
            let word = words.next()?;
            match word {
                Some(option) if option.starts_with('-') => {
                    before.push(word);
                    if OPTIONS_WITH_VALUE.contains(&option) {
                        before.push(words.next()?);
                    }
                }
                other => break other.unwrap_or_default(),
            }
        };
        let mut words: Vec<_> = words.collect();
        let mut name = subcommand.to_owned();
        let is_action = |word: &Option<&str>| word.is_none_or(|word| !word.starts_with('-'));
        if FAMILIES.contains(&subcommand)
            && let Some(at) = words.iter().position(is_action)
        {
            name = format!("{name} {}", words.remove(at).unwrap_or_default());
        }
        let is_led = command.assignments.iter().any(|set| set.name.starts_with("GIT_"));
        Some(Self { before, subcommand: name, words, is_led })
    }

    fn has(&self, flag: &str) -> bool {
        self.words.contains(&Some(flag))
    }

    /// Returns the words that are not options, or `None` if a word is not understood.
    fn operands(&self, valued: &[&str], plain: &[&str]) -> Option<Vec<&'a str>> {
        let (mut operands, mut words) = (Vec::new(), self.words.iter().copied());
        while let Some(word) = words.next() {
            let word = word?;
            let name = word.split_once('=').map(|(name, _)| name);
            if valued.contains(&word) {
                words.next()??;
            } else if word.starts_with('-')
                && !plain.contains(&word)
                && !name.is_some_and(|name| valued.contains(&name))
            {
                return None;
            } else if !word.starts_with('-') {
                operands.push(word);
            }
        }
        Some(operands)
    }

    /// Reports whether only a directory option redirects the command.
    fn is_plain(&self) -> bool {
        !self.is_led && matches!(self.before.as_slice(), [] | [Some("-C"), Some(_)])
    }

    /// Returns the directory in which the command runs.
    fn base(&self, directory: Option<&str>) -> Option<String> {
        match self.before.as_slice() {
            _ if !self.is_plain() => None,
            [] => directory.map(str::to_owned),
            [Some("-C"), Some(other)] => located(directory?.to_owned(), other),
            _ => None,
        }
    }

    /// Returns the setting that `git config` sets.
    fn setting(&self) -> Option<String> {
        let words: Option<Vec<&str>> = self.words.iter().copied().collect();
        let words = words?;
        let rest: Vec<_> = words.into_iter().skip_while(|word| CONFIG_FLAGS.contains(word)).collect();
        let [name, value] = rest.as_slice() else { return None };
        let (section, key) = (name.split('.').next()?, name.rsplit('.').next()?);
        let inner = name.get(section.len()..name.len() - key.len())?;
        let is_name = name.contains('.') && !name.starts_with('-') && !value.is_empty();
        is_name.then(|| {
            format!("config {}{inner}{}={value}", section.to_ascii_lowercase(), key.to_ascii_lowercase())
        })
    }
}

/// Returns the path that the operands name, or `None` if it is uncertain.
fn operands_place(subcommand: &str, operands: &[&str], bare: bool) -> Option<String> {
    let place = match (subcommand, operands) {
        ("init", []) => ".".to_owned(),
        ("init", [place]) | ("worktree add", [place] | [place, _]) => (*place).to_owned(),
        ("clone" | "submodule add", [_, place]) => (*place).to_owned(),
        ("clone" | "submodule add", [from]) => {
            let from = from.trim_end_matches('/').trim_end_matches("/.git");
            let name = from.rsplit(['/', ':']).next()?;
            let name = name.strip_suffix(".git").or_else(|| name.strip_suffix(".bundle")).unwrap_or(name);
            if bare { format!("{name}.git") } else { name.to_owned() }
        }
        _ => return None,
    };
    (!place.is_empty()).then_some(place)
}

/// Returns the path that the command creates according to the policy, which takes every `cd` into account.
/// `None` unless there is exactly one.
fn created(decision: &Decision, index: usize) -> Option<String> {
    let mut paths =
        decision.paths.iter().filter(|used| used.command_index == index && used.access == Access::Create);
    let only = paths.next().filter(|_| paths.next().is_none())?;
    is_exact(&only.path).then(|| only.path.clone())
}

/// Resolves a path to an absolute one. Returns `None` if it is outside the workspace.
fn located(base: String, path: &str) -> Option<String> {
    let base = if path.starts_with('/') { String::new() } else { base };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let path = format!("/{}", parts.join("/"));
    path.starts_with(WORKSPACE).then_some(path)
}

/// Reports whether a rule or a person names this command. A command with the verdict ASK runs only after a
/// person allowed it.
fn is_named(decision: &Decision, index: usize) -> bool {
    let by_rule =
        |reason: &airlock_policy::Reason| reason.rule.is_some() && reason.command_index == Some(index);
    match decision.verdict {
        Verdict::Ask => true,
        Verdict::Allow => decision.reasons.iter().any(by_rule),
        Verdict::Deny => false,
    }
}

/// Reports whether the text identifies the path exactly.
pub(super) fn is_exact(path: &str) -> bool {
    path.starts_with('/') && !path.contains(char::REPLACEMENT_CHARACTER)
}
