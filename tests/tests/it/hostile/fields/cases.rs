//! The table: a field, an invalid value, and a part of the error.

mod approvals;
mod files;
mod forward;
mod network;
mod output;

use std::collections::BTreeMap;

use airlock_domain::limits;
use airlock_proto::v1;
use bytes::Bytes;
use prost::Message;
use prost_types::Duration;

/// One invalid value.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) path: &'static str,
    pub(super) field: &'static str,
    /// A part of its description.
    pub(super) description: &'static str,
    pub(super) request: Vec<u8>,
}

const ID: &str = "00000000-0000-7000-8000-000000000000";
const TWICE: &str = "as text and as bytes";
const UNKNOWN: &str = "is not a known value";
const ALPHABET: &str = "a-z A-Z 0-9 . _ -";

/// Returns every case.
pub(super) fn all() -> Vec<Case> {
    [specs(), executions(), sessions(), checks(), approvals::all(), pages(), files::all(), output::all()]
        .concat()
}

fn case(path: &'static str, field: &'static str, description: &'static str, request: &impl Message) -> Case {
    Case { path, field, description, request: request.encode_to_vec() }
}

fn long(length: usize) -> String {
    "x".repeat(length)
}

/// Returns one variable both as text and as bytes.
fn twice() -> (BTreeMap<String, String>, BTreeMap<String, Bytes>) {
    (map([("A".to_owned(), "1".to_owned())]), [("A".to_owned(), "1".into())].into())
}

fn map(entries: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    entries.into_iter().collect()
}

fn seconds(seconds: i64) -> Option<Duration> {
    Some(Duration { seconds, nanos: 0 })
}

fn bad_times(most: i64) -> Vec<(&'static str, Option<Duration>)> {
    vec![
        ("is negative", seconds(-1)),
        ("is negative", Some(Duration { seconds: 0, nanos: -1 })),
        ("nanos must be under a second", Some(Duration { seconds: 0, nanos: 1_000_000_000 })),
        ("at most", seconds(most)),
        ("at most", seconds(i64::MAX)),
    ]
}

fn bad_envs() -> Vec<(&'static str, BTreeMap<String, String>)> {
    let entry = |name: &str, value: &str| map([(name.to_owned(), value.to_owned())]);
    vec![
        ("has 257 entries, at most 256", map((0..257).map(|index| (format!("V{index}"), String::new())))),
        ("has 131073 bytes, at most 131072", entry("A", &long(limits::ENV_BYTES))),
        ("has a NUL byte", entry("A", "a\0b")),
        ("is not the name of a variable", entry("", "x")),
        ("is not the name of a variable", entry("1A", "x")),
        ("is not the name of a variable", entry("A=B", "x")),
        ("is not the name of a variable", entry("A\nB", "x")),
        ("is not the name of a variable", entry("BASH_FUNC_x%%", "() { :; }")),
        ("is not the name of a variable", entry(&long(257), "x")),
    ]
}

fn bad_labels() -> Vec<(&'static str, BTreeMap<String, String>)> {
    let entry = |key: String, value: String| map([(key, value)]);
    vec![
        ("has 33 entries, at most 32", map((0..33).map(|index| (format!("k{index}"), String::new())))),
        ("key is not 1 to 63 bytes", entry(long(64), String::new())),
        ("key is not 1 to 63 bytes", entry(String::new(), String::new())),
        ("without control characters", entry("a\nb".to_owned(), String::new())),
        ("value is not up to 255 bytes", entry("k".to_owned(), long(256))),
        ("without control characters", entry("k".to_owned(), "a\u{1b}[2J".to_owned())),
    ]
}

fn bad_names() -> Vec<(&'static str, String)> {
    let too_long = ("has 129 bytes, at most 128", long(limits::NAME_BYTES + 1));
    let words = ["a/b", "a b", "ä", "a\0b", "a\nb"];
    words.into_iter().map(|word| (ALPHABET, word.to_owned())).chain([too_long]).collect()
}

fn bad_ids() -> Vec<(&'static str, String)> {
    let words = [
        "x",
        "00000000-0000-7000-8000-00000000000",
        "00000000000070008000000000000000",
        "../../../../../../etc/passwd/aaaaaaaaa",
    ];
    words
        .into_iter()
        .map(|word| ("a hyphenated UUID", word.to_owned()))
        .chain([("is not", long(100_000))])
        .collect()
}

