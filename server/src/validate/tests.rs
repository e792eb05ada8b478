//! Tests every field of every request: all invalid fields are reported together.

use std::{collections::BTreeMap, time::Duration};

use airlock_control::api::{ApiError, StartExecution};
use airlock_domain::{ExecutionId, cursor::Cursor, limits};
use airlock_output::stream::AttachFrom;
use airlock_proto::v1;
use bytes::Bytes;
use prost_types::Duration as WireDuration;

use super::{checker::VIOLATIONS, *};

const ID: &str = "01931b6e-7f3a-7bbb-8a4c-0123456789ab";

fn fields<T: std::fmt::Debug>(result: Result<T, ApiError>) -> Vec<String> {
    match result {
        Ok(_) => vec![],
        Err(ApiError::Invalid(violations)) => violations.into_iter().map(|v| v.field).collect(),
        Err(other) => panic!("{other:?}"),
    }
}

fn seconds(seconds: i64, nanos: i32) -> Option<WireDuration> {
    Some(WireDuration { seconds, nanos })
}

fn env(name: &str, value: &[u8]) -> BTreeMap<String, Bytes> {
    BTreeMap::from([(name.to_owned(), Bytes::copy_from_slice(value))])
}

fn label(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

fn many<V: Clone>(count: usize, value: &V) -> BTreeMap<String, V> {
    (0..count).map(|n| (format!("K{n}"), value.clone())).collect()
}

fn network(allow: &[&str], deny: &[&str]) -> Option<v1::NetworkRules> {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    Some(v1::NetworkRules { allow: owned(allow), deny: owned(deny), ..Default::default() })
}

/// The fields of three entries that are not rules.
const NOT_RULES: [&str; 3] = ["spec.network.allow[0]", "spec.network.allow[2]", "spec.network.deny[0]"];

type Change<T> = fn(&mut T);

/// Applies each change to a valid request and compares the reported fields.
fn table<T: Default, R: std::fmt::Debug>(
    good: impl Fn() -> T,
    check: impl Fn(T) -> Result<R, ApiError>,
    cases: &[(Change<T>, &[&str])],
) {
    assert_eq!(fields(check(good())), Vec::<String>::new());
    for (index, (change, expected)) in cases.iter().enumerate() {
        let mut request = good();
        change(&mut request);
        assert_eq!(fields(check(request)), *expected, "case {index}");
    }
}

fn asking() -> Option<v1::NetworkRules> {
    network(&["pypi"], &[]).map(|rules| v1::NetworkRules { ask: vec!["a".to_owned()], ..rules })
}

#[test]
fn every_field_of_a_specification() {
    let good = || v1::ExecutionSpec { command: "ls".into(), ..Default::default() };
    table(
        good,
        |spec| start(Some(spec)),
        &[
            (|s| s.command = "a".repeat(limits::COMMAND_BYTES), &[]),
            (|s| s.command = "a".repeat(limits::COMMAND_BYTES + 1), &["spec.command"]),
            (|s| s.command = "a\0b".into(), &["spec.command"]),
            (|s| s.command.clear(), &[]),
            (|s| s.command_bytes = "ls".into(), &["spec.command_bytes"]),
            (|s| (s.command, s.command_bytes) = (String::new(), vec![0xff, 0xfe].into()), &[]),
            (|s| s.shell = 3, &[]),
            (|s| s.shell = 99, &["spec.shell"]),
            (|s| s.shell = -1, &["spec.shell"]),
            (|s| s.session_id = ID.into(), &[]),
            (|s| s.session_id = "x".into(), &["spec.session_id"]),
            (|s| s.session_id = ID.replace('-', ""), &["spec.session_id"]),
            (|s| s.session_id = format!("{{{ID}}}"), &["spec.session_id"]),
            (|s| s.request_id = "r".repeat(limits::REQUEST_ID_BYTES), &[]),
            (|s| s.request_id = "r".repeat(limits::REQUEST_ID_BYTES + 1), &["spec.request_id"]),
            (|s| s.request_id = "a\nb".into(), &["spec.request_id"]),
            (|s| s.timeout = seconds(0, 0), &[]),
            (|s| s.timeout = seconds(5, 999_999_999), &[]),
            (|s| s.timeout = seconds(-1, 0), &["spec.timeout"]),
            (|s| s.timeout = seconds(0, -1), &["spec.timeout"]),
            (|s| s.timeout = seconds(1, 1_000_000_000), &["spec.timeout"]),
            (|s| s.timeout = seconds(i64::MAX, 0), &["spec.timeout"]),
            (|s| s.description = "d".repeat(limits::DESCRIPTION_BYTES + 1), &["spec.description"]),
            (|s| s.description = "\0".into(), &["spec.description"]),
            (|s| s.inline_limit = limits::INLINE_MAX as u32, &[]),
            (|s| s.inline_limit = limits::INLINE_MAX as u32 + 1, &["spec.inline_limit"]),
            (|s| s.umask = "0777".into(), &[]),
            (|s| s.umask = "1000".into(), &["spec.umask"]),
            (|s| s.umask = "rwx".into(), &["spec.umask"]),
            (|s| s.network = network(&[], &[]), &[]),
            (|s| s.network = network(&["pypi", "a.example:8080"], &["b.example"]), &[]),
            (|s| s.network = network(&["*", "pypi", "a b"], &[""]), &NOT_RULES),
            (|s| s.network = network(&["a.example"; limits::NETWORK_ENTRIES + 1], &[]), &["spec.network"]),
            (|s| s.network = asking(), &["spec.network.ask"]),
            (|s| (s.network, s.dangerously_disable_sandbox) = (network(&[], &[]), true), &["spec.network"]),
            (|s| s.on_ask = 2, &[]),
            (|s| s.on_ask = 3, &["spec.on_ask"]),
            (|s| s.mode = 5, &["spec.mode"]),
            (|s| s.env_bytes = env("A_1", b"\xff"), &[]),
            (|s| s.env_bytes = env("1A", b""), &["spec.env[\"1A\"]"]),
            (|s| s.env_bytes = env("", b""), &["spec.env[\"\"]"]),
            (|s| s.env_bytes = env("A=B", b""), &["spec.env[\"A=B\"]"]),
            (|s| s.env_bytes = env("BASH_FUNC_x%%", b"() { :; }"), &["spec.env[\"BASH_FUNC_x%%\"]"]),
            (|s| s.env_bytes = env("A", b"a\0"), &["spec.env[\"A\"]"]),
            (|s| s.env_bytes = env("A", &vec![b'a'; limits::ENV_BYTES]), &["spec.env"]),
            (|s| s.env_bytes = many(limits::ENV_ENTRIES + 1, &Bytes::new()), &["spec.env"]),
            (|s| s.profile = "strict".into(), &[]),
            (|s| s.profile = "../strict".into(), &["spec.profile"]),
            (|s| s.profile = "p".repeat(limits::NAME_BYTES + 1), &["spec.profile"]),
            (|s| s.base = "a/b".into(), &["spec.base"]),
            (|s| (s.session_id, s.profile) = (ID.into(), "strict".into()), &["spec.profile"]),
            (|s| (s.session_id, s.base) = (ID.into(), "repo".into()), &["spec.base"]),
            (|s| s.labels = label("k", "v"), &[]),
            (|s| s.runner_labels = label("k", "v"), &[]),
            (|s| s.runner_labels = label("", "v"), &["spec.runner_labels[\"\"]"]),
            (|s| (s.session_id, s.runner_labels) = (ID.into(), label("k", "v")), &["spec.runner_labels"]),
            (|s| s.labels = label("", "v"), &["spec.labels[\"\"]"]),
            (|s| s.labels = label("k", &"v".repeat(limits::LABEL_VALUE_BYTES + 1)), &["spec.labels[\"k\"]"]),
            (|s| s.labels = label("k", "\u{1b}[2J"), &["spec.labels[\"k\"]"]),
            (|s| s.labels = many(limits::LABELS + 1, &String::new()), &["spec.labels"]),
        ],
    );
    assert_eq!(fields(start(None)), ["spec"]);
}

#[test]
fn all_violations_come_at_once() {
    let spec = v1::ExecutionSpec {
        command: "a\0".into(),
        shell: 99,
        session_id: "x".into(),
        request_id: "\n".into(),
        timeout: seconds(-1, 0),
        description: "\0".into(),
        on_ask: 99,
        mode: 99,
        env_bytes: env("=", b"\0"),
        profile: "/".into(),
        base: "/".into(),
        labels: label("", "\n"),
        inline_limit: u32::MAX,
        ..Default::default()
    };
    let mut found = fields(start(Some(spec)));
    found.sort();
    found.dedup();
    let expected = [
        "spec.base",
        "spec.command",
        "spec.description",
        "spec.env[\"=\"]",
        "spec.inline_limit",
        "spec.labels[\"\"]",
        "spec.mode",
        "spec.on_ask",
        "spec.profile",
        "spec.request_id",
        "spec.session_id",
        "spec.shell",
        "spec.timeout",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_flood_of_violations_is_bounded() {
    let env: BTreeMap<String, Bytes> = (0..10_000).map(|n| (format!("={n}"), Bytes::new())).collect();
    let spec = v1::ExecutionSpec { env_bytes: env, ..Default::default() };
    assert_eq!(fields(start(Some(spec))).len(), VIOLATIONS);
}

/// The request's hash and the policy use the result of this validation.
#[test]
fn text_and_its_bytes_are_the_same_request() {
    let text = || v1::ExecutionSpec {
        command: "ls \u{e9}".to_owned(),
        env: label("A", "\u{e9}"),
        ..Default::default()
    };
    let bytes = || v1::ExecutionSpec {
        command_bytes: "ls \u{e9}".into(),
        env_bytes: env("A", "\u{e9}".as_bytes()),
        ..Default::default()
    };
    assert_eq!(start(Some(text())).unwrap(), start(Some(bytes())).unwrap());
    let twice = v1::ExecutionSpec { env_bytes: bytes().env_bytes, ..text() };
    assert_eq!(fields(start(Some(twice))), ["spec.env_bytes[\"A\"]"]);
}

#[test]
fn what_is_right_arrives_whole() {
    let spec = v1::ExecutionSpec {
        command: "ls".into(),
        shell: v1::Shell::Zsh.into(),
        timeout: seconds(5, 0),
        on_ask: v1::OnAsk::Wait.into(),
        mode: v1::Mode::Plan.into(),
        env_bytes: env("A", b"b"),
        kill_on_disconnect: true,
        labels: label("k", "v"),
        ..Default::default()
    };
    let start = start(Some(spec)).unwrap();
    assert!(start.kill_on_disconnect && start.request.wait_for_approval);
    let StartExecution { command, given, .. } = &start.request;
    assert_eq!((command.shell, given.shell), (airlock_domain::Shell::Zsh, true));
    assert_eq!(start.request.mode, Some(airlock_domain::Mode::Plan));
    assert_eq!((command.timeout, given.timeout), (Duration::from_secs(5), true));
    assert!(!given.inline_limit, "the profile's value applies");
    assert_eq!(command.env["A"], b"b");
    assert_eq!((start.request.session_id, start.request.profile), (None, None));
}

#[test]
fn every_field_of_create_session() {
    table(
        v1::SessionServiceCreateRequest::default,
        create_session,
        &[
            (|r| r.request_id = "r".repeat(limits::REQUEST_ID_BYTES + 1), &["request_id"]),
            (|r| r.profile = "a b".into(), &["profile"]),
            (|r| r.mode = 9, &["mode"]),
            (|r| r.shell = 9, &["shell"]),
            (|r| r.base = "..\u{0}".into(), &["base"]),
            (|r| r.env_bytes = env("-", b""), &["env[\"-\"]"]),
            (
                |r| r.labels = label(&"k".repeat(64), ""),
                &["labels[\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"]"],
            ),
            (|r| r.runner_labels = label("k", "\n"), &["runner_labels[\"k\"]"]),
            (|r| r.idle_timeout = seconds(24 * 3600, 0), &[]),
            (|r| r.idle_timeout = seconds(24 * 3600, 1), &["idle_timeout"]),
        ],
    );
}

#[test]
fn every_field_of_attach_wait_and_get() {
    use v1::execution_service_attach_request::From;
    table(
        || v1::ExecutionServiceAttachRequest { execution_id: ID.into(), from: None },
        attach,
        &[
            (|r| r.execution_id.clear(), &["execution_id"]),
            (|r| r.execution_id = "%".repeat(36), &["execution_id"]),
            (|r| r.from = Some(From::Cursor(Cursor::default().encode().into())), &[]),
            (|r| r.from = Some(From::Cursor(Bytes::new())), &["cursor"]),
            (|r| r.from = Some(From::Cursor(vec![1; 40].into())), &["cursor"]),
            (|r| r.from = Some(From::Cursor(vec![1; 65].into())), &["cursor", "cursor"]),
            (|r| r.from = Some(From::Offsets(v1::OutputOffsets { stdout: u64::MAX, stderr: 1 })), &[]),
        ],
    );
    table::<v1::ExecutionServiceWaitRequest, _>(
        || v1::ExecutionServiceWaitRequest { execution_id: ID.into(), timeout: None },
        |request| wait(&request),
        &[
            (|r| r.execution_id = "1".into(), &["execution_id"]),
            (|r| r.timeout = seconds(60, 0), &[]),
            (|r| r.timeout = seconds(60, 1), &["timeout"]),
            (|r| r.timeout = seconds(-5, 0), &["timeout"]),
        ],
    );
    table::<v1::ExecutionServiceGetRequest, _>(
        || v1::ExecutionServiceGetRequest { execution_id: ID.into(), view: 0 },
        |request| get_execution(&request),
        &[(|r| r.view = 7, &["view"]), (|r| r.execution_id.clear(), &["execution_id"])],
    );
    assert_eq!(fields(execution_id("nonsense")), ["execution_id"]);
    assert_eq!(fields(session_id("")), ["session_id"]);
    let whole = attach(v1::ExecutionServiceAttachRequest { execution_id: ID.into(), from: None }).unwrap();
    assert_eq!(whole.from, AttachFrom::Offsets { stdout: 0, stderr: 0 });
    assert_eq!(whole.execution, ID.parse::<ExecutionId>().unwrap());
}

#[test]
fn every_field_of_check_and_decide() {
    use v1::approval_service_decide_request::{AllowOnce, Answer, Deny};
    table(
        || v1::PolicyServiceCheckRequest { command: "ls".into(), ..Default::default() },
        check,
        &[
            (|r| r.command = "a".repeat(limits::COMMAND_BYTES + 1), &["command"]),
            (|r| r.command = "\0".into(), &["command"]),
            (|r| r.shell = 4, &["shell"]),
            (|r| r.mode = 5, &["mode"]),
            (|r| r.session_id = "s".into(), &["session_id"]),
            (|r| (r.session_id, r.profile) = (ID.into(), "strict".into()), &["profile"]),
            (|r| r.directory = "src".into(), &["directory"]),
            (|r| r.directory = "/a\0".into(), &["directory"]),
            (|r| r.directory = "/".repeat(limits::DIRECTORY_BYTES + 1), &["directory"]),
        ],
    );
    let good = || v1::ApprovalServiceDecideRequest {
        approval_id: ID.into(),
        binding: vec![1; 32].into(),
        answer: Some(Answer::AllowOnce(AllowOnce {})),
    };
    table(
        good,
        decide,
        &[
            (|r| r.approval_id = "a".into(), &["approval_id"]),
            (|r| r.binding = vec![1; 31].into(), &["binding"]),
            (|r| r.answer = None, &["answer"]),
            (|r| r.answer = Some(Answer::Deny(Deny { reason: "no".into() })), &[]),
            (
                |r| r.answer = Some(Answer::Deny(Deny { reason: "n".repeat(limits::REASON_BYTES + 1) })),
                &["deny.reason"],
            ),
            (|r| *r = v1::ApprovalServiceDecideRequest::default(), &["approval_id", "binding", "answer"]),
        ],
    );
}

#[test]
fn every_field_of_lists() {
    fn page(size: i32, token: &str) -> Option<v1::PageRequest> {
        Some(v1::PageRequest { page_size: size, page_token: token.to_owned() })
    }
    table(
        v1::ExecutionServiceListRequest::default,
        list_executions,
        &[
            (|r| r.page = page(limits::PAGE_SIZE_MAX, ""), &[]),
            (|r| r.page = page(limits::PAGE_SIZE_MAX + 1, ""), &["page.page_size"]),
            (|r| r.page = page(-1, ""), &["page.page_size"]),
            (|r| r.page = page(0, &"t".repeat(limits::PAGE_TOKEN_BYTES + 1)), &["page.page_token"]),
            (|r| r.page = page(0, "a b"), &["page.page_token"]),
            (|r| r.view = 3, &["view"]),
            (|r| r.filter.get_or_insert_default().session_id = "x".into(), &["filter.session_id"]),
            (
                |r| r.filter.get_or_insert_default().states = vec![5, 0, 9],
                &["filter.states[1]", "filter.states[2]"],
            ),
            (|r| r.filter.get_or_insert_default().states = vec![1; 17], &["filter.states"]),
            (|r| r.filter.get_or_insert_default().principal = "p".repeat(257), &["filter.principal"]),
            (|r| r.filter.get_or_insert_default().labels = label("", ""), &["filter.labels[\"\"]"]),
        ],
    );
    table(
        v1::SessionServiceListRequest::default,
        list_sessions,
        &[
            (|r| r.filter.get_or_insert_default().states = vec![6], &["filter.states[0]"]),
            (|r| r.filter.get_or_insert_default().principal = "\n".into(), &["filter.principal"]),
            (|r| r.page = page(-5, ""), &["page.page_size"]),
        ],
    );
    table(
        v1::ApprovalServiceListRequest::default,
        list_approvals,
        &[
            (|r| r.filter.get_or_insert_default().states = vec![0], &["filter.states[0]"]),
            (|r| r.filter.get_or_insert_default().session_id = "-".into(), &["filter.session_id"]),
        ],
    );
    table(
        v1::AdminServiceListRunnersRequest::default,
        list_runners,
        &[(|r| r.filter.get_or_insert_default().states = vec![-1], &["filter.states[0]"])],
    );
}
