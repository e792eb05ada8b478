//! Repositories and drivers that a command plants for the next command, which is read-only.

use airlock_sandbox::Cause;

use crate::layer::Layer::{GitSettings, ReadOnlyMount};
use crate::stage::Stage;

/// A program that git must not run. It creates a marker file in every writable directory.
const DRIVER: &str = "#!/bin/bash\ntouch /workspace/ran /tmp/ran ~/ran /var/tmp/ran 2>/dev/null; cat \"$1\" 2>/dev/null; exit 0\n";
/// Disables Airlock's settings for git.
const WITHOUT_SETTINGS: &str = "GIT_CONFIG_COUNT=0 GIT_CONFIG_SYSTEM=/dev/null GIT_OPTIONAL_LOCKS=1";

/// Creates the files of a bare repository in the workspace, with settings that name the driver.
const BARE: &str = "git init -q --bare made && mv made/* . && git config --file config core.bare false && \
    git config --file config core.worktree /workspace && git config --file config core.fsmonitor /workspace/driver";
/// Creates the same in a subdirectory.
const BARE_BELOW: &str = "git init -q --bare made && git config --file made/config core.bare false && mkdir tree && \
    git config --file made/config core.worktree /workspace/tree && git config --file made/config core.fsmonitor /workspace/driver";
/// Creates a repository with one commit and a changed file.
const REPOSITORY: &str = "git init -q . && git config user.name a && git config user.email a@b && echo 1 > file && \
    git add file && git commit -qm first && echo 2 > file";

fn ran(stage: &Stage) -> bool {
    let directories = &stage.own.directories;
    [&directories.workspace, &directories.home, &directories.tmp]
        .iter()
        .any(|directory| directory.join("ran").exists())
}

fn plant(stage: &Stage, what: &str) {
    let command = format!("printf '%s' '{DRIVER}' > driver; chmod +x driver; {what}");
    let output = stage.host.run(&stage.own, &stage.host.spec(command));
    assert_eq!(output.ended.cause, Cause::Exited(0), "{}", output.stdout);
    assert!(!ran(stage), "planting alone runs no program");
}

/// Checks that git does not use a bare repository, even in a command that may write.
fn bare(shape: &'static str, directory: &'static str, git: &'static str) -> impl FnOnce(&mut Stage) {
    move |stage| {
        plant(stage, shape);
        let command = format!("cd {directory} && git {git}");
        let output = stage.host.run(&stage.own, &stage.host.spec(&command));
        assert!(!ran(stage), "{}", output.stdout);
        assert!(output.stdout.contains("safe.bareRepository"), "{}", output.stdout);
        println!("stopped by {GitSettings}: safe.bareRepository");
        let command = format!("cd {directory} && {WITHOUT_SETTINGS} git {git}");
        let output = stage.host.run(&stage.own, &stage.host.spec(command));
        assert!(ran(stage), "the control did not run it: {}", output.stdout);
        stage.controlled();
    }
}

/// Checks that a driver of a real repository leaves no mark in a read-only command. In a command that may write it
/// does.
fn driver(setting: &'static str, git: &'static str) -> impl FnOnce(&mut Stage) {
    move |stage| {
        plant(stage, &format!("{REPOSITORY} && {setting}"));
        stage.host.run(&stage.own, &stage.host.read_only_spec(format!("git {git}; true")));
        assert!(!ran(stage), "it left a file");
        println!("stopped by {ReadOnlyMount} and {GitSettings}");
        let command = format!("{WITHOUT_SETTINGS} git {git}; true");
        let output = stage.host.run(&stage.own, &stage.host.spec(command));
        assert!(ran(stage), "the control did not run it: {}", output.stdout);
        stage.controlled();
    }
}

attempts! {
    a_bare_repository_at_the_current_directory: bare(BARE, ".", "status");
    a_bare_repository_above_the_current_directory: bare(BARE, "refs", "status");
    a_bare_repository_in_a_folder: bare(BARE_BELOW, "made", "status");
    a_bare_repository_asked_what_to_add: bare(BARE, ".", "add --dry-run .");

    a_file_system_monitor: driver("git config core.fsmonitor /workspace/driver", "status");
    an_external_difference: driver("git config diff.external /workspace/driver", "diff");
    a_text_conversion: driver("git config diff.x.textconv /workspace/driver && echo 'file diff=x' > .gitattributes", "diff");
    a_filter: driver("git config filter.x.clean /workspace/driver && echo 'file filter=x' > .gitattributes", "diff");
    a_hook_of_the_index: driver(
        "cp driver .git/hooks/post-index-change && touch -d '1 hour ago' file && echo 1 > file", "status");
    an_alias: driver("git config alias.look '!/workspace/driver'", "look");
    a_program_for_connections: driver("git config core.sshCommand /workspace/driver", "ls-remote ssh://host/path");
    a_driver_for_differences: driver("git config diff.x.command /workspace/driver && echo 'file diff=x' > .gitattributes", "diff");
    a_program_for_signatures: driver(
        "git config gpg.program /workspace/driver && git config log.showSignature true && \
         git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----' | \
         git hash-object -w -t commit --stdin > .git/refs/heads/signed && git symbolic-ref HEAD refs/heads/signed", "log");
}
