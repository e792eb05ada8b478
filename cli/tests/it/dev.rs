//! Tests of `airlock dev`: its state directory, its shutdown, and the errors of other commands when
//! it does not run.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use nix::sys::signal::Signal;

use crate::support::{Site, eventually, mode};

fn keys(site: &Site) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(site.state().join("keys")).unwrap().flatten();
    entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
}

#[test]
fn its_state_is_closed_to_others_and_outlives_it() {
    let mut site = Site::with_dev(&[]);
    assert_eq!(mode(&site.state()), 0o700);
    assert_eq!(mode(&site.state().join("connection.json")), 0o600);
    for name in keys(&site).keys() {
        assert_eq!(mode(&site.state().join("keys").join(name)), 0o600, "{name}");
    }
    let session = site.text(&["session", "create"]).trim().to_owned();
    site.text(&["run", "--session", &session, "--", "echo kept > file"]);
    let before = keys(&site);
    assert_eq!(site.stop(Signal::SIGTERM), Some(0), "{}", site.log());
    assert!(!site.state().join("connection.json").exists());

    site.start(&[]);
    assert_eq!(keys(&site), before, "the keys are kept");
    assert_eq!(site.text(&["run", "--session", &session, "--", "cat file"]), "kept\n");
    assert_eq!(site.stop(Signal::SIGINT), Some(0), "{}", site.log());
}

#[test]
fn it_prints_the_three_lines_that_a_client_needs() {
    let site = Site::with_dev(&[]);
    let log = site.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.starts_with("  export ")).collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.trim().split(['=', ' ']).nth(1)).collect();
    assert_eq!(names, ["AIRLOCK_STATE", "AIRLOCK_ADDRESS", "AIRLOCK_CA", "AIRLOCK_TOKEN_FILE"], "{log}");
    let script = format!("{}\n{} run -- 'echo on'", lines[1..].join("\n"), env!("CARGO_BIN_EXE_airlock"));
    let run = |script: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]).env_remove("AIRLOCK_STATE").env("HOME", "/nonexistent");
        command.output().unwrap()
    };
    assert_eq!(String::from_utf8_lossy(&run(&script).stdout), "on\n");
    assert!(!run(&script.replace("export", ":")).status.success(), "nothing else leads to the server");
}

#[test]
fn a_second_one_is_refused_and_the_first_goes_on() {
    let site = Site::with_dev(&[]);
    let (code, why) = site.fails(&["dev"]);
    assert_eq!(code, 1);
    assert!(why.contains("another `airlock dev` uses the state directory"), "{why}");
    assert_eq!(site.text(&["run", "--", "echo on"]), "on\n");
}

#[test]
fn a_dead_one_is_not_mistaken_for_a_living_one() {
    let mut site = Site::with_dev(&[]);
    assert_eq!(site.stop(Signal::SIGKILL), None);
    assert!(site.state().join("connection.json").exists(), "it could not remove its files");
    for line in [&["ps"][..], &["runners"], &["approve"], &["session", "list"], &["show", "x"]] {
        let (code, why) = site.fails(line);
        assert_eq!(code, 1);
        assert!(why.contains("no `airlock dev` is running") && why.contains("`airlock dev`"), "{why}");
    }
    site.start(&[]);
    assert_eq!(site.text(&["run", "--", "echo again"]), "again\n");
}

#[test]
fn commands_that_run_are_ended_with_it() {
    let mut site = Site::with_dev(&[]);
    let mut child = site.airlock(&["run", "--", "sleep 100"]).spawn().unwrap();
    eventually("it runs", || site.text(&["ps"]).contains("running"));
    assert_eq!(site.stop(Signal::SIGTERM), Some(0), "{}", site.log());
    assert!(site.log().contains("running commands ended: 1"), "{}", site.log());
    // The client received the result `CANCELLED`, or the error that the dev has ended.
    assert!(matches!(crate::support::end(&mut child), Some(1 | 130)));
    site.start(&[]);
    // The runner could not report the end before it stopped, so it reports it now.
    eventually("it was cancelled", || site.text(&["ps", "--all"]).contains("cancelled (drain)"));
}

