//! Tests of `start`, `logs`, `watch`, `signal` and `detach`.

use std::{fs::File, io::Read as _, process::Stdio};

use serde_json::Value;

use crate::support::{Site, end, eventually, stderr};

fn started(site: &Site, arguments: &[&str]) -> String {
    site.text(&[&["start"], arguments].concat()).trim().to_owned()
}

#[test]
fn any_part_of_an_output_can_be_seen_again() {
    let site = Site::with_dev(&[]);
    let id = started(&site, &["--", "seq 1 1000; printf 'no end\\0\\377'"]);
    assert_eq!(site.output(&["wait", &id]).status.code(), Some(0));
    let all = site.output(&["logs", &id]).stdout;
    assert!(all.starts_with(b"1\n2\n") && all.ends_with(b"1000\nno end\0\xff"));
    assert_eq!(site.text(&["logs", "--head", "2", &id]), "1\n2\n");
    assert_eq!(site.output(&["logs", "--tail", "1", &id]).stdout, b"no end\0\xff");
    assert_eq!(site.output(&["logs", "--tail", "3", "--bytes", &id]).stdout, b"d\0\xff");
    assert_eq!(site.output(&["logs", "--range", "5-12", &id]).stdout, all[5..12]);
    assert_eq!(site.output(&["logs", "--range", "3890-", &id]).stdout, all[3890..]);
    assert_eq!(site.output(&["logs", "--follow", &id]).stdout, all);
    assert_eq!(site.output(&["logs", "--follow", "--tail", "1", &id]).stdout, b"no end\0\xff");
    assert_eq!(site.text(&["logs", "--head", "2", "--offsets", &id]), "0:1\n2:2\n");
    let (code, why) = site.fails(&["logs", "--range", "999999-", &id]);
    assert_eq!(code, 1);
    assert!(why.contains("past the end"), "{why}");
}

#[test]
fn a_search_is_like_grep() {
    let site = Site::with_dev(&[]);
    let id = started(&site, &["--", "seq 1 1000"]);
    site.output(&["wait", &id]);
    let found = |arguments: &[&str]| site.text(&[&["logs"], arguments, &[&id]].concat());
    assert_eq!(found(&["--grep", "^9+$", "-n"]), "9:9\n99:99\n999:999\n");
    assert_eq!(found(&["-F", "--grep", "500", "-C", "1", "--offsets"]), "1884-499\n1888:500\n1892-501\n");
    assert_eq!(found(&["--grep", "00$", "-A", "1", "-m", "2"]), "100\n101\n--\n200\n201\n");
    assert_eq!(found(&["-v", "--grep", ".."]).lines().count(), 9);
    let nothing = site.output(&["logs", "--grep", "nothing", &id]);
    assert_eq!((nothing.status.code(), stderr(&nothing)), (Some(1), String::new()));
    for (arguments, says) in [
        (&["logs", "--grep", "a(b", &id][..], "unclosed group"),
        (&["logs", "--range", "9-5", &id], "did you mean 5-9"),
        (&["logs", "--head", "1", "--tail", "1", &id], "--tail"),
        (&["logs", "--bytes", &id], "--head and --tail"),
        (&["logs", "-n", &id], "--grep"),
        (&["signal", "-s", "WINCH", &id], "HUP, INT"),
        (&["session", "update", &id], "--mode"),
    ] {
        let (code, why) = site.fails(arguments);
        assert_eq!(code, 2, "{arguments:?}: {why}");
        assert!(why.contains(says), "{arguments:?}: {why}");
    }
}

