//! The facts that a decision found in a command, in the form for the runner, and whether they are complete.
//! This module must not decide.

mod git;

use self::git::is_exact;
use super::record;
use airlock_domain::{
    Decided, DecidedPath, Obeyed, ObeyedFormat, PathAccess,
    limits::{DECIDED_PATHS, OBEYED_NAMES},
};
use airlock_policy::{Access, Decision, FoundCommand, Nesting, PathUse};

/// The builtins of bash. They need no program file, unless a launcher starts them.
const BUILTINS: [&str; 60] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
];

/// The facts for the runner.
pub(super) struct RunnerFacts {
    pub(super) decided: Decided,
    /// False if some facts exceed the limits or cannot be expressed exactly. They are omitted in this case.
    pub(super) whole: bool,
}

/// Returns the facts that the runner compares with the actual files, for a command that starts in this
/// directory.
pub(super) fn of(decision: &Decision, directory: &[u8]) -> RunnerFacts {
    let programs = decision.commands.iter().filter(|command| needs_file(command)).filter_map(program);
    let git = git::uses(decision, directory);
    let programs = fitting(programs.map(<[u8]>::to_vec).collect());
    let git = fitting(git);
    let exact = decision.paths.iter().filter(|used| is_exact(&used.path)).map(path);
    let paths = fitting(exact.collect());
    let whole = programs.is_some()
        && git.is_some()
        && paths.is_some()
        && decision.paths.iter().all(|used| is_exact(&used.path));
    let decided = Decided {
        programs: programs.unwrap_or_default(),
        git: git.unwrap_or_default(),
        paths: paths.unwrap_or_default(),
        files: record::named(decision),
        obeyed: decision.obeyed.iter().map(obeyed).take(DECIDED_PATHS).collect(),
        edit: None,
    };
    RunnerFacts { decided, whole }
}

/// Returns the list sorted and without duplicates, or `None` if it exceeds the limit of a grant.
fn fitting<T: Ord>(list: Vec<T>) -> Option<Vec<T>> {
    Some(sorted(list)).filter(|list| list.len() <= DECIDED_PATHS)
}

fn needs_file(command: &FoundCommand) -> bool {
    let is_builtin = program(command).is_some_and(|name| BUILTINS.iter().any(|own| own.as_bytes() == name));
    !is_builtin || command.nesting.contains(&Nesting::Launched)
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list.dedup();
    list
}

fn program(command: &FoundCommand) -> Option<&[u8]> {
    command.argv.first()?.text.as_deref()
}

/// If there are more paths than a runner checks, the paths count as unknown, and the runner refuses the
/// command.
fn obeyed(files: &airlock_policy::Obeyed) -> Obeyed {
    let format = match files.format {
        airlock_policy::ObeyedFormat::Toml => ObeyedFormat::Toml,
        airlock_policy::ObeyedFormat::Json => ObeyedFormat::Json,
        airlock_policy::ObeyedFormat::Git => ObeyedFormat::Git,
        airlock_policy::ObeyedFormat::Text => ObeyedFormat::Text,
        airlock_policy::ObeyedFormat::Present => ObeyedFormat::Present,
    };
    let paths = if files.paths.len() > OBEYED_NAMES { Vec::new() } else { files.paths.clone() };
    let settings = files.settings.iter().map(|setting| (*setting).to_owned()).collect();
    Obeyed { program: files.program.clone(), paths, format, settings }
}

fn path(used: &PathUse) -> DecidedPath {
    let access = match used.access {
        Access::Read => PathAccess::Read,
        Access::Write => PathAccess::Write,
        Access::Create => PathAccess::Create,
        Access::Delete => PathAccess::Delete,
    };
    DecidedPath { path: used.path.clone().into_bytes(), access }
}

#[cfg(test)]
mod tests {
    //! Tests that the runner receives every program that needs a file and every path, or that the facts are
    //! marked as incomplete.

    use airlock_policy::{Profile, Request, decide};

    use super::*;

    fn told(command: &str) -> RunnerFacts {
        of(
            &decide(&Request::bash(command.as_bytes()), &Profile::builtin("sandboxed").unwrap()),
            b"/workspace",
        )
    }

