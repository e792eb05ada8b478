//! Tests of the structure of the code: sizes, dependencies between crates, and permitted uses.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod imports;
mod lifecycle;
mod machines;
mod terms;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use airlock_tests::{source, uses};

const LINES_PER_FILE: usize = 500;

fn rust() -> Vec<(String, String)> {
    let texts = source::texts("rs").unwrap();
    assert!(texts.len() > 50, "the code was found");
    texts.into_iter().map(|(path, text)| (path.to_string_lossy().into_owned(), text)).collect()
}

fn assert_none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

/// Returns the lines of code in a file, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = rust()
        .iter()
        .filter(|(_, text)| text.lines().count() > LINES_PER_FILE)
        .map(|(path, text)| format!("{path}: {} lines", text.lines().count()))
        .collect();
    assert_none(&long, "a file has at most 500 lines");
}

#[test]
fn functions_are_held_short_by_clippy() {
    let clippy = std::fs::read_to_string(source::root().join("clippy.toml")).unwrap();
    assert!(clippy.contains("too-many-lines-threshold = 70"));
    let excused: Vec<String> = rust()
        .iter()
        .flat_map(|(path, text)| code(text).map(move |(number, line)| (path, number, line)))
        .filter(|(_, _, line)| line.contains("clippy::too_many_lines") && !line.contains('"'))
        .map(|(path, number, _)| format!("{path}:{number}"))
        .collect();
    assert_none(&excused, "no function is excused from the limit of 70 lines");
}

#[test]
fn every_module_says_what_it_is() {
    let silent: Vec<String> =
        rust().iter().filter(|(_, text)| !text.starts_with("//!")).map(|(path, _)| path.clone()).collect();
    assert_none(&silent, "a module opens with `//!`: what it is, what it must not do");
}

#[test]
fn there_is_no_mod_rs() {
    let found: Vec<String> =
        rust().into_iter().map(|(path, _)| path).filter(|path| path.ends_with("/mod.rs")).collect();
    assert_none(&found, "modules are `foo.rs` beside `foo/`");
}

#[test]
fn nothing_is_left_undone_or_switched_off() {
    // The words are assembled here, so that this file does not contain them.
    let marks = ["todo", "unimplemented"].map(|name| format!("{name}!("));
    let words = ["FIX", "TO", "XX"].into_iter().zip(["ME", "DO", "X"]);
    let words: Vec<String> = words.map(|(a, b)| format!("{a}{b}")).collect();
    let ignored = ["#[ig", "nore"].concat();
    let found: Vec<String> = rust()
        .iter()
        .flat_map(|(path, text)| text.lines().enumerate().map(move |(index, line)| (path, index + 1, line)))
        .filter(|(_, _, line)| {
            marks.iter().chain(&words).any(|mark| line.contains(mark.as_str())) || line.contains(&ignored)
        })
        .map(|(path, number, line)| format!("{path}:{number}: {}", line.trim()))
        .collect();
    assert_none(&found, "no stub, no reminder, no test that is switched off");
}

#[test]
fn unsafe_code_is_in_one_module_of_the_sandbox() {
    let word = ["un", "safe"].concat();
    let found: Vec<String> = rust()
        .iter()
        .filter(|(path, _)| path != "sandbox/init/src/sys.rs" && path != "sandbox/init/src/sys/notify.rs")
        .flat_map(|(path, text)| code(text).map(move |(number, line)| (path, number, line)))
        .filter(|(_, _, line)| line.contains(&format!("{word} {{")) || line.contains(&format!("{word} fn")))
        .map(|(path, number, _)| format!("{path}:{number}"))
        .collect();
    assert_none(&found, "unsafe code is in sandbox/init/src/sys.rs and its submodule only");
    for library in [
        "domain",
        "proto",
        "common/escape",
        "common/variables",
        "policy",
        "policy/build",
        "policy/network",
        "common/archive",
        "common/backoff",
        "common/faults",
        "common/redact",
        "common/telemetry",
        "server/lifecycle",
        "server/limits",
        "server/store",
        "server/output",
        "server/control",
        "server/hooks",
        "server",
        "runner",
        "runner/egress",
        "runner/vault",
        "runner/lifecycle",
        "client",
        "mcp",
        "e2b",
        "cli",
        "cli/embedded",
        "tests",
        "fuzz",
    ] {
        let path = source::root().join(library).join("src/lib.rs");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{library} forbids it");
    }
}