fn bad_keys() -> Vec<(&'static str, String)> {
    vec![
        ("has 129 bytes, at most 128", long(limits::REQUEST_ID_BYTES + 1)),
        ("has control characters", "a\nb".to_owned()),
        ("has control characters", "a\0b".to_owned()),
    ]
}

fn bad_commands() -> Vec<(&'static str, String)> {
    vec![
        ("has 131072 bytes, at most 131071", long(limits::COMMAND_BYTES + 1)),
        ("has a NUL byte at offset 4", "echo\0hi".to_owned()),
    ]
}

/// Returns a specification with one field set.
fn one(set: impl FnOnce(&mut v1::ExecutionSpec)) -> v1::ExecutionSpec {
    let mut spec = v1::ExecutionSpec { command: "true".into(), ..Default::default() };
    set(&mut spec);
    spec
}

fn bad_specs() -> Vec<(&'static str, &'static str, v1::ExecutionSpec)> {
    let mut bad = Vec::new();
    let mut add = |field, description, spec| bad.push((field, description, spec));
    for (said, command) in bad_commands() {
        add("spec.command", said, one(|spec| spec.command = command));
    }
    add("spec.command_bytes", TWICE, one(|spec| spec.command_bytes = "true".into()));
    add("spec.env_bytes", TWICE, one(|spec| (spec.env, spec.env_bytes) = twice()));
    for number in [99, -1] {
        add("spec.shell", UNKNOWN, one(|spec| spec.shell = number));
        add("spec.on_ask", UNKNOWN, one(|spec| spec.on_ask = number));
        add("spec.mode", UNKNOWN, one(|spec| spec.mode = number));
    }
    add(
        "spec.mode",
        "does not permit",
        one(|spec| {
            spec.mode = v1::Mode::Bypass.into();
            spec.profile = "strict".to_owned();
        }),
    );
    for limit in [limits::INLINE_MAX as u32 + 1, u32::MAX] {
        add("spec.inline_limit", "at most 150000", one(|spec| spec.inline_limit = limit));
    }
    for (said, id) in bad_ids() {
        add("spec.session_id", said, one(|spec| spec.session_id = id));
    }
    for (said, key) in bad_keys() {
        add("spec.request_id", said, one(|spec| spec.request_id = key));
    }
    for (said, time) in bad_times(30 * 24 * 3600 + 1) {
        add("spec.timeout", said, one(|spec| spec.timeout = time));
        add("spec.idle_timeout", said, one(|spec| spec.idle_timeout = time));
        add("spec.yield_after", said, one(|spec| spec.yield_after = time));
    }
    add("spec.idle_timeout", "permits at most 1800 s", one(|spec| spec.idle_timeout = seconds(1801)));
    add(
        "spec.yield_after",
        "only valid without `background`",
        one(|spec| {
            spec.background = true;
            spec.yield_after = seconds(1);
        }),
    );
    add("spec.timeout", "permits at most 1800 s", one(|spec| spec.timeout = seconds(1801)));
    let description = long(limits::DESCRIPTION_BYTES + 1);
    add("spec.description", "has 1025 bytes, at most 1024", one(|spec| spec.description = description));
    add("spec.description", "NUL byte", one(|spec| spec.description = "a\0b".to_owned()));
    for (said, env) in bad_envs() {
        add("spec.env", said, one(|spec| spec.env = env));
    }
    for (said, labels) in bad_labels() {
        add("spec.labels", said, one(|spec| spec.labels.clone_from(&labels)));
        add("spec.runner_labels", said, one(|spec| spec.runner_labels = labels));
    }
    for (said, name) in bad_names() {
        add("spec.profile", said, one(|spec| spec.profile = name.clone()));
        add("spec.base", said, one(|spec| spec.base = name));
    }
    bad.extend(terminals());
    bad.extend(beside_a_session());
    bad.extend(
        ["8", "1000", "0o22", "00022", "u=rwx"]
            .map(|mask| ("spec.umask", "octal digits", one(|spec| spec.umask = mask.to_owned()))),
    );
    bad.extend(network::specs());
    bad
}