#[test]
fn standard_error_is_shown_where_it_was_kept_apart() {
    let site = Site::with_dev(&[]);
    let apart = started(&site, &["--separate-stderr", "--", "echo out; echo err >&2"]);
    let both = started(&site, &["--", "echo out; echo err >&2"]);
    for id in [&apart, &both] {
        site.output(&["wait", id]);
    }
    let shown = site.output(&["logs", &apart]);
    assert_eq!((&shown.stdout[..], &shown.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!(site.text(&["logs", "--stderr", &apart]), "err\n");
    assert_eq!(site.text(&["logs", "--tail", "1", &apart]), "out\n");
    let shown = site.output(&["logs", &both]);
    assert_eq!((&shown.stdout[..], &shown.stderr[..]), (&b"out\nerr\n"[..], &b""[..]));
    let (code, why) = site.fails(&["logs", "--stderr", &both]);
    assert_eq!(code, 1);
    assert!(why.contains("is in its STDOUT"), "{why}");
}

#[test]
fn signals_arrive_and_a_detached_command_lets_the_next_one_run() {
    let site = Site::with_dev(&[]);
    let session = site.text(&["session", "create"]).trim().to_owned();
    let command = "trap 'echo again' HUP; echo ready; while :; do sleep 0.1; done";
    let mut run = site.airlock(&["run", "--session", &session, "--", command]);
    let mut run = run.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut id = String::new();
    eventually("it is ready", || {
        id = site.text(&["ps", "--quiet"]).trim().to_owned();
        !id.is_empty() && site.output(&["logs", &id]).stdout.starts_with(b"ready")
    });
    assert_eq!(site.text(&["signal", "-s", "SIGHUP", &id]).trim(), id);
    eventually("it got the signal", || site.text(&["logs", &id]).contains("again\n"));
    assert_eq!(site.text(&["detach", &id]).trim(), id);
    assert!(site.text(&["ps"]).contains("running in background"));
    assert_eq!(end(&mut run), Some(123), "the view ends, and the command continues");
    let mut said = String::new();
    run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains(&format!("airlock logs --follow {id}")), "{said}");
    assert_eq!(site.text(&["run", "--session", &session, "--", "echo next"]), "next\n");
    assert_eq!(site.text(&["ps", "--quiet"]).trim(), id);
    site.text(&["signal", "--signal", "9", &id]);
    assert_eq!(site.output(&["wait", &id]).status.code(), Some(137));
    let (code, why) = site.fails(&["signal", &id]);
    assert_eq!(code, 1);
    assert!(why.contains("NOT_RUNNING"), "{why}");
}

#[test]
fn a_follower_goes_on_when_the_command_goes_to_the_background() {
    let site = Site::with_dev(&[]);
    let id = started(&site, &["--", "echo before; until [ -e go ]; do sleep 0.1; done; echo after; exit 5"]);
    eventually("it runs", || site.output(&["logs", &id]).stdout.starts_with(b"before"));
    let session = {
        let shown: Value = serde_json::from_str(&site.text(&["show", "--json", &id])).unwrap();
        shown["session_id"].as_str().unwrap().to_owned()
    };
    let follow = |line: &str| {
        let mut follow = site.airlock(&[line, &id]);
        follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut attached = follow("attach");
    let mut first = [0; 7];
    let mut shown = attached.stdout.take().unwrap();
    shown.read_exact(&mut first).unwrap();
    site.text(&["detach", &id]);
    let mut said = [0; 47];
    attached.stderr.take().unwrap().read_exact(&mut said).unwrap();
    assert!(said.starts_with(b"airlock: the command was sent to the background"));
    site.text(&["run", "--session", &session, "--", "touch go"]);
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), end(&mut attached)), ("after\n", Some(5)));
}

#[test]
fn a_watch_shows_starts_and_ends_and_can_be_taken_up_again() {
    let site = Site::with_dev(&[]);
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("events");
    let mut watch = site.airlock(&["watch", "--json", "--count", "2"]);
    let mut watch = watch.stdout(File::create(&log).unwrap()).spawn().unwrap();
    let events = || -> Vec<Value> {
        let text = std::fs::read_to_string(&log).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    eventually("the watch stands", || !events().is_empty());
    site.text(&["run", "--", "true"]);
    assert_eq!(end(&mut watch), Some(0));
    let events = events();
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["watching", "started", "finished"]);
    let cursor = events[1]["cursor"].as_str().unwrap();
    let rest = site.text(&["watch", "--count", "1", "--cursor", cursor]);
    assert!(rest.starts_with("finished") && rest.contains("exited (0)"), "{rest}");
}

#[test]
fn a_start_that_is_denied_says_why() {
    let site = Site::with_dev(&[]);
    let (code, why) = site.fails(&["start", "--profile", "demo", "--", "git push"]);
    assert_eq!(code, 125);
    assert!(why.contains("it did not run") && why.contains("airlock show"), "{why}");
}

#[test]
fn a_session_takes_another_mode() {
    let site = Site::with_dev(&[]);
    let id = site.text(&["session", "create"]).trim().to_owned();
    let update = ["session", "update", "--mode", "plan", "--idle-timeout", "2h", &id];
    assert_eq!(site.text(&update).trim(), id);
    assert!(site.text(&["session", "list"]).contains("plan"));
    assert_eq!(site.fails(&["run", "--session", &id, "--", "touch x"]).0, 125);
}