#[test]
fn generated_types_stop_at_the_edge() {
    let allowed = [
        "proto/",
        "server/src/grpc",
        "server/src/validate",
        "server/src/authn",
        "server/hooks",
        "runner/src/link",
        "client/",
        "cli/",
        "tests/",
        "benches/",
        "server/tests/",
        "runner/tests/",
        "server/src/status",
    ];
    let found: Vec<String> = rust()
        .iter()
        .filter(|(path, _)| !allowed.iter().any(|prefix| path.starts_with(prefix)))
        .flat_map(|(path, text)| code(text).map(move |(number, line)| (path, number, line)))
        .filter(|(_, _, line)| {
            line.contains("airlock_proto::v1")
                || line.contains("airlock_proto::runner_v1")
                || line.contains("airlock_proto::server_v1")
                || line.contains("airlock_proto::hooks_v1")
                || line.contains("airlock_proto::{v1")
                || line.contains("airlock_proto::{runner_v1")
                || line.contains("airlock_proto::{server_v1")
                || line.contains("airlock_proto::{hooks_v1")
        })
        .map(|(path, number, _)| format!("{path}:{number}"))
        .collect();
    assert_none(&found, "generated protobuf types do not pass beyond the gRPC edge");
}

#[test]
fn each_service_crate_builds_statuses_in_one_file() {
    let constructors = [
        "Status::new",
        "Status::with_details",
        "Status::invalid_argument",
        "Status::not_found",
        "Status::internal",
        "Status::unavailable",
        "Status::permission_denied",
        "Status::unauthenticated",
        "Status::failed_precondition",
        "Status::resource_exhausted",
        "Status::already_exists",
        "Status::out_of_range",
        "Status::aborted",
        "Status::cancelled",
        "Status::with_error_details",
        "Status::unimplemented",
        "Status::deadline_exceeded",
    ];
    for service in ["server/src/", "runner/src/"] {
        let homes: BTreeSet<String> = rust()
            .iter()
            .filter(|(path, _)| path.starts_with(service) && !path.contains("test"))
            .filter(|(_, text)| {
                code(text).any(|(_, line)| constructors.iter().any(|name| line.contains(name)))
            })
            .map(|(path, _)| path.clone())
            .collect();
        assert!(homes.len() <= 1, "{service} builds statuses in {homes:?}");
    }
}

/// `policy/build` runs when the crate is built, and may read files.
#[test]
fn policy_is_pure() {
    let modules = ["fs", "env", "net", "process", "time", "thread", "io", "os", "self", "*"];
    let words = ["Instant", "SystemTime", "async fn", "print!", "println!", "eprint!", "eprintln!"];
    let mut found = Vec::new();
    let mut files = 0;
    for (path, text) in rust().iter().filter(|(path, _)| path.starts_with("policy/src/")) {
        files += 1;
        for item in uses::of_std(text).unwrap() {
            if item.split("::").nth(1).is_some_and(|module| modules.contains(&module)) {
                found.push(format!("{path}: {item}"));
            }
        }
        for (number, line) in code(text).filter(|(_, line)| words.iter().any(|word| line.contains(word))) {
            found.push(format!("{path}:{number}: {}", line.trim()));
        }
    }
    assert!(files > 30, "the policy was found: {files}");
    assert_none(&found, "policy does no I/O and reads no clock");
}

/// Returns the dependencies of each package of the workspace, from `cargo metadata`.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(source::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let names: BTreeMap<String, String> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (text(&package["id"]), text(&package["name"])))
        .collect();
    let direct: BTreeMap<String, Vec<String>> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            let normal =
                node["deps"].as_array().unwrap().iter().filter(|dep| {
                    dep["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null())
                });
            (text(&node["id"]), normal.map(|dep| text(&dep["pkg"])).collect())
        })
        .collect();
    let mut all = BTreeMap::new();
    for member in metadata["workspace_members"].as_array().unwrap() {
        let (mut seen, mut open) = (BTreeSet::new(), vec![text(member)]);
        while let Some(id) = open.pop() {
            open.extend(direct[&id].iter().filter(|next| seen.insert((*next).clone())).cloned());
        }
        let seen = seen.iter().map(|id| names[id].clone()).collect();
        all.insert(names[&text(member)].clone(), seen);
    }
    all
}

