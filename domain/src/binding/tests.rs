//! Tests that each field of each hashed type is bound, or is in the list of the fields that are not.
//!
//! The fields are not written down here. The tests walk the encoding of a sample in which each field has a value. They
//! therefore also test fields that are added later.

use std::collections::BTreeSet;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::*;
use crate::{
    CommandSpec, Mode, NetworkRules, Pty, SessionId, Shell, TerminalSize,
    encoding::{decode, encode},
    testing,
};

/// One step from a value to a value within it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Element(usize),
}

type Path = Vec<Step>;

/// Returns the names of a path, without the positions in lists.
fn name(path: &[Step]) -> String {
    let names = path.iter().filter_map(|step| match step {
        Step::Field(name) => Some(name.as_str()),
        Step::Element(_) => None,
    });
    names.collect::<Vec<_>>().join(".")
}

/// Returns the paths of all values below `value`, inner and outer ones.
fn paths(value: &Value, here: &mut Path, found: &mut Vec<Path>) {
    let inner: Vec<(Step, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, one)| (Step::Field(name.clone()), one)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(at, one)| (Step::Element(at), one)).collect(),
        _ => Vec::new(),
    };
    for (step, one) in inner {
        here.push(step);
        found.push(here.clone());
        paths(one, here, found);
        here.pop();
    }
}

fn at<'a>(value: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Field(name) => &mut value[name.as_str()],
        Step::Element(index) => &mut value[*index],
    })
}

/// Returns other values for a place in an encoding. Not each of them is valid there.
fn others(value: &Value) -> Vec<Value> {
    const NAMES: [&str; 14] = [
        "bash",
        "zsh",
        "plan",
        "default",
        "READ_ONLY_MOUNT",
        "TRUSTED_PATH",
        "toml",
        "json",
        "read",
        "write",
        "report",
        "fail",
        "OTHER",
        "0190a0b0-0000-7000-8000-00000000000a",
    ];
    let mut others = match value {
        Value::Null => {
            vec![Value::from(7), serde_json::json!({"secs": 7, "nanos": 0}), Value::from(Vec::<u8>::new())]
        }
        Value::Bool(flag) => vec![Value::from(!flag)],
        Value::Number(number) => vec![Value::from(number.as_u64().unwrap() + 1)],
        // Four letters before base64 are three bytes more.
        Value::String(text) => {
            vec![Value::from(format!("AAAA{text}")), Value::from("f".repeat(64)), Value::from("007")]
        }
        Value::Array(list) => vec![Value::from(&list[..list.len().saturating_sub(1)])],
        Value::Object(fields) => {
            let mut fewer = fields.clone();
            let first = fields.keys().next().cloned();
            first.iter().for_each(|name| drop(fewer.remove(name)));
            vec![Value::Object(fewer)]
        }
    };
    others.extend(NAMES.map(Value::from));
    // `Some` becomes `None`.
    others.push(Value::Null);
    others.retain(|other| other != value);
    others
}

/// The values of an encoding that have no other valid value. `network` has one mode.
const ONLY_VALUE: [&str; 1] = ["profile.network"];

/// Changes each value of an encoding, inner and outer ones, and checks that the hash changes unless the list
/// names its field. Returns the names of the changed fields.
fn walk<T>(sample: &T, hash: impl Fn(&T) -> [u8; HASH_BYTES], unbound: &[Unbound<T>]) -> BTreeSet<String>
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let encoded: Value = serde_json::from_slice(&encode(sample)).unwrap();
    let mut found = Vec::new();
    paths(&encoded, &mut Vec::new(), &mut found);
    let mut changed = BTreeSet::new();
    for path in found {
        let name = name(&path);
        let is_unbound =
            unbound.iter().any(|one| name == one.field || name.starts_with(&format!("{}.", one.field)));
        let mut value = encoded.clone();
        let others = others(at(&mut value, &path));
        let variants = others.into_iter().filter_map(|other| {
            let mut value = encoded.clone();
            *at(&mut value, &path) = other;
            decode::<T>(value.to_string().as_bytes()).ok().filter(|variant| variant != sample)
        });
        for variant in variants {
            let outer_of_unbound = unbound.iter().any(|one| one.field.starts_with(&format!("{name}.")));
            let differs = hash(&variant) != hash(sample);
            assert!(
                differs != is_unbound || outer_of_unbound,
                "`{name}` {}",
                if differs { "is bound" } else { "is not bound" }
            );
            changed.insert(name.clone());
        }
    }
    changed
}