#[test]
fn a_client_whose_dev_died_does_not_wait_for_it() {
    let mut site = Site::with_dev(&[]);
    let run = site.airlock(&["run", "--", "sleep 100"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    eventually("it runs", || site.text(&["ps"]).contains("running"));
    site.stop(Signal::SIGKILL);
    let output = run.wait_with_output().unwrap();
    let why = crate::support::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{why}");
    assert!(why.contains("`airlock dev` has ended"), "{why}");
    site.start(&[]);
    let id = why.rsplit(' ').next().unwrap().trim();
    assert_eq!(site.fails(&["wait", id]).0, 1, "an unknown result is not a success");
    assert!(site.text(&["ps", "--all"]).contains("runner lost"));
}

#[test]
fn a_wait_whose_dev_died_says_so_and_soon() {
    let mut site = Site::with_dev(&[]);
    let mut run =
        site.airlock(&["run", "--", "sleep 100"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    eventually("it runs", || site.text(&["ps"]).contains("running"));
    let id = site.text(&["ps", "--quiet"]);
    let wait = site.airlock(&["wait", id.trim()]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    site.stop(Signal::SIGKILL);
    let output = wait.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let why = crate::support::stderr(&output);
    // The second message appears if the dev ended before the wait reached it.
    let says = ["`airlock dev` has ended", "no `airlock dev` is running"];
    assert!(says.iter().any(|piece| why.contains(piece)), "{why}");
    assert_eq!(crate::support::end(&mut run), Some(1));
}

#[test]
fn waiting_says_what_for_and_does_not_wait_for_what_will_not_come() {
    let site = Site::empty();
    let mut wait = site.airlock(&["runners", "--wait"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let errors = wait.stderr.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(errors), &mut said).unwrap();
    assert!(said.contains("waiting") && said.contains("no `airlock dev` is running"), "{said}");
    crate::support::send(&wait, Signal::SIGTERM);
    crate::support::end(&mut wait);
    let (code, why) =
        site.fails(&["runners", "--wait", "--address", "https://127.0.0.1:1", "--ca", "/no/such"]);
    assert_eq!(code, 1);
    assert!(why.contains("/no/such") && !why.contains("waiting"), "{why}");
}

#[test]
fn a_server_that_is_not_the_one_that_was_meant_is_told_from_one_that_is_away() {
    let (site, other) = (Site::with_dev(&[]), Site::with_dev(&[]));
    let connection: serde_json::Value =
        serde_json::from_slice(&fs::read(site.state().join("connection.json")).unwrap()).unwrap();
    let address = connection["address"].as_str().unwrap();
    let file = |site: &Site, name: &str| site.state().join("keys").join(name).display().to_string();
    let (ca, token) = (file(&site, "ca.pem"), file(&site, "client.token"));
    let (stranger, runner, key) =
        (file(&other, "ca.pem"), file(&site, "runner.pem"), file(&other, "runner.key"));
    fs::write(site.state().join("empty"), "\n").unwrap();
    let empty = site.state().join("empty").display().to_string();
    for (more, code, piece) in [
        (&["--ca", &ca, "--token-file", &token][..], 0, ""),
        (&["--ca", &stranger, "--token-file", &token], 1, "check that --ca names the CA"),
        (
            &["--ca", "/etc/passwd", "--token-file", &token],
            1,
            "`/etc/passwd` contains no certificate in PEM format",
        ),
        (&["--ca", &ca, "--token-file", &empty], 1, "is empty"),
        (&["--ca", &ca, "--cert", &runner, "--key", &runner], 1, "contains no private key in PEM format"),
        (&["--ca", &ca, "--cert", &runner, "--key", &key], 1, "cannot be used with these keys"),
        (&["--ca", &ca], 1, "(CREDENTIALS_MISSING); use --token-file"),
    ] {
        let (got, why) = site.fails(&[&["ps", "--address", address], more].concat());
        assert_eq!(got, code, "{more:?}: {why}");
        assert!(why.contains(piece), "`{piece}` in: {why}");
    }
    let (code, why) = site.fails(&["ps", "--ca", &ca]);
    assert_eq!(code, 2, "the client needs an address: {why}");
}

#[test]
fn bad_settings_are_refused_with_what_to_do() {
    let site = Site::empty();
    let file = site.state().with_extension("file");
    fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    for (arguments, code, piece) in [
        (&["dev", "--listen", "0.0.0.0:0"][..], 1, "loopback only"),
        (&["dev", "--profile", "nope"], 1, "nope"),
        (&["dev", "--profiles", "/no/such/directory"], 1, "/no/such/directory"),
        (&["dev", "--base", "repo"], 2, "NAME=DIR"),
        (&["dev", "--base", "repo=/no/such/directory"], 1, "/no/such/directory"),
        (&["dev", "--state", file], 1, "name another with --state"),
        (&["dev", "--log", "=="], 1, "log_level"),
        (&["dev", "--listen", "localhost:0"], 2, "such as 127.0.0.1:7443"),
        (&["dev", "--otlp", "collector"], 1, "otlp_endpoint"),
        (&["dev", "--base", "a=/usr", "--base", "a=/etc"], 1, "two bases have the name `a`"),
        (&["dev", "--base", "all=/"], 1, "contains the state directory"),
        (&["dev", "--state", "/proc/none"], 1, "cannot create the state directory"),
    ] {
        let (got, why) = site.fails(arguments);
        assert_eq!(got, code, "{arguments:?}: {why}");
        assert!(why.contains(piece), "`{piece}` in: {why}");
    }
}

/// Prints the content of files. The policy does not recognize that the command reads them.
const READ: &str = "perl -e 'for (q(/opt/tools/hello)) { open F, $_ or die; print <F> }'";

#[test]
fn it_shows_what_of_the_host_it_is_told_to_and_lets_commands_run_as_long() {
    let host = tempfile::tempdir().unwrap();
    let at = |name: &str| host.path().join(name);
    for directory in ["tools", "root/usr", "root/etc"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for directory in ["", "tools", "root", "root/usr", "root/etc"] {
        fs::set_permissions(at(directory), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(at("tools/hello"), "from tools\n").unwrap();
    fs::write(at("root/marker"), "from the root\n").unwrap();
    for name in ["bin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), at("root").join(name)).unwrap();
    }
    let plain = Site::with_dev(&[]);
    assert!(!plain.output(&["run", "--", READ]).status.success(), "the control");
    assert!(!plain.output(&["run", "--timeout", "2h", "--", "true"]).status.success(), "the control");
    drop(plain);

    let bind = format!("{}:/opt/tools", at("tools").display());
    let mut site = Site::with_dev(&["--bind", &bind, "--max-timeout", "3h"]);
    assert_eq!(site.text(&["run", "--timeout", "2h", "--", READ]), "from tools\n");
    assert!(
        !site.output(&["run", "--", "perl -e 'open F, q(>), q(/opt/tools/new) or die'"]).status.success()
    );
    assert_eq!(site.stop(Signal::SIGTERM), Some(0), "{}", site.log());
    let root = at("root").display().to_string();
    site.start(&["--rootfs", &root, "--bind", "/usr", "--bind", &bind]);
    let said = site.text(&["run", "--", &READ.replace("q(/opt", "q(/marker), q(/opt")]);
    assert_eq!(said, "from the root\nfrom tools\n");
    assert_eq!(site.stop(Signal::SIGTERM), Some(0), "{}", site.log());

    for (words, says) in [
        (["dev", "--rootfs", "/no/such/root"], "`/no/such/root` cannot be shown in the sandbox"),
        (["dev", "--bind", ":/opt"], "is not SOURCE or SOURCE:TARGET"),
        (["dev", "--bind", "/usr:/a/../b"], "is not SOURCE or SOURCE:TARGET"),
        (["dev", "--bind", "/usr/bin/env:/usr/no/such"], "at `/usr/no/such`: `/usr` is read-only inside"),
    ] {
        let (code, why) = site.fails(&words);
        assert!(code != 0 && why.contains(says), "{why}");
    }
}
