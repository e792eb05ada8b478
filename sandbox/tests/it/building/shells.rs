//! Tests of other shells: they are found in the visible root, and start without any startup file.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use airlock_sandbox::{Cause, LaunchSpec, Profile, Root, Shell};

use crate::support::Host;

#[test]
fn zsh_reads_the_command_as_a_file_and_nothing_before_it() {
    let host = Host::new();
    let session = host.session();
    fs::write(session.directories.home.join(".zshrc"), "echo read-zshrc\n").unwrap();
    fs::write(session.directories.home.join(".zshenv"), "echo read-zshenv\n").unwrap();
    let zsh = |command: &str| LaunchSpec { shell: Shell::Zsh, ..host.spec(command) };
    let output =
        host.run(&session, &zsh("print -r -- ${(U):-zsh} $ZSH_VERSION[1] 'a\\b'; mkdir d; cd d; exit 3"));
    assert_eq!((output.stdout.as_str(), output.ended.cause), ("ZSH 5 a\\b\n", Cause::Exited(3)));
    assert_eq!(output.ended.cwd, Some("/workspace/d".into()));
    for (command, wanted) in [
        ("cat <<E\n$((1 + 1))\nE\n# the end", "2\n"),
        ("trap 'echo bye' EXIT; exit 4", "bye\n"),
        ("alias ls='echo aliased'\nls -d /", "/\n"),
        ("exec echo gone", "gone\n"),
        ("read line; echo \"$? $line\"", "1 \n"),
    ] {
        assert_eq!(host.run(&session, &zsh(command)).stdout, wanted, "`{command}`");
    }
}

#[test]
fn a_shell_that_is_not_there_is_said_with_those_that_are() {
    let host = Host::new();
    let spec = LaunchSpec { shell: Shell::Pwsh, ..host.spec("Write-Host hi") };
    let error = host.refused(&host.session(), &spec);
    assert!(error.is_shell_unavailable());
    let wanted = "pwsh is not installed where the command runs; installed: bash, zsh";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn pwsh_gets_its_script_and_no_profile() {
    let mut host = Host::new();
    let fake = host.directory.path().join("pwsh");
    fs::write(
        &fake,
        "#!/bin/sh\nfor word in \"$@\"; do echo \"<$word>\"; done\nfor last; do :; done; cat \"$last\"\n",
    )
    .unwrap();
    fs::set_permissions(&fake, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(host.profile.root, Root::Binds);
    host.profile = Profile::clone(&host.profile).with_bind(&fake, "/opt/microsoft/powershell/7/pwsh");
    let spec = LaunchSpec { shell: Shell::Pwsh, ..host.spec("Write-Host 'hi'\n") };
    let wanted = "<-NoLogo>\n<-NoProfile>\n<-NonInteractive>\n<-File>\n</run/airlock/run/command.ps1>\n\
                  Write-Host 'hi'\n";
    assert_eq!(host.run(&host.session(), &spec).stdout, wanted);
}
