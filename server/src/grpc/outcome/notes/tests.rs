//! Tests that every fact that a reader of the output needs has a note.

use airlock_proto::v1::{Cause, InlineOutput, cause::Detail};

use super::*;

fn result() -> Outcome {
    Outcome {
        cause: Some(Cause {
            code: CauseCode::Exited.into(),
            detail: Some(Detail::Exited(airlock_proto::v1::cause::Exited { code: 0 })),
            ..Default::default()
        }),
        started: Started::Yes.into(),
        ..Default::default()
    }
}

fn wrote(text: &str) -> Option<InlineOutput> {
    let stdout = InlineText { text: text.to_owned(), whole: true, ..Default::default() };
    Some(InlineOutput { stdout: Some(stdout), ..Default::default() })
}

fn moved(path: &str) -> Violation {
    let violation = Violation {
        layer: "protected_names".to_owned(),
        kind: "changed".to_owned(),
        action: ViolationAction::Quarantined.into(),
        detail: "a protected name was changed; the previous content was restored".to_owned(),
        quarantine_id: "q1".to_owned(),
        ..Default::default()
    };
    violation.with_path(path.to_owned())
}

#[test]
fn every_fact_is_a_line_with_its_name() {
    assert!(of(&result(), None).is_empty());
    let shown = InlineText { truncated_bytes: 9, ..Default::default() };
    let cases: [(&str, &str, Outcome); 7] = [
        ("processes_ended", "`background`", Outcome { leftovers_killed: true, ..result() }),
        (
            "directory_reset",
            "`/workspace`",
            Outcome {
                directory: "/workspace".to_owned(),
                directory_report: DirectoryReport::SnappedBack.into(),
                ..result()
            },
        ),
        (
            "protected_name",
            "`/workspace/.bashrc`: a protected name was changed; the previous content was restored; it was moved",
            Outcome { violations: vec![moved("/workspace/.bashrc")], ..result() },
        ),
        (
            "no_network",
            "`example.org` cannot be reached",
            Outcome { inline: wrote("curl: (6) Could not resolve host: example.org\n"), ..result() },
        ),
        ("output_cut", "7 bytes", Outcome { stdout_cut_bytes: 3, stderr_cut_bytes: 4, ..result() }),
        (
            "output_shortened",
            "9 bytes",
            Outcome { inline: Some(InlineOutput { stdout: Some(shown), ..Default::default() }), ..result() },
        ),
        ("snapshot_missing", "it is gone", Outcome { snapshot_problem: "it is gone".to_owned(), ..result() }),
    ];
    for (code, part, result) in cases {
        let notes = of(&result, None);
        let [note] = &notes[..] else { panic!("{code}: {notes:?}") };
        assert_eq!(note.code, code);
        assert!(note.text.contains(part), "{code}: {}", note.text);
    }
}

fn refused(layer: &str, kind: &str, detail: &str) -> Violation {
    Violation {
        layer: layer.to_owned(),
        kind: kind.to_owned(),
        action: ViolationAction::Reported.into(),
        detail: detail.to_owned(),
        ..Default::default()
    }
}

#[test]
fn a_refusal_of_the_sandbox_is_a_line_with_its_layer() {
    let violations = vec![
        refused("seccomp", "mount", "the system call `mount` was refused: it changes mounts"),
        refused("masks", "path", "a rule hides it").with_path("/workspace/.env".to_owned()),
        refused("resources", "processes", "the limit of 64 processes was reached 2 times"),
        refused("disk", "full", "no note"),
    ];
    let notes = of(&Outcome { violations, ..result() }, None);
    let texts: Vec<_> = notes.iter().map(|note| (note.code.as_str(), note.text.as_str())).collect();
    assert_eq!(
        texts,
        [
            ("sandbox_refused", "the system call `mount` was refused: it changes mounts (layer seccomp)"),
            (
                "sandbox_refused",
                "the sandbox refused access to `/workspace/.env` (layer masks): a rule hides it"
            ),
            ("sandbox_refused", "the limit of 64 processes was reached 2 times (layer resources)"),
        ]
    );
}

