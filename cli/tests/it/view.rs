//! Tests of commands that show executions and sessions: `attach`, `wait`, `ps`, `show`, `kill`,
//! `session`, `--json`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::support::{Site, end, eventually};

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn events_are_json_lines_that_one_can_go_on_from() {
    let site = Site::with_dev(&[]);
    let events = json_lines(&site.text(&["run", "--json", "--", "echo one; sleep 0.2; printf '\\377'"]));
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("opened", "finished"));
    let bytes = |events: &[Value]| -> Vec<u8> {
        let outputs = events.iter().filter(|event| event["event"] == "output").map(|event| &event["output"]);
        outputs
            .flat_map(|output| match output["lossy"].as_bool().unwrap() {
                true => STANDARD.decode(output["base64"].as_str().unwrap()).unwrap(),
                false => output["text"].as_str().unwrap().as_bytes().to_vec(),
            })
            .collect()
    };
    assert_eq!(bytes(&events), b"one\n\xff");
    let last = &events[events.len() - 1];
    assert_eq!(last["finished"]["result"]["cause"]["code"], "EXITED");
    let id = last["execution_id"].as_str().unwrap();
    assert_eq!(site.output(&["attach", id]).stdout, b"one\n\xff");
    assert_eq!(site.output(&["attach", id, "--from-offset", "4"]).stdout, b"\xff");
    for (index, event) in events.iter().enumerate().skip(1) {
        let cursor = event["cursor"].as_str().unwrap();
        if event["event"] == "finished" {
            continue;
        }
        let rest = site.output(&["attach", id, "--cursor", cursor]);
        assert_eq!(rest.stdout, bytes(&events[index + 1..]), "after event {index}");
    }
    let (code, why) = site.fails(&["attach", id, "--from-offset", "99"]);
    assert_eq!(code, 1);
    assert!(why.contains("past the end"), "{why}");
    let denied = site.output(&["run", "--json", "--profile", "demo", "--", "git push"]);
    assert_eq!(denied.status.code(), Some(125));
    let error = &json_lines(std::str::from_utf8(&denied.stdout).unwrap())[0];
    assert_eq!((&error["event"], &error["error"]["reason"]), (&"error".into(), &"DENIED".into()));
}

#[test]
fn executions_are_listed_shown_waited_for_and_killed() {
    let site = Site::with_dev(&[]);
    let mut child = site.airlock(&["run", "--label", "a=b", "--", "sleep 100"]).spawn().unwrap();
    let mut id = String::new();
    eventually("it runs", || {
        let list = json_lines(&site.text(&["ps", "--json"]));
        let running = list.iter().find(|one| one["state"] == "RUNNING");
        id = running.map(|one| one["execution_id"].as_str().unwrap().to_owned()).unwrap_or_default();
        running.is_some()
    });
    let (code, why) = site.fails(&["wait", &id, "--timeout", "50ms"]);
    assert_eq!(code, 1);
    assert!(why.contains("has not ended (running)"), "{why}");
    assert!(site.text(&["ps"]).contains("sleep 100"));
    assert!(site.text(&["kill", &id]).starts_with(&id));
    assert_eq!(end(&mut child), Some(130));
    assert_eq!(site.output(&["wait", &id]).status.code(), Some(130));
    let page = site.text(&["show", &id]);
    for piece in ["cancelled", "label           a=b", "1 | sleep 100", "decision: allow"] {
        assert!(page.contains(piece), "`{piece}` in:\n{page}");
    }
    let json: Value = serde_json::from_str(&site.text(&["show", &id, "--json"])).unwrap();
    assert_eq!(json["result"]["cause"]["by"], "CLIENT");
    assert_eq!(json["command"]["text"], "sleep 100");
    for line in [&["show"][..], &["kill"], &["wait"], &["attach"]] {
        let all = [line, &["01234567-89ab-7def-8123-456789abcdef"]].concat();
        let (code, why) = site.fails(&all);
        assert_eq!(code, 1, "{all:?}");
        assert!(why.contains("no such execution"), "{why}");
    }
}

#[test]
fn a_session_keeps_its_directory_and_files() {
    let site = Site::with_dev(&[]);
    let id = site.text(&["session", "create", "-e", "WHO=me"]).trim().to_owned();
    let run = |command: &str| site.text(&["run", "--session", &id, "--", command]);
    run("mkdir -p a/b; echo kept > a/b/file; cd a/b");
    assert_eq!(run("pwd; cat file; echo $WHO"), "/workspace/a/b\nkept\nme\n");
    assert!(site.text(&["session", "list"]).contains("/workspace/a/b"));
    assert_eq!(site.text(&["session", "list", "--quiet"]).trim(), id);
    assert_eq!(site.text(&["session", "close", &id]).trim(), id);
    assert_eq!(site.text(&["session", "list", "--quiet"]), "");
    assert!(site.text(&["session", "list", "--all"]).contains("closed"));
    assert_eq!(site.fails(&["run", "--session", &id, "--", "ls"]).0, 125);
}
