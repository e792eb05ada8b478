//! Tests of the stored form of a specification.

use airlock_domain::encoding::encode;

use super::*;
use crate::contract::fixtures;

/// A specification as 0.1.0 stored it.
const FLAT: &str = r#"{"shell":"zsh","timeout":{"secs":5,"nanos":1},"timeout_given":true,"idle_timeout":{"secs":6,"nanos":0},"background":true,"description":"d","wait_for_approval":true,"mode":"plan","env":{"A":"/w=="},"separate_stderr":false,"allow_concurrent":true,"stdin":true,"dangerously_disable_sandbox":true,"inline_limit":7,"pty":{"rows":1,"cols":2,"term":"vt100"}}"#;

#[test]
fn a_specification_of_an_earlier_version_is_read() {
    let spec = SpecJson::read(FLAT).unwrap().with((b"ls".to_vec(), b"/x".to_vec()), BTreeMap::new(), None);
    let command = CommandSpec {
        text: b"ls".to_vec(),
        shell: Shell::Zsh,
        directory: b"/x".to_vec(),
        env: BTreeMap::from([("A".to_owned(), vec![0xff])]),
        stdin: true,
        pty: Some(Pty { size: TerminalSize { rows: 1, cols: 2 }, term: "vt100".to_owned() }),
        timeout: Duration::new(5, 1),
        idle_timeout: Some(Duration::from_secs(6)),
        inline_limit: 7,
        ..CommandSpec::default()
    };
    let expected = ExecutionSpec {
        command,
        given: Given { timeout: true, ..Given::default() },
        background: true,
        yield_after: None,
        description: "d".to_owned(),
        wait_for_approval: true,
        mode: Mode::Plan,
        allow_concurrent: true,
        dangerously_disable_sandbox: true,
        labels: BTreeMap::new(),
    };
    assert_eq!(spec, expected);
}

#[test]
fn what_has_a_column_is_not_stored_twice() {
    let spec = fixtures::spec();
    let json = write(&SpecJson::new(&spec)).unwrap();
    let command = CommandSpec { text: Vec::new(), directory: Vec::new(), ..spec.command.clone() };
    let encoded = String::from_utf8(encode(&command)).unwrap();
    assert!(json.contains(&encoded), "{json} contains the canonical encoding");
    assert!(!json.contains("text") && !json.contains("directory"), "{json}");
    let columns = (spec.command.text.clone(), spec.command.directory.clone());
    let read = SpecJson::read(&json).unwrap().with(columns, spec.labels.clone(), spec.yield_after);
    assert_eq!(read, spec);
}
