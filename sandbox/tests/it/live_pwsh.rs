//! Tests that need an installed PowerShell: exit codes, directory, output and input of texts. `make test` runs them where
//! there is one, and otherwise names them as not run. Without PowerShell, they fail.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use airlock_sandbox::{Cause, Ended, LaunchSpec, Limits, Shell, Stdin};

use crate::support::{Host, Output, finish};

/// The place of PowerShell inside the sandbox.
const PLACE: &str = "/opt/microsoft/powershell/7";

/// Returns a host whose sandboxes contain the installed PowerShell.
fn host() -> Host {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).map(|directory| directory.join("pwsh"));
    let installed = named.chain([Path::new(PLACE).join("pwsh")]).find_map(|path| path.canonicalize().ok());
    let Some(pwsh) = installed else { panic!("there is no pwsh in PATH and none in {PLACE}") };
    let mut host = Host::new();
    host.limits = Limits { fsize: Some(4 << 30), ..Limits::default() };
    host.profile = host.profile.clone().with_bind(pwsh.parent().unwrap(), PLACE);
    host
}

/// Runs a text in a session with the files of the rows.
fn run(host: &Host, text: &str, read_only: bool) -> Output {
    let session = host.session();
    let workspace = &session.directories.workspace;
    fs::write(workspace.join("a.txt"), "one\ntwo\n").unwrap();
    fs::create_dir(workspace.join("sub")).unwrap();
    if let Some(ids) = session.ids {
        for name in ["a.txt", "sub"] {
            std::os::unix::fs::chown(workspace.join(name), Some(ids.uid), Some(ids.gid)).unwrap();
        }
    }
    let spec = if read_only { host.read_only_spec(text) } else { host.spec(text) };
    host.run(&session, &LaunchSpec { shell: Shell::Pwsh, ..spec })
}