/// Returns the names of all fields of an encoding that have no fields themselves.
fn leaves(sample: &impl Serialize) -> BTreeSet<String> {
    let encoded: Value = serde_json::from_slice(&encode(sample)).unwrap();
    let mut found = Vec::new();
    paths(&encoded, &mut Vec::new(), &mut found);
    let names: BTreeSet<String> = found.iter().map(|path| name(path)).collect();
    let has_inner = |outer: &String| names.iter().any(|name| name.starts_with(&format!("{outer}.")));
    names.iter().filter(|name| !has_inner(name)).cloned().collect()
}

/// Checks that each leaf was changed.
fn assert_all_changed(sample: &impl Serialize, changed: &BTreeSet<String>) {
    let missed: Vec<String> = leaves(sample).difference(changed).cloned().collect();
    assert!(
        missed.iter().all(|name| ONLY_VALUE.contains(&name.as_str())),
        "no other value was tested: {missed:?}"
    );
}

#[test]
fn each_field_of_a_grant_changes_its_binding_or_is_in_the_list() {
    let sample = testing::grant();
    assert_all_changed(&sample, &walk(&sample, Grant::binding, Grant::UNBOUND));
}

#[test]
fn each_field_of_a_profile_changes_its_digest() {
    let sample = testing::grant().profile;
    let changed = walk(&sample, SandboxProfile::digest, &[]);
    let missed: Vec<String> = leaves(&sample).difference(&changed).cloned().collect();
    assert_eq!(missed, ["network"], "no other value was tested");
}

#[test]
fn each_field_of_a_request_changes_its_hash_or_is_in_the_list() {
    let sample = testing::start();
    assert_all_changed(&sample, &walk(&sample, StartExecution::hash, StartExecution::UNBOUND));
    let sample = testing::create();
    assert_all_changed(&sample, &walk(&sample, CreateSession::hash, CreateSession::UNBOUND));
}

/// Returns each field name in a type's `Debug` output. The output also shows fields that the encoding omits.
fn shown(debug: &str) -> BTreeSet<String> {
    let lines = debug.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    names.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
}

#[test]
fn the_samples_encode_every_field() {
    fn check<T: Serialize + std::fmt::Debug>(sample: &T) {
        let encoded: Value = serde_json::from_slice(&encode(sample)).unwrap();
        let names: BTreeSet<String> = encoded.as_object().unwrap().keys().cloned().collect();
        assert_eq!(
            names,
            shown(&format!("{sample:#?}")),
            "a field of the sample has its default, so no test changes it"
        );
    }
    let grant = testing::grant();
    check(&grant);
    check(&grant.command);
    check(&grant.profile);
    check(&grant.profile.limits);
    check(&grant.profile.paths);
    check(&grant.profile.protect);
    check(&grant.profile.sockets);
    check(&grant.decided);
    check(&grant.egress[0]);
    check(&grant.questions);
    check(&testing::start());
    check(&testing::start().given);
    check(&testing::create());
}

