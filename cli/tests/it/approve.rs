//! Tests of `airlock approve`: it shows the whole request, and the answer takes effect.

use std::process::Stdio;

use crate::support::{Site, end, eventually, stderr};

#[test]
fn a_person_sees_what_is_asked_and_decides() {
    let site = Site::with_dev(&["--profile", "demo"]);
    let ask = |command: &str| {
        let run = ["run", "--on-ask", "wait", "--description", "List the targets", "--", command];
        let child = site.airlock(&run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut id = String::new();
        eventually("the approval is open", || {
            site.text(&["approve", "--list", "--quiet"]).trim().clone_into(&mut id);
            !id.is_empty()
        });
        (child, id)
    };
    let (mut child, id) = ask("make --version >/dev/null 2>&1; echo ran \u{202e}");
    assert!(site.text(&["approve"]).contains("make --version"));
    let (code, why) = site.fails(&["approve", &id]);
    assert_eq!(code, 2, "there is no terminal");
    assert!(why.contains("--yes or --deny"), "{why}");
    let page = site.text(&["approve", &id, "--yes"]);
    for piece in ["echo ran \\u{202e}", "List the targets", "Bash(make:*)", "allowed once"] {
        assert!(page.contains(piece), "`{piece}` in:\n{page}");
    }
    assert_eq!(end(&mut child), Some(0));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, "ran \u{202e}\n".as_bytes());
    assert!(stderr(&output).contains(&format!("airlock approve {id}")));

    let (mut child, id) = ask("make love");
    site.text(&["approve", &id, "--deny", "--reason", "not on a Friday"]);
    assert_eq!(end(&mut child), Some(125));
    let output = child.wait_with_output().unwrap();
    assert!(
        stderr(&output).contains("denied by a person: not on a Friday; it did not run"),
        "{}",
        stderr(&output)
    );
    let (code, why) = site.fails(&["approve", &id, "--yes"]);
    assert_eq!(code, 1);
    assert!(why.contains("no open approval"), "{why}");
}