    fn programs(command: &str) -> Vec<String> {
        let told = told(command);
        assert!(told.whole, "{command}");
        told.decided.programs.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn programs_are_those_that_need_a_file() {
        assert_eq!(programs("cd src && ls; echo x | tee y"), ["ls", "tee"]);
        assert_eq!(
            programs("find . -exec echo {} ';'"),
            ["echo", "find"],
            "find runs the program, not the builtin"
        );
        assert_eq!(programs("/usr/bin/touch a && touch a"), ["/usr/bin/touch", "touch"]);
    }

    #[test]
    fn paths_are_absolute_and_told_once() {
        let told = told("touch a ./a src/../a && rm b");
        let paths: Vec<_> =
            told.decided.paths.iter().map(|used| String::from_utf8_lossy(&used.path)).collect();
        assert_eq!(paths, ["/workspace/a", "/workspace/b"]);
    }

    #[test]
    fn what_does_not_fit_or_cannot_be_told_is_left_out_and_said() {
        let many: String = (0..=DECIDED_PATHS).map(|index| format!(" {index}")).collect();
        let too_much = told(&format!("touch{many}"));
        assert!(!too_much.whole && too_much.decided.paths.is_empty());
        let fits: String = (1..=DECIDED_PATHS).map(|index| format!(" {index}")).collect();
        let all = told(&format!("touch{fits}"));
        assert!(all.whole && all.decided.paths.len() == DECIDED_PATHS);
        let odd = of(
            &decide(&Request::bash(b"touch \xff"), &Profile::builtin("sandboxed").unwrap()),
            b"/workspace",
        );
        assert!(!odd.whole && odd.decided.paths.is_empty());
    }

    #[test]
    fn the_subcommands_of_git_are_named_with_what_they_make() {
        for (command, expected) in [
            ("git -C sub status && git worktree list", &["status", "worktree list"][..]),
            ("git init", &["init /workspace"]),
            ("git init --bare sub/x.git", &["init --bare /workspace/sub/x.git"]),
            ("git -C sub init new", &["init /workspace/sub/new"]),
            ("cd sub && git init new", &["init /workspace/sub/new"]),
            ("cd sub && git init", &["init"]),
            ("git -C sub init", &["init /workspace/sub"]),
            ("git clone https://h/a/b.git", &["clone /workspace/b"]),
            ("git clone -q --depth 1 git@h:a/b.git/", &["clone /workspace/b"]),
            ("git clone --mirror https://h/a/b x", &["clone --bare /workspace/x"]),
            ("git clone --bare https://h/a/b", &["clone --bare /workspace/b.git"]),
            ("git clone https://h/b \"$X\"", &["clone"]),
            ("git clone $X", &["clone"]),
            ("git clone --odd https://h/b", &["clone"]),
            ("git worktree add -b x ../tree", &["worktree add /tree"]),
            ("git worktree add -b x tree", &["worktree add /workspace/tree"]),
            ("git submodule add https://h/b lib", &["submodule add /workspace/lib"]),
            ("git submodule --quiet add -b main ./sub/x.git", &["submodule add /workspace/x"]),
            ("git init --separate-git-dir=else x", &["init", "init --bare"]),
            ("git clone https://h/b /tmp/b", &["clone /tmp/b"]),
            ("git submodule update --init", &["submodule update"]),
            ("GIT_DIR=x git init a", &["init"]),
            ("git --git-dir x init", &["init"]),
        ] {
            assert_eq!(told(command).decided.git, expected, "{command}");
        }
    }

    #[test]
    fn a_setting_is_named_where_a_rule_or_a_person_names_its_command() {
        let of_profile = |rules: &str, command: &str| {
            let text = format!("name = \"team\"\nextends = \"sandboxed\"\n[policy]\n{rules}");
            let profile = Profile::from_toml(&text, "team.toml", &|_| None).unwrap();
            of(&decide(&Request::bash(command.as_bytes()), &profile), b"/workspace").decided.git
        };
        let command = "git config --local Core.hooksPath x && git config set alias.Co '!y' && make";
        let named = ["config alias.co=!y", "config core.hookspath=x", "config"];
        let sorted = |mut list: Vec<&str>| {
            list.sort_unstable();
            list.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of_profile("", command), ["config"], "the profile allows it without analysis");
        assert_eq!(of_profile("ask = [\"Bash(make)\"]", command), sorted(named.to_vec()));
        let rule = "allow = [\"Bash(git config --local core.pager x)\"]";
        assert_eq!(
            of_profile(rule, "git config --local core.pager x"),
            sorted(vec!["config", "config core.pager=x"])
        );
        for command in [
            "git config core.pager",
            "git config --unset core.pager",
            "git config core.pager $X",
            "git config a b c",
            "git config --file x core.pager y",
        ] {
            assert_eq!(of_profile("ask = [\"Bash(git:*)\"]", command), ["config"], "{command}");
        }
    }
}