#[test]
fn the_lists_name_existing_fields_once() {
    fn check<T: Serialize>(sample: &T, unbound: &[Unbound<T>]) {
        let encoded: Value = serde_json::from_slice(&encode(sample)).unwrap();
        let mut found = Vec::new();
        paths(&encoded, &mut Vec::new(), &mut found);
        for one in unbound {
            assert!(found.iter().any(|path| name(path) == one.field), "`{}` is not a field", one.field);
            assert!(!one.reason.is_empty(), "`{}` has a reason", one.field);
        }
        let names: BTreeSet<_> = unbound.iter().map(|one| one.field).collect();
        assert_eq!(names.len(), unbound.len(), "each field is listed once");
    }
    check(&testing::grant(), Grant::UNBOUND);
    check(&testing::start(), StartExecution::UNBOUND);
    check(&testing::create(), CreateSession::UNBOUND);
}

#[test]
fn clearing_a_field_changes_that_field_only() {
    fn check<T: Serialize + Clone>(sample: &T, unbound: &[Unbound<T>]) {
        let before: Value = serde_json::from_slice(&encode(sample)).unwrap();
        for one in unbound {
            let mut cleared = sample.clone();
            (one.clear)(&mut cleared);
            let mut after: Value = serde_json::from_slice(&encode(&cleared)).unwrap();
            let path: Path = one.field.split('.').map(|name| Step::Field(name.to_owned())).collect();
            let mut was = before.clone();
            let was = at(&mut was, &path).clone();
            let is = std::mem::replace(at(&mut after, &path), was.clone());
            assert_ne!(is, was, "`{}` is cleared", one.field);
            assert_eq!(after, before, "only `{}` is bound", one.field);
        }
    }
    check(&testing::grant(), Grant::UNBOUND);
    check(&testing::start(), StartExecution::UNBOUND);
    check(&testing::create(), CreateSession::UNBOUND);
}

#[test]
fn the_encoding_is_lossless() {
    let grant = testing::grant();
    assert_eq!(Grant::decode(&grant.encode()), Ok(grant));
    let start = testing::start();
    assert_eq!(decode::<StartExecution>(&encode(&start)), Ok(start));
    let create = testing::create();
    assert_eq!(decode::<CreateSession>(&encode(&create)), Ok(create));
    let least = CommandSpec::default();
    assert_eq!(decode::<CommandSpec>(&encode(&least)), Ok(least));
}

#[test]
fn an_unknown_field_is_refused_wherever_it_is() {
    let encoded: Value = serde_json::from_slice(&testing::grant().encode()).unwrap();
    let mut found = vec![Vec::new()];
    paths(&encoded, &mut Vec::new(), &mut found);
    let mut tried = 0;
    for path in found {
        let mut value = encoded.clone();
        // The names of variables are free.
        if name(&path).ends_with("env") {
            continue;
        }
        let Value::Object(fields) = at(&mut value, &path) else { continue };
        fields.insert("later".to_owned(), Value::from(true));
        tried += 1;
        let refused = Grant::decode(value.to_string().as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("unknown"), "{}: {refused}", name(&path));
    }
    assert!(tried > 10, "{tried}");
}

/// The encodings and hashes of v0.2.0, and of this version. A later version adds fields with defaults. It must read
/// these encodings and compute these hashes, so that open approvals and retries stay valid across an upgrade. Each file
/// has the three encodings, and then the hashes.
const ENCODINGS: [&str; 2] = [include_str!("first.txt"), include_str!("second.txt")];

#[test]
fn encodings_and_hashes_are_those_of_earlier_versions() {
    for file in ENCODINGS {
        let lines: Vec<&str> = file.lines().collect();
        let (grant, start, create, expected) = (lines[0], lines[1], lines[2], &lines[3..]);
        let of_grant = Grant::decode(grant.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(of_grant.encode()).unwrap(), grant);
        let of_start: StartExecution = decode(start.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(encode(&of_start)).unwrap(), start);
        let of_create: CreateSession = decode(create.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(encode(&of_create)).unwrap(), create);
        let hashes = [of_grant.binding(), of_grant.profile.digest(), of_start.hash(), of_create.hash()];
        let hashes = hashes.map(hex::encode);
        assert_eq!(hashes.as_slice(), expected);
    }
}