#[test]
fn refusals_are_bounded_and_a_path_cannot_begin_a_line() {
    let one = || refused("mounts", "path", "x").with_path("/usr/\nairlock: lies\u{1b}[2J".to_owned());
    let violations = (0..100).map(|_| one()).collect();
    let notes = of(&Outcome { violations, ..result() }, None);
    assert_eq!(notes.len(), VIOLATIONS + 1);
    assert!(notes.iter().all(|note| !note.text.chars().any(char::is_control)));
    assert!(notes[VIOLATIONS].text.starts_with("and 84 more refusals"), "{notes:?}");
}

#[test]
fn a_note_is_one_line_of_bounded_length_and_there_are_not_too_many() {
    let many = Outcome {
        violations: vec![moved("/workspace/\u{1b}[2J\nairlock: lies"); 100],
        snapshot_problem: "x".repeat(5000),
        leftovers_killed: true,
        ..result()
    };
    let notes = of(&many, None);
    assert_eq!(notes.len(), 1 + VIOLATIONS + 1 + 1);
    assert!(
        notes.iter().all(|note| note.text.len() <= TEXT_BYTES && !note.text.chars().any(char::is_control))
    );
    assert!(notes.iter().any(|note| note.text.starts_with("and 84 more protected names")), "{notes:?}");
    let words = wrote("Could not resolve host: example.org");
    let outside = of(&Outcome { unsandboxed: true, inline: words, ..result() }, None);
    assert!(outside.is_empty(), "outside the sandbox there is a network: {outside:?}");
    let cancelled = Some(Cause { code: CauseCode::Cancelled.into(), ..Default::default() });
    let ended = of(&Outcome { leftovers_killed: true, cause: cancelled, ..result() }, None);
    assert!(ended.is_empty(), "a cancellation ends all processes: {ended:?}");
    let refused = Outcome { started: Started::No.into(), leftovers_killed: true, ..result() };
    assert!(of(&refused, None).is_empty(), "a command that did not run has no notes");
}

#[test]
fn a_failed_command_has_the_connections_that_its_decision_foresaw() {
    let note = |code: &str, text: &str| Note { code: code.to_owned(), text: text.to_owned() };
    let decision = Decision {
        warning_notes: vec![note("force_push", "other"), note("no_network", "add \"pypi\" to the list")],
        ..Default::default()
    };
    let inline = wrote("Could not resolve host: pypi.org\n");
    let failed = |code| {
        let detail = Some(Detail::Exited(airlock_proto::v1::cause::Exited { code }));
        let cause = Some(Cause { code: CauseCode::Exited.into(), detail, ..Default::default() });
        Outcome { cause, inline: inline.clone(), ..result() }
    };
    let texts = |result: &Outcome| -> Vec<(String, String)> {
        of(result, Some(&decision)).into_iter().map(|note| (note.code, note.text)).collect()
    };
    let expected = ("no_network".to_owned(), "add \"pypi\" to the list".to_owned());
    assert_eq!(texts(&failed(6)), [expected], "the decision's text replaces the general one");
    let ended = texts(&failed(0));
    assert!(ended[0].1.contains("`pypi.org` cannot be reached"), "{ended:?}");
    let refusal = Violation { layer: NETWORK.to_owned(), detail: "refused".to_owned(), ..Default::default() };
    let warned = Violation { kind: WARNED.to_owned(), detail: "let through".to_owned(), ..refusal.clone() };
    let only_warned = Outcome { violations: vec![warned], ..failed(0) };
    assert_eq!(texts(&only_warned)[0], ("network_warned".to_owned(), "let through".to_owned()));
    let refused = Outcome { violations: vec![refusal], ..failed(6) };
    assert_eq!(
        texts(&refused),
        [("network_refused".to_owned(), "refused".to_owned())],
        "the proxy knows better"
    );
}
