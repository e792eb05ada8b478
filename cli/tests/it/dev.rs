//! `airlock dev`: its state folder, its end, and what the others say when it is not there.

use std::{collections::BTreeMap, fs};

use nix::sys::signal::Signal;

use crate::support::{Site, mode};

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
    assert_eq!(keys(&site), before, "keys are kept");
    assert_eq!(site.text(&["run", "--session", &session, "--", "cat file"]), "kept\n");
    assert_eq!(site.stop(Signal::SIGINT), Some(0), "{}", site.log());
}

#[test]
fn a_second_one_is_refused_and_the_first_goes_on() {
    let site = Site::with_dev(&[]);
    let (code, why) = site.fails(&["dev"]);
    assert_eq!(code, 1);
    assert!(why.contains("another `airlock dev` uses the state folder"), "{why}");
    assert_eq!(site.text(&["run", "--", "echo on"]), "on\n");
}

#[test]
fn a_dead_one_is_not_mistaken_for_a_living_one() {
    let mut site = Site::with_dev(&[]);
    assert_eq!(site.stop(Signal::SIGKILL), None);
    assert!(site.state().join("connection.json").exists(), "it could not clean up");
    for line in [&["ps"][..], &["runners"], &["approve"], &["session", "list"], &["show", "x"]] {
        let (code, why) = site.fails(line);
        assert_eq!(code, 1);
        assert!(why.contains("no airlock dev is running") && why.contains("`airlock dev`"), "{why}");
    }
    site.start(&[]);
    assert_eq!(site.text(&["run", "--", "echo again"]), "again\n");
}

#[test]
fn commands_that_run_are_ended_with_it() {
    let mut site = Site::with_dev(&[]);
    let mut child = site.airlock(&["run", "--", "sleep 100"]).spawn().unwrap();
    crate::support::eventually("it runs", || site.text(&["ps"]).contains("running"));
    assert_eq!(site.stop(Signal::SIGTERM), Some(0), "{}", site.log());
    assert!(site.log().contains("commands cut: 1"), "{}", site.log());
    // It ended as cancelled, or the client learned that nobody is there any more.
    assert!(matches!(crate::support::end(&mut child), Some(1 | 130)));
    site.start(&[]);
    assert!(site.text(&["ps", "--all"]).contains("cancelled (drain)"));
}

#[test]
fn a_client_whose_dev_died_does_not_wait_for_it() {
    let mut site = Site::with_dev(&[]);
    let run = site.airlock(&["run", "--", "sleep 100"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    crate::support::eventually("it runs", || site.text(&["ps"]).contains("running"));
    site.stop(Signal::SIGKILL);
    let output = run.wait_with_output().unwrap();
    let why = crate::support::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{why}");
    assert!(why.contains("the airlock dev has ended"), "{why}");
    site.start(&[]);
    let id = why.rsplit(' ').next().unwrap().trim();
    assert_eq!(site.fails(&["wait", id]).0, 1, "what is not known is no success");
    assert!(site.text(&["ps", "--all"]).contains("runner lost"));
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
        (&["dev", "--profiles", "/no/such/folder"], 1, "/no/such/folder"),
        (&["dev", "--base", "repo"], 2, "NAME=DIR"),
        (&["dev", "--base", "repo=/no/such/folder"], 1, "/no/such/folder"),
        (&["dev", "--state", file], 1, "failed"),
        (&["dev", "--log", "=="], 1, "log_level"),
    ] {
        let (got, why) = site.fails(arguments);
        assert_eq!(got, code, "{arguments:?}: {why}");
        assert!(why.contains(piece), "`{piece}` in: {why}");
    }
}