/// Returns the fields that are not valid together with a session.
fn beside_a_session() -> Vec<(&'static str, &'static str, v1::ExecutionSpec)> {
    let fields = [
        ("spec.profile", (|spec| spec.profile = "strict".to_owned()) as fn(&mut v1::ExecutionSpec)),
        ("spec.base", |spec| spec.base = "base".to_owned()),
        ("spec.runner_labels", |spec| {
            spec.runner_labels.insert("zone".to_owned(), "a".to_owned());
        }),
    ];
    let with_session =
        |set: fn(&mut v1::ExecutionSpec)| one(|spec| (spec.session_id = ID.to_owned(), set(spec)).1);
    fields.map(|(field, set)| (field, "only valid without a session", with_session(set))).to_vec()
}

fn terminals() -> Vec<(&'static str, &'static str, v1::ExecutionSpec)> {
    let with = |pty| one(|spec| spec.pty = Some(pty));
    let pty = v1::Pty::default;
    let mut bad = vec![(
        "spec.separate_stderr",
        "not valid with `pty`",
        one(|spec| (spec.pty, spec.separate_stderr) = (Some(pty()), true)),
    )];
    for side in [4097, 65_536, u32::MAX] {
        bad.push(("spec.pty.rows", "must be 0 to 4096", with(v1::Pty { rows: side, ..pty() })));
        bad.push(("spec.pty.cols", "must be 0 to 4096", with(v1::Pty { cols: side, ..pty() })));
    }
    for term in ["../../etc/passwd", "-x", "a b", "x\u{1b}[2J", "\0", &long(65)] {
        bad.push(("spec.pty.term", "at most 64 bytes", with(v1::Pty { term: term.to_owned(), ..pty() })));
    }
    bad
}

/// Returns a specification with as many invalid fields as possible, and those fields.
pub(super) fn worst_spec() -> (v1::ExecutionSpec, Vec<&'static str>) {
    let spec = v1::ExecutionSpec {
        command: "\0".to_owned(),
        shell: 99,
        session_id: "x".to_owned(),
        request_id: "\n".to_owned(),
        timeout: seconds(-1),
        idle_timeout: seconds(-1),
        yield_after: seconds(-1),
        description: "\0".to_owned(),
        on_ask: 99,
        mode: 99,
        env: map([("1".to_owned(), String::new())]),
        profile: "/".to_owned(),
        labels: map([(String::new(), String::new())]),
        base: "/".to_owned(),
        separate_stderr: true,
        pty: Some(v1::Pty { rows: 4097, cols: 4097, term: "/".to_owned() }),
        umask: "8".to_owned(),
        network: Some(network::rules(&["*"], &[""])),
        ..Default::default()
    };
    let fields = vec![
        "spec.command",
        "spec.shell",
        "spec.session_id",
        "spec.request_id",
        "spec.timeout",
        "spec.idle_timeout",
        "spec.yield_after",
        "spec.description",
        "spec.on_ask",
        "spec.mode",
        "spec.env",
        "spec.profile",
        "spec.labels",
        "spec.base",
        "spec.separate_stderr",
        "spec.pty.rows",
        "spec.pty.cols",
        "spec.pty.term",
        "spec.umask",
        "spec.network.allow",
        "spec.network.deny",
    ];
    (spec, fields)
}

fn specs() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in ["/airlock.v1.ExecutionService/Run", "/airlock.v1.ExecutionService/Start"] {
        let request = |spec| v1::ExecutionServiceStartRequest { spec };
        cases.push(case(path, "spec", "is missing", &request(None)));
        let bad = bad_specs().into_iter();
        cases.extend(bad.map(|(field, said, spec)| case(path, field, said, &request(Some(spec)))));
    }
    cases
}

fn executions() -> Vec<Case> {
    use v1::execution_service_attach_request::From::Cursor;
    let mut cases = Vec::new();
    for (said, id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        let alone = v1::ExecutionServiceCancelRequest { execution_id: id };
        for path in [
            "/airlock.v1.ExecutionService/Attach",
            "/airlock.v1.ExecutionService/Wait",
            "/airlock.v1.ExecutionService/Get",
            "/airlock.v1.ExecutionService/Cancel",
        ] {
            cases.push(case(path, "execution_id", said, &alone));
        }
    }
    let cursors: [&[u8]; 5] = [b"", b"garbage", &[0; 41], &[1; 40], &[1; 42]];
    let long = [1; limits::CURSOR_BYTES + 1];
    for (said, cursor) in cursors
        .map(|cursor| ("not a cursor of this service", cursor))
        .into_iter()
        .chain([("at most 64", &long[..])])
    {
        let from = Some(Cursor(Bytes::copy_from_slice(cursor)));
        let request = v1::ExecutionServiceAttachRequest { execution_id: ID.to_owned(), from };
        cases.push(case("/airlock.v1.ExecutionService/Attach", "cursor", said, &request));
    }
    for (said, timeout) in bad_times(61) {
        let request = v1::ExecutionServiceWaitRequest { execution_id: ID.to_owned(), timeout };
        cases.push(case("/airlock.v1.ExecutionService/Wait", "timeout", said, &request));
    }
    let get = v1::ExecutionServiceGetRequest { execution_id: ID.to_owned(), view: 99 };
    cases.push(case("/airlock.v1.ExecutionService/Get", "view", UNKNOWN, &get));
    let list = v1::ExecutionServiceListRequest { view: -1, ..Default::default() };
    cases.push(case("/airlock.v1.ExecutionService/List", "view", UNKNOWN, &list));
    cases
}

