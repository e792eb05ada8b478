//! Tests of how the sandbox starts PowerShell. A test program named `pwsh` records its arguments, environment, files and
//! limits, and the tests compare them with the requirements of PowerShell.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use airlock_sandbox::{Cause, LaunchSpec, Limits, Profile, Root, Shape, Shell, State, Stdin, TerminalSize};

use crate::support::{Host, Output};

/// The place of PowerShell's own package.
const PWSH: &str = "/opt/microsoft/powershell/7/pwsh";
/// Prints arguments, environment, files and limits, one in each line.
const RECORDS: &str = r#"
for word; do echo "argument $word"; last=$word; done
env | sed 's/^/variable /'
for file in "${last%/*}"/*; do [ -f "$file" ] && echo "file ${file##*/} $(tr '\n' '~' <"$file")"; done
for limit in d v u f n; do echo "limit $limit $(ulimit -$limit)"; done
"#;

/// Binds a stand-in that runs `script`.
fn stand_in(host: &mut Host, script: &str) {
    let fake = host.directory.path().join("pwsh");
    fs::write(&fake, format!("#!/bin/bash\n{script}\n")).unwrap();
    fs::set_permissions(&fake, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(host.profile.root, Root::Binds);
    host.profile = Profile::clone(&host.profile).with_bind(&fake, PWSH);
}

struct Recorded {
    arguments: Vec<String>,
    variables: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
    limits: BTreeMap<String, String>,
}

impl Recorded {
    fn of(output: &Output) -> Self {
        let all = |kind: &str| {
            let lines = output.stdout.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let pairs = |kind: &str, by: char| {
            let pairs = all(kind).into_iter().filter_map(|line| {
                let (name, value) = line.split_once(by)?;
                Some((name.to_owned(), value.to_owned()))
            });
            pairs.collect::<BTreeMap<_, _>>()
        };
        Self {
            arguments: all("argument"),
            variables: pairs("variable", '='),
            files: pairs("file", ' '),
            limits: pairs("limit", ' '),
        }
    }

    fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("unset", String::as_str)
    }
}

fn in_pwsh(spec: LaunchSpec) -> LaunchSpec {
    LaunchSpec { shell: Shell::Pwsh, ..spec }
}

#[test]
fn pwsh_gets_a_fixed_script_and_the_command_as_data() {
    let mut host = Host::new();
    stand_in(&mut host, RECORDS);
    let recorded = Recorded::of(&host.run(&host.session(), &in_pwsh(host.spec("Write-Host 'hi'\n"))));
    let wanted = ["-NoLogo", "-NoProfile", "-NonInteractive", "-File", "/run/airlock/run/run.ps1"];
    assert_eq!(recorded.arguments, wanted);
    assert_eq!(recorded.files["command"], "Write-Host 'hi'~");
    assert_eq!(recorded.files.keys().collect::<Vec<_>>(), ["command", "run.ps1", "text.ps1"]);
    assert!(recorded.files["run.ps1"].contains("exit (& {"));
    for (name, value) in [
        ("SHELL", PWSH),
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
        ("DOTNET_EnableDiagnostics", "0"),
        ("DOTNET_EnableWriteXorExecute", "0"),
        ("POWERSHELL_TELEMETRY_OPTOUT", "1"),
        ("POWERSHELL_UPDATECHECK", "Off"),
        ("TMPDIR", "/tmp"),
        ("XDG_DATA_HOME", "unset"),
        ("PSModulePath", "unset"),
    ] {
        assert_eq!(recorded.variable(name), value, "{name}");
    }
}

#[test]
fn pwsh_gets_the_snapshot_of_its_session() {
    let mut host = Host::new();
    stand_in(&mut host, RECORDS);
    let snapshot = Some(b"# PATH=/usr/bin\n# shell=pwsh\n".to_vec());
    let spec = LaunchSpec { snapshot: snapshot.clone(), ..in_pwsh(host.spec("1")) };
    let recorded = Recorded::of(&host.run(&host.session(), &spec));
    assert_eq!(recorded.files["snapshot.ps1"], "# PATH=/usr/bin~# shell=pwsh~");
    assert!(recorded.files["run.ps1"].contains("$PSScriptRoot/snapshot.ps1"));
    assert_eq!(recorded.variable("BASH_ENV"), "unset", "no bash that it starts reads it");
    let read_only = LaunchSpec { snapshot, ..in_pwsh(host.read_only_spec("1")) };
    assert_eq!(host.refused(&host.session(), &read_only).step(), "request");
}

#[test]
fn the_limits_let_dot_net_run() {
    let mut host = Host::new();
    stand_in(&mut host, RECORDS);
    host.limits = Limits { fsize: Some(4 << 30), ..Limits::default() };
    let recorded = Recorded::of(&host.run(&host.session(), &in_pwsh(host.spec("1"))));
    // 192 MiB of data, 15 threads, and more address space than any machine has memory.
    assert_eq!((recorded.limits["d"].as_str(), recorded.limits["v"].as_str()), ("unlimited", "unlimited"));
    assert!(recorded.limits["u"].parse::<u64>().unwrap() >= 256, "{:?}", recorded.limits);
    assert!(recorded.limits["n"].parse::<u64>().unwrap() >= 256, "{:?}", recorded.limits);
    assert_ne!(recorded.limits["f"], "unlimited");
    // The control: .NET makes such a file unless its variable is set. A program that does not ignore the signal ends.
    let large = "import os; fd = os.memfd_create('large'); os.ftruncate(fd, 2 << 40)";
    let output = host.run(&host.session(), &host.spec(format!("python3 -c \"{large}\"")));
    assert!(output.stdout.contains("File too large"), "{}", output.stdout);
    assert_eq!(recorded.variable("DOTNET_EnableWriteXorExecute"), "0");
}

#[test]
fn the_mounts_that_pwsh_needs_are_there() {
    let mut host = Host::new();
    stand_in(
        &mut host,
        "cat /proc/self/comm\ngrep -c ':1000:1000:' /etc/passwd\necho x >/dev/null && head -c 1 /dev/urandom | wc -c\n\
         readlink /proc/self/exe\n",
    );
    for spec in [host.spec("1"), host.read_only_spec("1")] {
        let output = host.run(&host.session(), &in_pwsh(spec));
        assert_eq!(output.stdout, "cat\n1\n1\n/usr/bin/readlink\n");
    }
}

#[test]
fn a_read_only_command_has_private_directories_and_no_settings_of_home() {
    let mut host = Host::new();
    let tries = r#"
set -e
for place in "$XDG_CACHE_HOME/powershell" "$XDG_DATA_HOME/powershell/Modules" "$TMPDIR"; do
    mkdir -p "$place"; echo x >"$place/x"; echo "writes $place"
done
[ -e "$XDG_CONFIG_HOME/powershell" ] || echo "no settings"
[ -e "$XDG_DATA_HOME/powershell/Modules/Evil" ] || echo "no modules"
mkdir "$HOME/.cache" 2>/dev/null || echo "HOME is read-only"
"#;
    stand_in(&mut host, &format!("{RECORDS}\n{tries}"));
    let session = host.session();
    let home = &session.directories.home;
    for planted in [".config/powershell", ".local/share/powershell/Modules/Evil"] {
        fs::create_dir_all(home.join(planted)).unwrap();
    }
    fs::write(home.join(".config/powershell/powershell.config.json"), "{\"PSModulePath\": \"/tmp\"}")
        .unwrap();
    let output = host.run(&session, &in_pwsh(host.read_only_spec("Get-Date")));
    assert_eq!(output.ended.cause, Cause::Exited(0), "{}", output.stdout);
    for said in [
        "writes /var/tmp/powershell/cache/powershell\n",
        "writes /var/tmp/powershell/data/powershell/Modules\n",
        "writes /var/tmp\n",
        "no settings\nno modules\nHOME is read-only\n",
    ] {
        assert!(output.stdout.contains(said), "{said}: {}", output.stdout);
    }
    let recorded = Recorded::of(&output);
    assert_eq!(recorded.variable("PSModulePath"), "");
    assert_eq!(recorded.variable("TMPDIR"), "/var/tmp");
    // The next command finds nothing of it.
    let look = host.run(&session, &host.read_only_spec("ls -A /var/tmp"));
    assert_eq!(look.stdout, "");
}

#[test]
fn a_trusted_command_finds_empty_directories_that_no_earlier_command_wrote() {
    let mut host = Host::new();
    stand_in(
        &mut host,
        "ls -A \"$XDG_DATA_HOME/powershell/Modules\" \"$XDG_CONFIG_HOME\" && echo found\n\
         echo \"$XDG_DATA_HOME $XDG_CONFIG_HOME <$PSModulePath>\"; : >\"$HOME/written\"",
    );
    let session = host.session();
    let home = &session.directories.home;
    fs::create_dir_all(home.join(".local/share/powershell/Modules/Evil")).unwrap();
    let spec = |trusted| LaunchSpec { trusted, ..in_pwsh(host.spec("Get-Date")) };
    let output = host.run(&session, &spec(true)).stdout;
    let place = "/run/airlock/run/powershell";
    let wanted = format!(
        "{place}/config:\n\n{place}/data/powershell/Modules:\nfound\n{place}/data {place}/config <>\n"
    );
    assert_eq!(output, wanted);
    assert!(home.join("written").exists(), "HOME can be written");
    let free = host.run(&session, &spec(false)).stdout;
    assert!(free.ends_with("  <>\n") && !free.contains("found"), "the control: {free}");
}

#[test]
fn pwsh_that_bash_starts_gets_the_same_directories() {
    let mut host = Host::new();
    stand_in(&mut host, RECORDS);
    let command = format!("{PWSH} -NoProfile -Command Get-Date");
    let recorded = Recorded::of(&host.run(&host.session(), &host.read_only_spec(command)));
    assert_eq!(recorded.variable("XDG_DATA_HOME"), "/var/tmp/powershell/data");
    assert_eq!(recorded.variable("DOTNET_EnableDiagnostics"), "0");
    assert_eq!(recorded.variable("SHELL"), "/bin/bash");
    let other = host.run(&host.session(), &host.read_only_spec("env"));
    assert!(!other.stdout.contains("XDG_") && !other.stdout.contains("DOTNET_"), "{}", other.stdout);
}

#[test]
fn the_directory_is_the_one_that_the_script_leaves_and_the_code_is_its_own() {
    let mut host = Host::new();
    // run.ps1 changes the directory of its process at the end.
    stand_in(&mut host, "mkdir -p sub; cd sub; exit 7");
    let ended = host.run(&host.session(), &in_pwsh(host.spec("cd sub"))).ended;
    assert_eq!((ended.cause, ended.cwd.as_deref()), (Cause::Exited(7), Some(Path::new("/workspace/sub"))));
    stand_in(&mut host, "cd /usr; kill -9 $$");
    let ended = host.run(&host.session(), &in_pwsh(host.spec("Stop-Process -Id $PID"))).ended;
    assert_eq!(ended.cwd, None);
}

#[test]
fn pwsh_gets_the_terminal_of_its_command() {
    let mut host = Host::new();
    let look = "for fd in 0 1 2; do [ -t $fd ] && echo \"terminal $fd\"; done; stty size; ps -o tty= -p $$";
    stand_in(&mut host, &format!("{{ {look}; }} >shown"));
    let size = TerminalSize { rows: 31, cols: 97 };
    let spec = LaunchSpec { stdin: Stdin::Terminal(size), ..in_pwsh(host.spec("1")) };
    let session = host.session();
    let ended = host.start(&session, &spec).waiter.wait();
    let shown = fs::read_to_string(session.directories.workspace.join("shown")).unwrap();
    assert_eq!(ended.cause, Cause::Exited(0));
    // The control: the output of this stand-in is a file.
    assert!(shown.starts_with("terminal 0\nterminal 2\n31 97\npts/"), "{shown}");
}

#[test]
fn lines_of_input_are_asked_for_only_by_a_text_that_uses_them() {
    let mut host = Host::new();
    stand_in(&mut host, "grep -c '^[$]input | [.] ' \"${@: -1}\"; cat");
    for (command, wanted) in [("$input | ForEach-Object { $_ }", "1\n"), ("/bin/cat", "0\n")] {
        let spec = LaunchSpec { stdin: Stdin::Pipe, ..in_pwsh(host.spec(command)) };
        let mut running = host.start(&host.session(), &spec);
        drop(running.streams.stdin.take());
        assert_eq!(crate::support::finish(running).stdout, wanted, "{command}");
    }
}

#[test]
fn a_shell_that_is_not_there_is_said_with_those_that_are() {
    let host = Host::new();
    let error = host.refused(&host.session(), &in_pwsh(host.spec("Write-Host hi")));
    assert!(error.is_shell_unavailable());
    let wanted = "pwsh is not installed where the command runs; installed: bash, zsh";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn the_report_names_a_pwsh_that_works_and_the_reason_of_one_that_does_not() {
    let pwsh = |script: &str| {
        let mut host = Host::new();
        stand_in(&mut host, script);
        let scratch = host.directory.path().join("scratch");
        fs::create_dir_all(&scratch).unwrap();
        let report = host.launcher.report(&host.profile, &scratch, host.ids());
        let check = report.checks.into_iter().find(|check| check.name == "pwsh");
        (report.shells.into_iter().find(|shell| shell.name == "pwsh"), check)
    };
    let (shell, check) = pwsh("echo 7.6.9");
    assert_eq!((shell.unwrap().version.as_str(), check), ("7.6.9", None));

    // As PowerShell without a place that it can write.
    let (shell, check) =
        pwsh("[ -w \"$HOME\" ] && echo 7.6.9 && exit\necho 'Read-only file system : /home'; exit 134");
    let check = check.unwrap();
    assert_eq!((shell, check.state), (None, State::Missing));
    assert_eq!(check.seen, "`pwsh` exited with 134 on read-only mounts: Read-only file system : /home");
    assert!(check.remedy.contains("a place that it can write"), "{check:?}");

    let (shell, check) = pwsh("kill -9 $$");
    assert!(shell.is_none() && check.unwrap().seen.contains("signal 9"));
}

#[test]
fn no_shape_hides_a_stand_in() {
    // The control of every test above: the stand-in runs, and bash does not run instead.
    let mut host = Host::new();
    stand_in(&mut host, "echo stand-in");
    let shape = Shape { read_only: true, network: airlock_sandbox::Network::Empty };
    for spec in [host.spec("echo bash"), LaunchSpec { shape, ..host.spec("echo bash") }] {
        assert_eq!(host.run(&host.session(), &in_pwsh(spec)).stdout, "stand-in\n");
    }
}
