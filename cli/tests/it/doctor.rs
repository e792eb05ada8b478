//! Tests of `airlock doctor`: working steps, failing steps, and their remedies.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::Site;

/// Returns the exit code, and the name, state and text of each check.
fn checks(site: &Site, more: &[&str]) -> (i32, Vec<(String, String, String)>) {
    let output = site.output(&[&["doctor", "--json"], more].concat());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |check: &Value, key: &str| check.get(key).and_then(Value::as_str).unwrap().to_owned();
    let checks = found.get("checks").and_then(Value::as_array).unwrap().iter();
    let all = checks.map(|one| {
        (text(one, "name"), text(one, "state"), text(one, "seen") + " -> " + &text(one, "remedy"))
    });
    let code = output.status.code().unwrap();
    assert_eq!(found.get("ok").and_then(Value::as_bool), Some(code == 0));
    (code, all.collect())
}

fn health<'a>(checks: &'a [(String, String, String)], name: &str) -> (&'a str, &'a str) {
    let found = checks.iter().find(|(one, ..)| one == name);
    found.map(|(_, health, what)| (health.as_str(), what.as_str())).unwrap_or(("not looked at", ""))
}

#[test]
fn a_dev_is_well_and_everything_that_it_says_is_shown() {
    let mut site = Site::with_dev(&[]);
    let (code, found) = checks(&site, &["--host"]);
    assert_eq!(code, 0, "{found:#?}");
    for name in [
        "state directory",
        "name",
        "TCP",
        "TLS",
        "certificate",
        "identity",
        "roles",
        "version",
        "clock",
        "bubblewrap",
    ] {
        assert_eq!(health(&found, name).0, "ok", "{name}: {found:#?}");
    }
    assert!(health(&found, "roles").1.contains("may administer"), "{found:#?}");
    assert!(
        health(&found, "state directory").1.contains("AIRLOCK_STATE"),
        "the origin of the setting: {found:#?}"
    );
    assert_eq!(health(&found, "runners"), ("ok", "1 connected -> "));
    assert!(health(&found, "runner dev-runner").1.contains("is not enforced"), "{found:#?}");
    assert!(site.text(&["doctor"]).contains(" failed\n"), "for people");
    assert_eq!(site.leftovers(), Vec::<String>::new(), "nothing stays");

    site.stop(Signal::SIGTERM);
    let (code, found) = checks(&site, &[]);
    assert_eq!(code, 0, "{found:#?}");
    assert_eq!(health(&found, "server").0, "degraded");
    assert!(health(&found, "server").1.contains("`airlock dev`"), "{found:#?}");
    assert_eq!(health(&found, "bubblewrap").0, "ok", "without a server, the host is checked");
}

#[test]
fn doctor_reports_each_problem_at_its_step() {
    let (site, other) = (Site::with_dev(&[]), Site::with_dev(&[]));
    let connection: Value =
        serde_json::from_slice(&fs::read(site.state().join("connection.json")).unwrap()).unwrap();
    let address = connection.get("address").and_then(Value::as_str).unwrap();
    let port = address.rsplit(':').next().unwrap();
    let file = |site: &Site, name: &str| site.state().join("keys").join(name).display().to_string();
    let (ca, token) = (file(&site, "ca.pem"), file(&site, "client.token"));
    let (stranger, wrong) = (file(&other, "ca.pem"), file(&other, "client.token"));
    // No test process listens on a reserved port.
    let closed = "https://127.0.0.1:1";
    let unnamed = format!("https://127.0.0.2:{port}");
    for (address, ca, token, step, says) in [
        ("https://no.such.invalid:1", &ca, &token, "name", "correct the name"),
        (closed, &ca, &token, "TCP", "that the server is running"),
        (address, &stranger, &token, "TLS", "another authority signed it"),
        (address, &ca, &wrong, "identity", "[[identity]]"),
        (address, &"/etc/passwd".to_owned(), &token, "settings", "no certificate in PEM"),
        ("https://", &ca, &token, "server", "write https://HOST:PORT"),
        (unnamed.as_str(), &ca, &token, "TCP", "that the server is running"),
    ] {
        let (code, found) = checks(&site, &["--address", address, "--ca", ca, "--token-file", token]);
        assert_eq!(code, 1, "{address}: {found:#?}");
        let (how, what) = health(&found, step);
        assert!(how == "missing" && what.contains(says), "`{says}` at {step} of {address}: {found:#?}");
        let failed = found.iter().filter(|(_, health, _)| health == "missing").count();
        assert_eq!(failed, 1, "only the failing step is reported: {found:#?}");
    }
    let (code, found) = checks(&site, &["--host", "--bwrap", "/no/such/bwrap"]);
    assert_eq!(code, 1);
    assert!(health(&found, "bubblewrap").1.contains("apt-get install bubblewrap"), "{found:#?}");
}