fn sessions() -> Vec<Case> {
    const PATH: &str = "/airlock.v1.SessionService/Create";
    let mut cases = Vec::new();
    let mut add = |field, said, set: &dyn Fn(&mut v1::SessionServiceCreateRequest)| {
        let mut request = v1::SessionServiceCreateRequest::default();
        set(&mut request);
        cases.push(case(PATH, field, said, &request));
    };
    for (said, key) in bad_keys() {
        add("request_id", said, &|request| request.request_id.clone_from(&key));
    }
    for (said, name) in bad_names() {
        add("profile", said, &|request| request.profile.clone_from(&name));
        add("base", said, &|request| request.base.clone_from(&name));
    }
    for number in [99, -1] {
        add("mode", UNKNOWN, &|request| request.mode = number);
        add("shell", UNKNOWN, &|request| request.shell = number);
    }
    add("mode", "does not permit", &|request| {
        request.mode = v1::Mode::Bypass.into();
        request.profile = "strict".to_owned();
    });
    for (said, env) in bad_envs() {
        add("env", said, &|request| request.env.clone_from(&env));
    }
    add("env_bytes", TWICE, &|request| (request.env, request.env_bytes) = twice());
    for (said, labels) in bad_labels() {
        add("labels", said, &|request| request.labels.clone_from(&labels));
        add("runner_labels", said, &|request| request.runner_labels.clone_from(&labels));
    }
    for (said, time) in bad_times(24 * 3600 + 1) {
        add("idle_timeout", said, &|request| request.idle_timeout = time);
    }
    cases.extend(network::sessions());
    for (said, session_id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        let request = v1::SessionServiceGetRequest { session_id };
        cases.push(case("/airlock.v1.SessionService/Get", "session_id", said, &request));
        cases.push(case("/airlock.v1.SessionService/Close", "session_id", said, &request));
    }
    cases.extend(forward::forwards());
    cases
}

fn checks() -> Vec<Case> {
    const PATH: &str = "/airlock.v1.PolicyService/Check";
    let mut cases = Vec::new();
    let mut add = |field, said, set: &dyn Fn(&mut v1::PolicyServiceCheckRequest)| {
        let mut request = v1::PolicyServiceCheckRequest { command: "true".into(), ..Default::default() };
        set(&mut request);
        cases.push(case(PATH, field, said, &request));
    };
    for (said, command) in bad_commands() {
        add("command", said, &|request| request.command = command.clone());
    }
    for number in [99, -1] {
        add("shell", UNKNOWN, &|request| request.shell = number);
        add("mode", UNKNOWN, &|request| request.mode = number);
    }
    for (said, id) in bad_ids() {
        add("session_id", said, &|request| request.session_id.clone_from(&id));
    }
    for (said, name) in bad_names() {
        add("profile", said, &|request| request.profile.clone_from(&name));
    }
    add("profile", "only valid without a session", &|request| {
        request.profile = "strict".to_owned();
        request.session_id = ID.to_owned();
    });
    add("command_bytes", TWICE, &|request| request.command_bytes = "true".into());
    add("directory_bytes", TWICE, &|request| {
        request.directory = "/workspace".to_owned();
        request.directory_bytes = "/workspace".into();
    });
    add("directory", "is not absolute", &|request| request.directory = "workspace".into());
    add("directory", "has a NUL byte", &|request| request.directory = "/a\0b".into());
    let long = format!("/{}", "d".repeat(limits::DIRECTORY_BYTES));
    add("directory", "has 4097 bytes, at most 4096", &|request| request.directory.clone_from(&long));
    cases
}