/// If a field is new since the last release, add it to the last file. If it is the first one, add a file.
#[test]
fn the_last_encodings_have_every_field() {
    let samples = [encode(&testing::grant()), encode(&testing::start()), encode(&testing::create())];
    for (line, sample) in ENCODINGS[1].lines().zip(samples) {
        let of = |json: &[u8]| leaves(&serde_json::from_slice::<Value>(json).unwrap());
        assert_eq!(of(line.as_bytes()), of(&sample));
    }
}

fn pty(rows: u16, cols: u16, term: &str) -> Pty {
    Pty { size: TerminalSize { rows, cols }, term: term.to_owned() }
}

#[test]
fn every_field_that_changes_what_runs_changes_the_hash_and_no_other() {
    let command = CommandSpec { text: b"ls".to_vec(), ..CommandSpec::default() };
    let base = StartExecution { command, ..StartExecution::default() };
    let changed: [fn(&mut StartExecution); 27] = [
        |r| r.command.text = b"ls ".to_vec(),
        |r| r.command.shell = Shell::Zsh,
        |r| r.given.shell = true,
        |r| r.session_id = Some(SessionId::new()),
        |r| r.command.timeout = Duration::from_nanos(1),
        |r| r.given.timeout = true,
        |r| r.wait_for_approval = true,
        |r| r.mode = Some(Mode::Plan),
        |r| drop(r.command.env.insert("A".to_owned(), b"1".to_vec())),
        |r| r.command.separate_stderr = true,
        |r| r.profile = Some("strict".to_owned()),
        |r| r.base = Some("strict".to_owned()),
        |r| r.runner_labels = [("zone".to_owned(), "a".to_owned())].into(),
        |r| r.allow_concurrent = true,
        |r| r.command.stdin = true,
        |r| r.dangerously_disable_sandbox = true,
        |r| r.command.idle_timeout = Some(Duration::from_nanos(1)),
        |r| r.background = true,
        |r| r.yield_after = Some(Duration::from_nanos(1)),
        |r| r.command.inline_limit = 1,
        |r| r.command.umask = "077".parse().unwrap(),
        |r| r.given.umask = true,
        |r| r.command.network = Some(NetworkRules::default()),
        |r| r.command.pty = Some(pty(24, 80, "xterm")),
        |r| r.command.pty = Some(pty(80, 24, "xterm")),
        |r| r.command.pty = Some(pty(24, 81, "xterm")),
        |r| r.command.pty = Some(pty(24, 80, "vt100")),
    ];
    let mut seen = vec![base.hash()];
    for change in changed {
        let mut request = base.clone();
        change(&mut request);
        let hash = request.hash();
        assert!(!seen.contains(&hash), "{request:?}");
        seen.push(hash);
    }
    let mut same = base.clone();
    same.description = "list".to_owned();
    same.traceparent = "00-..".to_owned();
    same.labels.insert("a".to_owned(), "b".to_owned());
    assert_eq!(same.hash(), base.hash());
}

#[test]
fn a_session_request_is_told_apart_by_its_fields() {
    let base = CreateSession::default();
    let changed: [fn(&mut CreateSession); 8] = [
        |r| r.profile = Some("a".to_owned()),
        |r| r.mode = Some(Mode::Bypass),
        |r| r.shell = Some(Shell::Zsh),
        |r| r.base = Some("a".to_owned()),
        |r| r.runner_labels = [("zone".to_owned(), "a".to_owned())].into(),
        |r| drop(r.env.insert("A".to_owned(), Vec::new())),
        |r| r.idle_timeout = Some(Duration::from_secs(1)),
        |r| r.network = Some(NetworkRules::default()),
    ];
    let mut seen = vec![base.hash()];
    for change in changed {
        let mut request = base.clone();
        change(&mut request);
        let hash = request.hash();
        assert!(!seen.contains(&hash), "{request:?}");
        seen.push(hash);
    }
}