#[test]
fn crates_depend_only_on_permitted_crates() {
    let all = dependencies();
    let heavy = ["tokio", "tonic", "hyper", "prost", "sqlx", "rustls", "opentelemetry", "object_store"];
    let forbidden: [(&str, &[&str]); 29] = [
        ("airlock-escape", &heavy),
        ("airlock-escape", &["nix", "rustix", "airlock-policy", "airlock-proto", "airlock-cli"]),
        ("airlock-policy", &heavy),
        ("airlock-policy", &["nix", "rustix", "cap-std", "tempfile", "airlock-proto", "airlock-sandbox"]),
        (
            "airlock-policy",
            &["mio", "socket2", "h2", "async-std", "smol", "futures-core", "reqwest", "chrono"],
        ),
        ("airlock-faults", &heavy),
        ("airlock-sandbox", &heavy),
        ("airlock-sandbox", &["airlock-proto", "airlock-policy"]),
        ("airlock-init", &heavy),
        ("airlock-archive", &heavy),
        ("airlock-archive", &["airlock-proto", "airlock-policy", "airlock-sandbox", "airlock-server"]),
        ("airlock-domain", &heavy),
        ("airlock-domain", &["airlock-proto", "airlock-policy"]),
        ("airlock-lifecycle", &heavy),
        ("airlock-lifecycle", &["airlock-proto", "airlock-policy", "airlock-server"]),
        ("airlock-proto", &["airlock-policy", "airlock-sandbox", "airlock-server", "airlock-runner"]),
        (
            "airlock-store",
            &["airlock-policy", "airlock-server", "airlock-config", "airlock-telemetry", "object_store"],
        ),
        ("airlock-limits", &["airlock-domain", "tonic", "hyper", "prost", "sqlx", "rustls", "opentelemetry"]),
        ("airlock-control", &["airlock-server", "airlock-telemetry", "opentelemetry", "tonic-health"]),
        ("airlock-hooks", &["airlock-server", "airlock-client", "airlock-telemetry", "opentelemetry"]),
        (
            "airlock-output",
            &["airlock-policy", "airlock-control", "airlock-server", "airlock-config", "airlock-telemetry"],
        ),
        ("airlock-client", &["airlock-server", "airlock-runner", "airlock-sandbox", "airlock-policy"]),
        ("airlock-client", &["airlock-cli", "airlock-embedded", "sqlx", "object_store"]),
        ("airlock-mcp", &["airlock-server", "airlock-runner", "airlock-sandbox", "airlock-policy"]),
        ("airlock-mcp", &["airlock-cli", "airlock-embedded", "reqwest"]),
        ("airlock-e2b", &["airlock-server", "airlock-runner", "airlock-sandbox", "airlock-policy"]),
        ("airlock-cli", &["airlock-e2b"]),
        ("airlock-server", &["airlock-sandbox", "airlock-runner", "airlock-client", "airlock-cli"]),
        (
            "airlock-runner",
            &["airlock-policy", "airlock-server", "airlock-client", "airlock-cli", "sqlx", "object_store"],
        ),
    ];
    let crossed: Vec<String> = forbidden
        .iter()
        .flat_map(|(package, names)| names.iter().map(move |name| (*package, *name)))
        .filter(|(package, name)| all[*package].contains(*name))
        .map(|(package, name)| format!("{package} depends on {name}"))
        .collect();
    assert_none(&crossed, "these borders hold");
}

/// `airlock-proto` depends on tonic, so the check of all dependencies does not cover this rule.
#[test]
fn crates_below_the_server_cannot_use_grpc() {
    for path in ["server/lifecycle", "server/limits", "server/store", "server/output", "server/control"] {
        let manifest = std::fs::read_to_string(source::root().join(path).join("Cargo.toml")).unwrap();
        let named = manifest.lines().filter(|line| line.starts_with("tonic")).count();
        assert_eq!(named, 0, "{path} depends on tonic");
    }
}

#[test]
fn links_in_the_documentation_lead_somewhere() {
    let mut broken = Vec::new();
    let mut links = 0;
    for (path, text) in source::texts("md").unwrap() {
        let directory = path.parent().unwrap_or(Path::new(""));
        for target in link_targets(&text) {
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { path.clone() } else { directory.join(file) };
            let full = source::root().join(&file);
            let holds = full.exists()
                && (anchor.is_empty()
                    || std::fs::read_to_string(&full).is_ok_and(|text| has_heading(&text, anchor)));
            if !holds {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(links > 10, "links were found");
    assert_none(&broken, "every link leads somewhere");
}

/// Returns the relative targets of `[text](target)` outside code blocks.
fn link_targets(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut targets = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

fn has_heading(text: &str, anchor: &str) -> bool {
    text.lines().filter(|line| line.starts_with('#')).any(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let slug: String = title
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        slug == anchor
    })
}