fn bad_pages() -> Vec<(&'static str, &'static str, v1::PageRequest)> {
    let page = |page_size, page_token| v1::PageRequest { page_size, page_token };
    let sizes = [-1, 1001, i32::MIN, i32::MAX];
    let mut bad: Vec<_> = sizes
        .map(|size| ("page.page_size", "between 0 and 1000", page(size, String::new())))
        .into_iter()
        .collect();
    bad.push(("page.page_token", "at most", page(0, long(20_000))));
    for token in ["a b", "\u{1f4a3}"] {
        bad.push(("page.page_token", "not a page token of this list", page(0, token.to_owned())));
    }
    bad.extend(["x", "AAAA", "eyJhIjoxfQ=="].map(|token| ("page.page_token", "", page(0, token.to_owned()))));
    bad
}

/// Returns cases with one message for all list requests; each request reads its fields by number.
fn pages() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in [
        "/airlock.v1.SessionService/List",
        "/airlock.v1.ExecutionService/List",
        "/airlock.v1.ApprovalService/List",
        "/airlock.v1.ApprovalService/ListRules",
        "/airlock.v1.AdminService/ListRunners",
    ] {
        for (field, said, page) in bad_pages() {
            let request = v1::SessionServiceListRequest { page: Some(page), filter: None };
            cases.push(case(path, field, said, &request));
        }
    }
    for (said, states) in [
        ("is not a known state", vec![0]),
        ("is not a known state", vec![1, 99]),
        ("at most 16", vec![1; 17]),
    ] {
        let sessions = v1::SessionFilter { states: states.clone(), ..Default::default() };
        let sessions = v1::SessionServiceListRequest { filter: Some(sessions), page: None };
        cases.push(case("/airlock.v1.SessionService/List", "filter.states", said, &sessions));
        let runners = v1::RunnerFilter { states: states.clone() };
        let runners = v1::AdminServiceListRunnersRequest { filter: Some(runners), page: None };
        cases.push(case("/airlock.v1.AdminService/ListRunners", "filter.states", said, &runners));
        let approvals = v1::ApprovalFilter { states: states.clone(), ..Default::default() };
        let approvals = v1::ApprovalServiceListRequest { filter: Some(approvals), page: None };
        cases.push(case("/airlock.v1.ApprovalService/List", "filter.states", said, &approvals));
        cases.push(executions_where("filter.states", said, |filter| filter.states = states));
    }
    for (said, session_id) in bad_ids() {
        let filter = v1::ApprovalFilter { session_id: session_id.clone(), ..Default::default() };
        let approvals = v1::ApprovalServiceListRequest { filter: Some(filter), page: None };
        cases.push(case("/airlock.v1.ApprovalService/List", "filter.session_id", said, &approvals));
        let filter = Some(v1::RuleFilter { session_id: session_id.clone() });
        let rules = v1::ApprovalServiceListRulesRequest { filter, page: None };
        cases.push(case("/airlock.v1.ApprovalService/ListRules", "filter.session_id", said, &rules));
        cases.push(executions_where("filter.session_id", said, |filter| filter.session_id = session_id));
    }
    for (said, principal) in [("at most 256", long(257)), ("has control characters", "a\nb".to_owned())] {
        cases
            .push(sessions_where("filter.principal", said, |filter| filter.principal.clone_from(&principal)));
        cases.push(executions_where("filter.principal", said, |filter| filter.principal = principal));
    }
    for (said, labels) in bad_labels() {
        cases.push(sessions_where("filter.labels", said, |filter| filter.labels.clone_from(&labels)));
        cases.push(executions_where("filter.labels", said, |filter| filter.labels = labels));
    }
    cases
}

fn executions_where(
    field: &'static str,
    said: &'static str,
    set: impl FnOnce(&mut v1::ExecutionFilter),
) -> Case {
    let mut filter = v1::ExecutionFilter::default();
    set(&mut filter);
    let request = v1::ExecutionServiceListRequest { filter: Some(filter), ..Default::default() };
    case("/airlock.v1.ExecutionService/List", field, said, &request)
}

fn sessions_where(field: &'static str, said: &'static str, set: impl FnOnce(&mut v1::SessionFilter)) -> Case {
    let mut filter = v1::SessionFilter::default();
    set(&mut filter);
    let request = v1::SessionServiceListRequest { filter: Some(filter), page: None };
    case("/airlock.v1.SessionService/List", field, said, &request)
}
