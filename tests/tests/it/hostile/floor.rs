//! A server that asks a runner for more than its floor permits, or for a command that differs from the decision. Each
//! offer is refused with a stable reason and does not run. An honest offer still runs.

use std::{os::unix::fs::symlink, time::Duration};

use airlock_domain::{Bind, DecidedPath, Grant, NetworkRules, PathAccess, Requirement, limits};
use airlock_proto::{runner_v1 as wire, runner_v1::connect_response::Message as Down};
use airlock_tests::site::Site;
use serde_json::json;

use crate::hostile::fake_server::{FakeServer, Link, exit_code, grant, marks, refusal, site};

type Change = Box<dyn Fn(&mut Grant)>;

/// A lie with a matching hash: the change, and the reason of the refusal.
fn change(
    what: &'static str,
    reason: &'static str,
    change: impl Fn(&mut Grant) + 'static,
) -> (&'static str, &'static str, Change) {
    (what, reason, Box::new(change))
}

fn bind(source: impl Into<String>, target: &str) -> impl Fn(&mut Grant) + 'static {
    let bind = Bind { source: source.into(), target: target.to_owned() };
    move |grant| grant.profile.root_binds.push(bind.clone())
}

fn env(name: &'static str, value: &'static [u8]) -> impl Fn(&mut Grant) + 'static {
    move |grant| {
        grant.command.env.insert(name.to_owned(), value.to_vec());
    }
}

