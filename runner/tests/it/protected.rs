//! Tests of protected names with many concurrent commands in one workspace: each change is reported once,
//! quarantined, and restored byte for byte.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "support for tests: a missing precondition fails the test"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use airlock_domain::{
    CancelledBy, Cause, DecidedPath, ExchangeFromRunner, ExchangeOrder, ExecutionId, FromRunner, Grant,
    JobPhase, PathAccess, ProtectAction, QuarantineOrder, QuarantinedFile, Requirement, SessionId, ToRunner,
    Violation, ViolationAction,
};

use crate::{
    fixture::{Fixture, grant, until},
    leaks::{apart, mounts},
};

const COMMANDS: usize = 200;
const AT_ONCE: usize = 8;

/// Returns the workspace of the only session on the host.
fn workspace(it: &Fixture) -> PathBuf {
    let mut sessions = fs::read_dir(it.state("sessions")).unwrap();
    sessions.next().unwrap().unwrap().path().join("disk/workspace")
}

async fn quarantine(it: &mut Fixture, session_id: SessionId) -> Vec<QuarantinedFile> {
    let mut all: Vec<QuarantinedFile> = Vec::new();
    loop {
        let after = all.last().map(|file| file.id.clone()).unwrap_or_default();
        let order = QuarantineOrder { session_id, after, page_size: 50 };
        let mut exchange = it.order(ExchangeOrder::Quarantine(order)).await;
        match exchange.next().await {
            Some(ExchangeFromRunner::Quarantine { files, more }) => {
                all.extend(files);
                if !more {
                    return all;
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn restore(it: &mut Fixture, session_id: SessionId, id: &str) -> ExchangeFromRunner {
    let order = ExchangeOrder::Restore { session_id, quarantine_id: id.to_owned() };
    it.order(order).await.next().await.unwrap()
}

fn writes(session: SessionId, command: &str, paths: &[String]) -> Grant {
    let mut grant = grant(session, command);
    let path = |path: &String| DecidedPath { path: path.clone().into_bytes(), access: PathAccess::Write };
    grant.decided.paths = paths.iter().map(path).collect();
    grant
}

/// Returns a command. One third create a protected name and are killed, one third change one, one third do neither.
fn command(number: usize) -> String {
    match number % 3 {
        0 => format!(
            "mkdir d{number} && echo mine > d{number}/file && printf 'made {number}' > d{number}/.bashrc \
             && touch d{number}/ready && sleep 1000"
        ),
        1 => format!(
            "printf 'changed {number}' > c{number}/.mcp.json; mkdir d{number}; echo mine > d{number}/file"
        ),
        _ => format!("mkdir d{number} && echo mine > d{number}/file"),
    }
}

#[test]
fn two_hundred_commands_in_one_workspace_leave_no_ghost_and_lose_nothing() {
    apart(two_hundred_commands());
}

async fn two_hundred_commands() {
    let mut it = Fixture::with(Default::default(), |config| config.slots = AT_ONCE as u32).await;
    let session = it.open("").await;
    let before = mounts();
    let changed: Vec<usize> = (0..COMMANDS).filter(|number| number % 3 == 1).collect();
    let paths: Vec<String> = changed
        .iter()
        .map(|number| format!("/workspace/c{number}/.mcp.json"))
        .chain(["/workspace/.profile".to_owned()])
        .collect();
    let numbers: Vec<String> = changed.iter().map(ToString::to_string).collect();
    let fill = format!(
        "for n in {}; do mkdir c$n; printf \"old $n\" > c$n/.mcp.json; done; echo mine > .profile",
        numbers.join(" ")
    );
    let (_, result) = it.run(writes(session, &fill, &paths)).await;
    assert_eq!((result.cause, result.violations), (Cause::Exited { code: 0 }, Vec::new()));
    let workspace = workspace(&it);

    let told = run_them_all(&mut it, session, &workspace).await;
    assert_each_was_told_once(&told);
    assert_nothing_is_lost(&workspace, &changed);
    assert_eq!(mounts(), before, "no mount remains");
    assert_all_is_given_back(&mut it, session, &workspace, &told).await;
    let (_, result) = it.run(grant(session, "true")).await;
    assert_eq!(result.violations, [], "a restored file is accepted");
    it.shut_down().await;
}

/// Runs all commands, a limited number at once. Returns the reported violations.
async fn run_them_all(it: &mut Fixture, session: SessionId, workspace: &Path) -> Vec<Violation> {
    let mut told = Vec::new();
    let (mut alive, mut next): (BTreeMap<ExecutionId, usize>, usize) = (BTreeMap::new(), 0);
    while next < COMMANDS || !alive.is_empty() {
        while next < COMMANDS && alive.len() < AT_ONCE {
            let id = it.offer(grant(session, &command(next))).await;
            alive.insert(id, next);
            next += 1;
        }
        let kill = alive.iter().find(|(_, number)| **number % 3 == 0).map(|(id, number)| (*id, *number));
        if let Some((id, number)) = kill {
            let ready = workspace.join(format!("d{number}/ready"));
            until("it is ready", || ready.exists()).await;
            it.link
                .send(ToRunner::EndJob { execution_id: id, cause: Cause::Cancelled(CancelledBy::Client) })
                .await;
        }
        let (id, result) = it
            .report(|message| match message {
                FromRunner::Job(job) if job.phase == JobPhase::Ended => {
                    Some((job.execution_id, job.result.clone().unwrap()))
                }
                _ => None,
            })
            .await;
        if let Some(number) = alive.remove(&id) {
            let cause = if number % 3 == 0 {
                Cause::Cancelled(CancelledBy::Client)
            } else {
                Cause::Exited { code: 0 }
            };
            assert_eq!(result.cause, cause, "{number}");
            told.extend(result.violations);
        }
    }
    told
}

/// Checks that files of commands and users exist, that protected names are unchanged, and that there are no other
/// files.
fn assert_nothing_is_lost(workspace: &Path, changed: &[usize]) {
    assert!((0..COMMANDS).all(|n| fs::read(workspace.join(format!("d{n}/file"))).unwrap() == b"mine\n"));
    for number in changed {
        let now = fs::read_to_string(workspace.join(format!("c{number}/.mcp.json"))).unwrap();
        assert_eq!(now, format!("old {number}"));
    }
    let expected: BTreeSet<String> = (0..COMMANDS)
        .map(|number| format!("d{number}"))
        .chain(changed.iter().map(|number| format!("c{number}")))
        .chain([".profile".to_owned()])
        .collect();
    let names = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let root: BTreeSet<String> = fs::read_dir(workspace).unwrap().map(names).collect();
    assert_eq!(root, expected, "no ghost");
}

async fn assert_all_is_given_back(
    it: &mut Fixture,
    session: SessionId,
    workspace: &Path,
    told: &[Violation],
) {
    let all = quarantine(it, session).await;
    let ids = |ids: Vec<&String>| ids.into_iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(
        ids(all.iter().map(|file| &file.id).collect()),
        ids(told.iter().map(|violation| &violation.quarantine_id).collect())
    );
    for file in &all {
        match restore(it, session, &file.id).await {
            ExchangeFromRunner::Restored { path, .. } => assert_eq!(path, file.info.path),
            other => panic!("{other:?}"),
        }
    }
    for number in 0..COMMANDS {
        let (path, content) = match number % 3 {
            0 => (format!("d{number}/.bashrc"), format!("made {number}")),
            1 => (format!("c{number}/.mcp.json"), format!("changed {number}")),
            _ => continue,
        };
        assert_eq!(fs::read_to_string(workspace.join(path)).unwrap(), content);
    }
}

fn assert_each_was_told_once(told: &[Violation]) {
    let one = |violation: &Violation| {
        assert_eq!(violation.action, ViolationAction::Quarantined, "{violation:?}");
        (String::from_utf8(violation.path.clone()).unwrap(), violation.kind.clone())
    };
    let mut told: Vec<_> = told.iter().map(one).collect();
    told.sort();
    let expected = |number| match number % 3 {
        0 => Some((format!("/workspace/d{number}/.bashrc"), "created".to_owned())),
        1 => Some((format!("/workspace/c{number}/.mcp.json"), "changed".to_owned())),
        _ => None,
    };
    let mut expected: Vec<_> = (0..COMMANDS).filter_map(expected).collect();
    expected.sort();
    assert_eq!(told, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_makes_it_a_failure_and_what_is_at_the_root_cannot_be_written_at_all() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut fails = grant(session, "mkdir a; echo x > a/.bashrc");
    fails.profile.protect.action = ProtectAction::Fail;
    let (_, result) = it.run(fails).await;
    match result.cause {
        Cause::SandboxFailed { step, message, .. } => {
            assert_eq!(
                (step.as_str(), message.as_str()),
                ("protected_names", "`/workspace/a/.bashrc`: a protected name was created")
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(result.violations.len(), 1);

    let named = ["/workspace/.vscode/settings.json".to_owned()];
    let made = writes(session, "mkdir .vscode && echo {} > .vscode/settings.json", &named);
    assert_eq!(it.run(made).await.1.violations, []);
    let attempts = "{ echo x > .vscode/settings.json; echo x > .vscode/new; rm -rf .vscode; mv .vscode x; } 2>/dev/null; \
        cat .vscode/settings.json";
    assert_eq!(it.said(grant(session, attempts)).await, "{}\n");
    let decided = writes(session, "echo '[]' > .vscode/settings.json && cat .vscode/settings.json", &named);
    assert_eq!(it.said(decided).await, "[]\n", "a command can write what its decision names");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_and_hooks_of_a_repository_that_is_there_are_held() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let with_git = |command: &str, git: &[&str]| {
        let mut grant = grant(session, command);
        grant.decided.git = git.iter().map(|name| (*name).to_owned()).collect();
        grant
    };
    let identity = "export HOME=/tmp; git config --global user.email a@b; git config --global user.name a; ";
    let init = format!("{identity} git init -q . && echo a > a && git add a && git commit -qm one");
    let (_, result) = it.run(with_git(&init, &["add", "commit", "init /workspace"])).await;
    assert_eq!((result.cause, result.violations), (Cause::Exited { code: 0 }, Vec::new()));
    let (_, result) = it.run(grant(session, "git config core.fsmonitor /tmp/evil")).await;
    assert_eq!(result.violations.len(), 1);
    assert_eq!(result.violations.first().unwrap().kind, "git_config");
    let hook = "echo x > .git/hooks/post-commit";
    let (_, result) = it.run(grant(session, hook)).await;
    assert_eq!(result.cause, Cause::Exited { code: 1 }, "it is read-only");
    let said = it.said(with_git("git config core.fsmonitor; git log --format=%s", &["config", "log"])).await;
    assert_eq!(said, "one\n");
    it.shut_down().await;
}

/// A program that is not recognized as git creates a repository in `c`, and plants a hook, a monitor and an alias
/// there.
const MAKE: &str = "printf '#!/bin/sh\\necho \"$1\" >> \"$TMPDIR/ran\"\\n' > evil && chmod +x evil; \
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
    perl -e 'system(qw(git init -q -b main c)) and die' && cd c && git commit -q --allow-empty -m one && \
    printf '#!/bin/sh\\n../evil hook\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && \
    git config core.fsmonitor '../evil monitor' && git config alias.x '!../evil alias'";
/// Prints which of them ran, and the committed files.
const USE: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
    rm -f $TMPDIR/ran; cd c; { git status --short; git x; git commit -q --allow-empty -m more; } >/dev/null 2>&1; \
    sort -u $TMPDIR/ran 2>/dev/null; git log --format=%s 2>/dev/null";

fn as_decided(grant: Grant, requires: &[Requirement]) -> Grant {
    let mut grant = Grant { requires: requires.to_vec(), ..grant };
    grant.decided.git = vec!["commit".to_owned(), "log".to_owned(), "status".to_owned()];
    grant.read_only = requires.contains(&Requirement::ReadOnlyMount);
    grant
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_of_any_program_stays_and_runs_nothing_of_it_where_nobody_was_asked() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let (_, result) = it.run(grant(session, MAKE)).await;
    assert_eq!((result.cause, result.violations), (Cause::Exited { code: 0 }, Vec::new()));
    let reads = as_decided(grant(session, USE), &[Requirement::ReadOnlyMount, Requirement::TrustedPath]);
    assert_eq!(it.said(reads).await, "one\n", "a command that only reads");
    let by_rule = as_decided(grant(session, USE), &[Requirement::TrustedPath]);
    assert_eq!(it.said(by_rule).await, "more\none\n", "a command that a rule allows");
    let said = it.said(grant(session, USE)).await;
    assert_eq!(said, "alias\nhook\nmonitor\nmore\nmore\none\n", "an agent's own hook in its own commit");
    let (_, result) =
        it.run(grant(session, "rm c/.git/hooks/pre-commit; echo x > c/.git/hooks/pre-push")).await;
    assert_eq!(
        result.violations.len(),
        2,
        "from then on the file is watched like any other: {:?}",
        result.violations
    );
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_a_mask_ends_only_commands_of_git() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let plant = "mkdir c && echo 'gitdir: /proc/self/root/tmp/x' > c/.git && git init -q --bare /tmp/x";
    assert_eq!(it.run(grant(session, plant)).await.1.cause, Cause::Exited { code: 0 });
    let requires = [Requirement::ReadOnlyMount, Requirement::TrustedPath];
    match it.run(as_decided(grant(session, "git -C c status"), &requires)).await.1.cause {
        Cause::SandboxFailed { step, message, .. } => {
            assert_eq!(step, "protected_names");
            assert!(
                message.contains("`/proc/self/root/tmp/x` leads through a directory of the kernel"),
                "{message}"
            );
        }
        other => panic!("{other:?}"),
    }
    let mut lists = as_decided(grant(session, "ls"), &requires);
    lists.decided.git = Vec::new();
    assert_eq!(it.said(lists).await, "c\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_a_command_outside_what_was_planted_is_in_quarantine() {
    let mut it = Fixture::with(Default::default(), |config| config.floor.unsandboxed = true).await;
    let session = it.open("").await;
    assert_eq!(it.run(grant(session, MAKE)).await.1.violations, []);
    let (id, result) = it.run(Grant { unsandboxed: true, ..grant(session, USE) }).await;
    let mut told: Vec<_> =
        result.violations.iter().map(|one| String::from_utf8(one.path.clone()).unwrap()).collect();
    told.sort();
    assert_eq!(told, ["/workspace/c/.git/config", "/workspace/c/.git/hooks"]);
    let said = it.text(id, airlock_domain::OutputStream::Stdout).await;
    assert_eq!(said, "more\none\n");
    let ids: Vec<_> = quarantine(&mut it, session).await.into_iter().map(|file| file.id).collect();
    for id in ids {
        assert!(matches!(restore(&mut it, session, &id).await, ExchangeFromRunner::Restored { .. }));
    }
    let (id, result) = it.run(Grant { unsandboxed: true, ..grant(session, USE) }).await;
    assert_eq!(result.violations, [], "a person restored it");
    let said = it.text(id, airlock_domain::OutputStream::Stdout).await;
    assert!(said.starts_with("alias\nhook\nmonitor\n"), "the control: {said}");
    it.shut_down().await;
}
