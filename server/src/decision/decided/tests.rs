//! What a runner is told: every program that needs a file, every path, or that it does not fit.

use airlock_policy::{Profile, Request, decide};

use super::*;

fn told(command: &str) -> Told {
    of(&decide(&Request::bash(command.as_bytes()), &Profile::builtin("sandboxed").unwrap()))
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
    let paths: Vec<_> = told.decided.paths.iter().map(|used| String::from_utf8_lossy(&used.path)).collect();
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
    let odd = of(&decide(&Request::bash(b"touch \xff"), &Profile::builtin("sandboxed").unwrap()));
    assert!(!odd.whole && odd.decided.paths.is_empty());
}

#[test]
fn the_subcommands_of_git_are_named() {
    let git = |command| told(command).decided.git;
    assert_eq!(git("git -C sub init && git worktree add x"), ["init", "worktree add"]);
}