fn directory(directory: &'static [u8]) -> impl Fn(&mut Grant) + 'static {
    move |grant| grant.command.directory = directory.to_vec()
}

fn binds(site: &Site) -> Vec<(&'static str, &'static str, Change)> {
    let allowed = site.path().join("allowed").display().to_string();
    symlink("/root", site.path().join("allowed/link")).unwrap();
    let below = |rest: &str| format!("{allowed}{rest}");
    let state = site.path().join("runner-1").display().to_string();
    vec![
        change("/etc", "floor", bind("/etc", "/mnt")),
        change("/root", "floor", bind("/root", "/mnt")),
        change("/", "floor", bind("/", "/mnt")),
        change("/usr/../root", "floor", bind("/usr/../root", "/mnt")),
        change("/proc/self/root", "floor", bind("/proc/self/root", "/mnt")),
        change("/etc/shadow", "floor", bind("/etc/shadow", "/mnt/shadow")),
        change("the runner's own state", "floor", bind(state, "/mnt")),
        change("what is not there", "floor", bind(below("/nothing"), "/mnt")),
        change("a link that leads out", "floor", bind(below("/link"), "/mnt")),
        change("a way back up", "floor", bind(below("/../runner-1"), "/mnt")),
        change("a name that begins alike", "floor", bind(below("2"), "/mnt")),
        change("a relative source", "floor", bind("allowed", "/mnt")),
        change("no source", "floor", bind("", "/mnt")),
        change("a NUL in the source", "floor", bind(below("\0"), "/mnt")),
        change("over the workspace", "floor", bind(below(""), "/workspace")),
        change("over /proc", "floor", bind(below(""), "/proc/sys")),
        change("over the root", "floor", bind(below(""), "/")),
        change("over /etc", "floor", bind(below(""), "/etc")),
        change("over HOME", "floor", bind(below(""), "/home/agent")),
        change("over a way to the workspace", "floor", bind(below(""), "/usr/../workspace")),
        change("to nowhere", "floor", bind(below(""), "")),
        change("to a relative place", "floor", bind(below(""), "mnt")),
    ]
}

fn beyond_limits() -> Vec<(&'static str, &'static str, Change)> {
    vec![
        change("outside the sandbox", "floor", |grant| grant.unsandboxed = true),
        change("the runner's environment", "floor", |grant| grant.profile.pass_env = vec!["PATH".to_owned()]),
        change("max_timeout", "floor", |grant| grant.command.timeout = Duration::from_secs(30 * 60 + 1)),
        change("max_timeout, far", "floor", |grant| {
            grant.command.timeout = Duration::from_secs(300_000_000_000);
        }),
        change("max_grace", "floor", |grant| grant.profile.limits.grace = Duration::from_secs(31)),
        change("max_open_files", "floor", |grant| grant.profile.limits.open_files = 65_537),
        change("max_processes", "floor", |grant| grant.profile.limits.processes = u32::MAX),
        change("max_file_bytes", "floor", |grant| grant.profile.limits.file_size = u64::MAX),
        change("max_output_bytes", "floor", |grant| grant.profile.limits.output_bytes = (64 << 20) + 1),
        change("max_private_tmp_bytes", "floor", |grant| grant.profile.limits.private_tmp_bytes = u64::MAX),
    ]
}

fn network(allow: &[&str]) -> NetworkRules {
    let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
    NetworkRules { allow, ..NetworkRules::default() }
}

fn malformed() -> Vec<(&'static str, &'static str, Change)> {
    let many =
        |grant: &mut Grant| grant.command.env.extend((0..257).map(|index| (format!("V{index}"), vec![])));
    let much =
        |grant: &mut Grant| drop(grant.command.env.insert("A".to_owned(), vec![b'x'; limits::ENV_BYTES]));
    vec![
        change("a NUL in the command", "malformed_grant", |grant| grant.command.text.push(0)),
        change("a long command", "malformed_grant", |grant| {
            grant.command.text.resize(limits::COMMAND_BYTES + 1, b' ');
        }),
        change("many variables", "malformed_grant", many),
        change("much environment", "malformed_grant", much),
        change("a NUL in the directory", "malformed_grant", directory(b"/workspace/\0")),
        change("a long directory", "malformed_grant", |grant| grant.command.directory.resize(5000, b'/')),
        change("/etc", "no_such_directory", directory(b"/etc")),
        change("up and out", "no_such_directory", directory(b"/workspace/../../etc")),
        change("as if below", "no_such_directory", directory(b"/workspace//etc")),
        change("alike", "no_such_directory", directory(b"/workspaces")),
        change("a relative directory", "no_such_directory", directory(b"workspace")),
        change("no directory", "no_such_directory", directory(b"")),
        change("what is not there", "no_such_directory", directory(b"/workspace/nothing")),
        change("LD_PRELOAD", "environment", env("LD_PRELOAD", b"/workspace/x.so")),
        change("a function", "environment", env("BASH_FUNC_x%%", b"() { :; }")),
        change("BASH_ENV", "environment", env("BASH_ENV", b"/workspace/env")),
        change("BASH_ENV, allowed", "environment", |grant| {
            env("BASH_ENV", b"/workspace/env")(grant);
            grant.profile.allowed_env = vec!["BASH_ENV".to_owned()];
        }),
        change("a name with =", "environment", env("A=B", b"x")),
        change("no name", "environment", env("", b"x")),
        change("a NUL in a value", "environment", env("A", b"a\0b")),
        change("a profile's variable that is no text", "malformed_grant", |grant| {
            grant.profile.env.insert("A".to_owned(), vec![0xff]);
        }),
        change("writable, though read-only is required", "read_only_mount", |grant| {
            grant.requires = vec![Requirement::ReadOnlyMount];
        }),
        change("a trusted path in the workspace", "untrusted_path", |grant| {
            trusting(b"touch")(grant);
            grant.profile.path = "/workspace/bin:/usr/bin".to_owned();
        }),
        change("a trusted path with the current directory", "untrusted_path", |grant| {
            trusting(b"touch")(grant);
            grant.profile.path = "/usr/sbin::/usr/bin".to_owned();
        }),
        change("a trusted path that the request sets", "untrusted_path", |grant| {
            trusting(b"touch")(grant);
            grant.profile.allowed_env = vec!["PATH".to_owned()];
            env("PATH", b"/tmp")(grant);
        }),
        change("a program of the workspace", "untrusted_path", trusting(b"/workspace/touch")),
        change("a program by a relative path", "untrusted_path", trusting(b"./touch")),
        change("a path of a process", "untrusted_path", |grant| {
            trusting(b"touch")(grant);
            let path = b"/proc/self/cwd/x".to_vec();
            grant.decided.paths = vec![DecidedPath { path, access: PathAccess::Write }];
        }),
        change("a snapshot that is not there", "no_snapshot", |grant| grant.snapshot_digest = vec![7; 32]),
        change("another session", "no_such_session", |grant| {
            grant.session_id = airlock_domain::SessionId::new();
        }),
    ]
}

fn malformed_network() -> Vec<(&'static str, &'static str, Change)> {
    vec![
        change("network for a read-only command", "malformed_grant", |grant| {
            (grant.read_only, grant.egress) = (true, vec![network(&["pypi"])]);
        }),
        change("network rules that are none", "malformed_grant", |grant| {
            grant.egress = vec![network(&["*"])];
        }),
        change("many network rules", "malformed_grant", |grant| {
            grant.egress = vec![network(&["a.example"; limits::NETWORK_ENTRIES + 1])];
        }),
        change("hosts to ask about that are none", "malformed_grant", |grant| {
            grant.egress = vec![NetworkRules { ask: vec!["*".to_owned()], ..network(&["pypi"]) }];
        }),
        change("a long wait for an answer", "malformed_grant", |grant| {
            grant.questions.wait = limits::CONNECTION_WAIT_MAX + Duration::from_secs(1);
        }),
        change("many answered hosts", "malformed_grant", |grant| {
            grant.questions.answered = vec!["a.example:443".to_owned(); limits::NETWORK_ENTRIES + 1];
        }),
        change("many layers of network rules", "malformed_grant", |grant| {
            grant.egress = vec![network(&["pypi"]); limits::NETWORK_LAYERS + 1];
        }),
    ]
}

/// Requires that this program is in a place that commands cannot write.
fn trusting(program: &'static [u8]) -> impl Fn(&mut Grant) {
    move |grant| {
        grant.requires = vec![Requirement::TrustedPath];
        grant.decided.programs = vec![program.to_vec()];
    }
}

/// Offers each lie, and asserts that its command leaves no mark.
async fn are_refused(link: &mut Link, site: &Site, lies: Vec<(&'static str, &'static str, Change)>) {
    let session = link.session().await;
    for (index, (what, reason, change)) in lies.into_iter().enumerate() {
        let mut lie = grant(session, &format!("touch /workspace/lie-{index} ~/lie-{index} #"));
        change(&mut lie);
        let report = link.answer(&link.offer(lie)).await;
        assert_eq!(refusal(&report).as_deref(), Some(reason), "{what}: {report:?}");
        assert_eq!(report.phase(), wire::JobPhase::Refused, "{what}");
        let started = report.result.unwrap().started();
        assert_eq!(started, airlock_proto::v1::Started::No, "{what}");
    }
    assert_eq!(marks(site, "lie-"), 0, "no part of it ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn offers_beyond_the_floor_are_refused() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    are_refused(&mut link, &site, binds(&site)).await;
    are_refused(&mut link, &site, beyond_limits()).await;
    are_refused(&mut link, &site, malformed()).await;
    are_refused(&mut link, &site, malformed_network()).await;
    link.an_honest_job_runs(&site, &runner).await;

    // The control: everything that the floor permits is granted.
    let session = link.session().await;
    std::fs::write(site.path().join("allowed/file"), "shown").unwrap();
    let mut shown = grant(session, "test \"$(cat /mnt/file)\" = shown && ! touch /mnt/new 2>/dev/null");
    bind(site.path().join("allowed").display().to_string(), "/mnt")(&mut shown);
    let report = link.answer(&link.offer(shown)).await;
    assert_eq!(exit_code(&report), Some(0), "control: {report:?}");
}

type Spoil = fn(&mut wire::StartJob);

/// Changes the encoded grant of an offer, but not its hash.
fn spoil(offer: &mut wire::StartJob, path: &str, value: serde_json::Value) {
    let grant = offer.grant.as_mut().unwrap();
    let mut encoded: serde_json::Value = serde_json::from_slice(&grant.encoded).unwrap();
    match encoded.pointer_mut(path) {
        Some(field) => *field = value,
        None => {
            let (outer, name) = path.rsplit_once('/').unwrap();
            encoded.pointer_mut(outer).unwrap()[name] = value;
        }
    }
    grant.encoded = encoded.to_string().into();
}

/// Removes a field of the encoded grant of an offer.
fn remove(offer: &mut wire::StartJob, outer: &str, name: &str) {
    let grant = offer.grant.as_mut().unwrap();
    let mut encoded: serde_json::Value = serde_json::from_slice(&grant.encoded).unwrap();
    let fields = encoded.pointer_mut(outer).and_then(serde_json::Value::as_object_mut).unwrap();
    fields.remove(name).unwrap();
    grant.encoded = encoded.to_string().into();
}

/// Lies about the offer itself: the hash belongs to another grant, or the offer to another time.
fn offers() -> Vec<(&'static str, &'static str, Spoil)> {
    vec![
        ("a hash of zeros", "binding_mismatch", |offer| {
            offer.grant.as_mut().unwrap().binding = vec![0; 32].into();
        }),
        // `touch /workspace/lie-x`
        ("another command", "binding_mismatch", |offer| {
            spoil(offer, "/command/text", json!("dG91Y2ggL3dvcmtzcGFjZS9saWUteA=="));
        }),
        // `/workspace/`
        ("another directory", "binding_mismatch", |offer| {
            spoil(offer, "/command/directory", json!("L3dvcmtzcGFjZS8="));
        }),
        ("another variable", "binding_mismatch", |offer| {
            spoil(offer, "/command/env/A", json!("Yg=="));
        }),
        ("writable after all", "binding_mismatch", |offer| spoil(offer, "/read_only", json!(true))),
        ("outside after all", "binding_mismatch", |offer| spoil(offer, "/unsandboxed", json!(true))),
        ("required after all", "binding_mismatch", |offer| {
            spoil(offer, "/requires", json!(["TRUSTED_PATH"]));
        }),
        ("a bind after all", "binding_mismatch", |offer| {
            spoil(offer, "/profile/root_binds", json!([{"source": "/usr", "target": "/mnt"}]));
        }),
        ("limits after all", "binding_mismatch", |offer| {
            spoil(offer, "/profile/limits/processes", json!(2000));
        }),
        ("another session's hash", "binding_mismatch", |offer| {
            spoil(offer, "/session_id", json!("01900000-0000-7000-8000-000000000000"));
        }),
        ("another epoch", "stale_epoch", |offer| {
            offer.epoch = "11111111-1111-4111-8111-111111111111".to_owned();
        }),
        ("too late", "past_not_after", |offer| offer.not_after_clock_ms = 0),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_something_else_or_of_another_time_is_refused() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    let session = link.session().await;
    for (index, (what, reason, change)) in offers().into_iter().enumerate() {
        let mut offer = link.offer(grant(session, &format!("touch /workspace/lie-{index}")));
        change(&mut offer);
        let report = link.answer(&offer).await;
        assert_eq!(refusal(&report).as_deref(), Some(reason), "{what}: {report:?}");
    }
    assert_eq!(marks(&site, "lie-"), 0, "no part of it ran");
    link.an_honest_job_runs(&site, &runner).await;
}

/// Offers that violate the form of the contract.
fn unreadable() -> Vec<(&'static str, Spoil)> {
    fn of(offer: &mut wire::StartJob) -> &mut wire::Grant {
        offer.grant.as_mut().unwrap()
    }
    vec![
        ("no grant", |offer| offer.grant = None),
        ("an empty grant", |offer| of(offer).encoded = Vec::new().into()),
        ("a grant that is cut", |offer| {
            let encoded = &mut of(offer).encoded;
            encoded.truncate(encoded.len() - 1);
        }),
        ("no profile", |offer| remove(offer, "", "profile")),
        ("no limits", |offer| remove(offer, "/profile", "limits")),
        ("no timeout", |offer| remove(offer, "/command", "timeout")),
        ("a negative timeout", |offer| spoil(offer, "/command/timeout/secs", json!(-1))),
        ("a short hash", |offer| of(offer).binding = vec![0; 31].into()),
        ("no hash", |offer| of(offer).binding = Vec::new().into()),
        ("an unknown shell", |offer| spoil(offer, "/command/shell", json!("fish"))),
        ("an unknown network", |offer| spoil(offer, "/profile/network", json!("host"))),
        ("an unknown requirement", |offer| spoil(offer, "/requires", json!(["ROOT"]))),
        ("a field of a later version", |offer| spoil(offer, "/command/later", json!(true))),
        ("a session that is none", |offer| spoil(offer, "/session_id", json!("../../etc"))),
        ("an execution that is none", |offer| offer.execution_id = "../../etc/passwd".to_owned()),
        ("an epoch that is none", |offer| offer.epoch = String::new()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_cannot_be_read_runs_nothing_and_holds_up_nothing() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    let session = link.session().await;
    for (index, (what, change)) in unreadable().into_iter().enumerate() {
        let mut offer = link.offer(grant(session, &format!("touch /workspace/lie-{index}")));
        change(&mut offer);
        link.say(Down::StartJob(offer.clone())).await;
        // The next offer on the same link is answered; before that, at most a refusal of this offer
        // was reported.
        let next = link.offer(grant(session, "true"));
        link.say(Down::StartJob(next.clone())).await;
        let accepted = link
            .until(|message| match message {
                wire::connect_request::Message::Job(report) if report.execution_id == next.execution_id => {
                    Some(report.phase() != wire::JobPhase::Refused)
                }
                wire::connect_request::Message::Job(report) if report.execution_id == offer.execution_id => {
                    (report.phase() != wire::JobPhase::Refused).then_some(false)
                }
                _ => None,
            })
            .await;
        assert!(accepted, "{what}");
        link.end(&next.execution_id).await;
    }
    assert_eq!(marks(&site, "lie-"), 0, "no part of it ran");
    link.an_honest_job_runs(&site, &runner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_grant_that_requires_nothing_is_read_only_all_the_same() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    let session = link.session().await;
    let command = "touch /workspace/lie-1 ~/lie-2 /tmp/lie-3; test $? != 0";
    let narrowed = Grant { read_only: true, ..grant(session, command) };
    let report = link.answer(&link.offer(narrowed)).await;
    assert_eq!(exit_code(&report), Some(0), "{report:?}");
    assert_eq!(marks(&site, "lie-"), 0, "no file was written");
    let control = link.answer(&link.offer(grant(session, command))).await;
    assert_eq!((exit_code(&control), marks(&site, "lie-")), (Some(1), 3), "control: otherwise it writes");
    link.an_honest_job_runs(&site, &runner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_of_nothing_at_all_end_and_break_nothing() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    let session = link.session().await;
    let none = |change: fn(&mut Grant)| {
        let mut grant = grant(session, "echo some output; echo more >&2");
        change(&mut grant);
        grant
    };
    for grant in [
        none(|grant| grant.command.timeout = Duration::ZERO),
        none(|grant| grant.profile.limits.grace = Duration::ZERO),
        none(|grant| grant.profile.limits.output_bytes = 0),
        none(|grant| grant.profile.limits.output_bytes = 1),
        none(|grant| grant.profile.limits.open_files = 0),
        none(|grant| grant.profile.limits.processes = 0),
        none(|grant| grant.profile.limits.file_size = 0),
        none(|grant| grant.profile.limits.private_tmp_bytes = 0),
        none(|grant| grant.command.text.clear()),
        none(|grant| grant.profile.path = "\0".to_owned()),
        none(|grant| drop(grant.profile.env.insert("A=B".to_owned(), b"x".to_vec()))),
        none(|grant| drop(grant.profile.env.insert(String::new(), b"\0".to_vec()))),
        none(|grant| grant.profile.name = "../".repeat(1000)),
        none(|grant| grant.command.shell = airlock_domain::Shell::Pwsh),
        none(|grant| grant.profile.allowed_env = vec!["\0".to_owned(); 1000]),
    ] {
        let report = link.answer(&link.offer(grant)).await;
        assert!(report.result.is_some(), "it has an outcome: {report:?}");
        crate::hostile::fixture::no_panic("runner", &runner);
    }
    link.an_honest_job_runs(&site, &runner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_offer_runs_twice() {
    let site = site();
    let mut server = FakeServer::new(&site);
    let runner = site.runner(&[]);
    let mut link = server.linked().await;
    let session = link.session().await;
    let offer = link.offer(grant(session, "echo ran >> /workspace/times; sleep 0.2"));
    for _ in 0..5 {
        link.say(Down::StartJob(offer.clone())).await;
    }
    assert_eq!(exit_code(&link.end(&offer.execution_id).await), Some(0));
    let again = link.answer(&offer).await;
    assert_eq!(exit_code(&again), Some(0), "a repeated offer is answered by the journal: {again:?}");
    let next = wire::StartJob { attempt: 2, ..offer.clone() };
    assert_eq!(refusal(&link.answer(&next).await).as_deref(), Some("already_accepted"));
    let forget = wire::ForgetJob { execution_id: offer.execution_id.clone() };
    link.say(Down::ForgetJob(forget)).await;
    for offer in [&offer, &next] {
        assert_eq!(
            refusal(&link.answer(offer).await).as_deref(),
            Some("already_accepted"),
            "forgotten, but the entry stays final"
        );
    }
    let count = link.answer(&link.offer(grant(session, "test $(wc -l < /workspace/times) = 1"))).await;
    assert_eq!(exit_code(&count), Some(0), "it ran once: {count:?}");
    link.an_honest_job_runs(&site, &runner).await;
}