#[test]
fn the_exit_code_is_that_of_exit_or_of_the_last_statement() {
    let host = host();
    let mut wrong = Vec::new();
    for (text, code) in [
        ("", 0),
        ("# nothing", 0),
        ("exit 3", 3),
        ("exit", 0),
        ("exit 256", 0),
        ("exit -1", 255),
        ("exit 'x'", 0),
        ("exit 3.7", 4),
        ("Get-Item nope; exit 0", 0),
        ("& { exit 4 }", 4),
        ("function f { exit 6 }; f; 1", 6),
        ("Invoke-Expression 'exit 8'", 8),
        ("[Environment]::Exit(9)", 9),
        ("throw 'x'", 1),
        ("if (", 1),
        ("'unclosed", 1),
        ("1/0", 1),
        ("1/0; 2", 0),
        ("Get-Item nope", 1),
        ("Get-Item nope -ErrorAction Ignore", 1),
        ("Get-Item nope; 1", 0),
        ("nosuchcommand", 1),
        ("Write-Error x", 1),
        ("$ErrorActionPreference = 'Stop'; Get-Item nope; 1", 1),
        ("try { throw 'x' } catch { 'c' }", 0),
        ("trap { 'c'; continue } throw 'x'", 1),
        ("/bin/true", 0),
        ("/bin/false", 1),
        ("/bin/sh -c 'exit 7'", 7),
        ("1; /bin/sh -c 'exit 7'", 7),
        ("/bin/sh -c 'exit 7'; 1", 0),
        ("/bin/sh -c 'exit 7'; Get-Item nope", 1),
        ("/bin/sh -c 'exit 7' && 1", 7),
        ("/bin/false || 1", 0),
        ("if ($true) { /bin/sh -c 'exit 7' }", 7),
        ("$x = /bin/sh -c 'exit 7'", 7),
        ("'a' | /bin/sh -c 'cat >/dev/null; exit 7'", 7),
        ("$sh = '/bin/sh'; & $sh -c 'exit 7'", 7),
        ("/bin/sh -c 'kill -9 $$'", 137),
        ("Set-StrictMode -Version Latest; /bin/sh -c 'exit 7'", 7),
        ("break; 1", 0),
        ("return 1; 2", 0),
        ("param($x) exit 5", 5),
        ("begin { } process { } end { exit 5 }", 5),
        ("using namespace System.IO\nexit [Path]::GetFileName('/4')", 4),
        ("class C { [int] $x = 3 }; exit [C]::new().x", 3),
    ] {
        let output = run(&host, text, false);
        if output.ended.cause != Cause::Exited(code) {
            wrong.push(format!("{text:?}: {code}, got {:?}: {}", output.ended.cause, output.stdout));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_directory_is_that_of_the_location_however_the_text_ends() {
    let host = host();
    for (text, wanted) in [
        ("cd sub", "/workspace/sub"),
        ("cd sub; exit 3", "/workspace/sub"),
        ("cd sub; throw 'x'", "/workspace/sub"),
        ("cd sub; Get-Item nope", "/workspace/sub"),
        ("cd sub; cd Env:", "/workspace/sub"),
        ("$null = New-PSDrive D FileSystem /workspace/sub; cd D:", "/workspace/sub"),
        ("[IO.Directory]::SetCurrentDirectory('/usr')", "/workspace"),
        ("Push-Location sub; Pop-Location", "/workspace"),
        ("cd nope", "/workspace"),
    ] {
        let Ended { cwd, .. } = run(&host, text, false).ended;
        assert_eq!(cwd, Some(PathBuf::from(wanted)), "{text}");
    }
}

#[test]
fn the_text_sees_what_it_would_see_without_the_scripts() {
    let host = host();
    for (text, wanted) in [
        ("$?", "True\n"),
        ("/bin/false; $?", "False\n"),
        ("$null -eq $LASTEXITCODE", "True\n"),
        ("$args.Count; $PSCommandPath", "0\n\n"),
        ("cd sub; [Environment]::CurrentDirectory; /bin/pwd", "/workspace\n/workspace/sub\n"),
        ("function f { 'in f' }; f; (Get-Command f).CommandType", "in f\nFunction\n"),
        ("$x = 1; $script:x; $global:x", "1\n1\n"),
        ("Get-Content a.txt", "one\ntwo\n"),
        ("1..3 | ForEach-Object -Parallel { $_ } | Sort-Object", "1\n2\n3\n"),
        ("Start-Job { 1 } | Wait-Job | Receive-Job", "1\n"),
        ("'é世'", "é世\n"),
        ("(Get-Job).Count; (Get-EventSubscriber).Count", "0\n0\n"),
    ] {
        assert_eq!(run(&host, text, false).stdout, wanted, "{text}");
    }
}

#[test]
fn the_output_is_plain_and_names_lines_of_the_text() {
    let host = host();
    let shown =
        run(&host, "Get-Item a.txt | Format-Table Name\nWrite-Progress x\nGet-Item nope", false).stdout;
    assert!(shown.contains("a.txt") && !shown.contains('\u{1b}'), "{shown:?}");
    assert!(shown.contains("nope") && !shown.contains("run.ps1"), "{shown:?}");
    let shown = run(&host, "1\nif (", false).stdout;
    assert!(!shown.starts_with('1') && !shown.contains("Create"), "nothing has run: {shown:?}");
}

#[test]
fn it_starts_on_read_only_mounts_and_trusted() {
    let host = host();
    let output = run(&host, "Get-Content a.txt; (Get-Item a.txt).Length", true);
    assert_eq!((output.stdout.as_str(), output.ended.cause), ("one\ntwo\n8\n", Cause::Exited(0)));
    let spec = LaunchSpec { shell: Shell::Pwsh, trusted: true, ..host.spec("Get-Date -UFormat '%%'") };
    assert_eq!(host.run(&host.session(), &spec).stdout, "%\n");
    let session = host.session();
    let planted = session.directories.home.join(".local/share/powershell/Modules/Evil");
    fs::create_dir_all(&planted).unwrap();
    fs::write(planted.join("Evil.psm1"), "function Get-Evil { 'evil' }").unwrap();
    for (trusted, wanted) in [(false, "evil\n"), (true, "")] {
        let spec = host.spec("Get-Evil 2>$null");
        let spec = LaunchSpec { shell: Shell::Pwsh, trusted, ..spec };
        let shown = host.run(&session, &spec).stdout;
        assert_eq!(shown.starts_with("evil"), !wanted.is_empty(), "{shown}");
    }
}

#[test]
fn input_reaches_native_programs_and_the_text() {
    let host = host();
    for (text, wanted) in [
        ("/bin/cat", "l1\nl2\n"),
        ("[Console]::In.ReadLine()", "l1\n"),
        ("$input | ForEach-Object { \"[$_]\" }", "[l1]\n[l2]\n"),
    ] {
        let spec = LaunchSpec { shell: Shell::Pwsh, stdin: Stdin::Pipe, ..host.spec(text) };
        let mut running = host.start(&host.session(), &spec);
        let mut input = fs::File::from(running.streams.stdin.take().unwrap());
        input.write_all(b"l1\nl2\n").unwrap();
        drop(input);
        assert_eq!(finish(running).stdout, wanted, "{text}");
    }
}
