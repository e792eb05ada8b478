//! Tests of loading profiles: inheritance, and the message for each mistake.

mod hooks;

use std::time::Duration;

use airlock_config::Overrides;
use airlock_domain::{Bind, Inspection, NetworkRules, PortRange};

use super::*;

fn load(files: &[(&str, &str)]) -> Result<Profiles, ProfilesError> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    Profiles::load_with(&hooks::settings(), Some(folder.path()))
}

fn error(text: &str) -> String {
    let error = load(&[("mine.toml", text)]).expect_err("must not load").to_string();
    let at = error.find("mine.toml").expect("the file is named");
    error[at..].to_owned()
}

#[test]
fn the_built_in_ones_are_there_without_a_folder() {
    let profiles = Profiles::load(None).expect("profiles");
    assert_eq!(profiles.names().collect::<Vec<_>>(), ["agent", "demo", "read_only", "sandboxed", "strict"]);
    let strict = profiles.get("strict").expect("strict");
    assert_eq!(strict.timeout_max, Duration::from_secs(1800));
    assert!(!strict.self_approval);
    assert_eq!(profiles.longest_grace(), Duration::from_secs(5));
}

#[test]
fn self_approval_of_the_built_in_ones_is_inherited_and_can_be_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("a.toml", "name = \"a\"\nextends = \"strict\"\n");
    write("b.toml", "name = \"b\"\nextends = \"strict\"\n[approvals]\nself_approval = false\n");
    let profiles = Profiles::load_with(
        &BuiltInSettings { self_approval: true, ..BuiltInSettings::default() },
        Some(folder.path()),
    )
    .expect("profiles");
    let allowed = |name: &str| profiles.get(name).expect(name).self_approval;
    assert!(allowed("strict") && allowed("demo") && allowed("a") && !allowed("b"));
}

#[test]
fn what_an_embedded_server_shows_of_the_host_is_inherited_from_the_built_in_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let file =
        "name = \"a\"\nextends = \"strict\"\n[limits]\ntimeout_max = \"30s\"\ntimeout_default = \"10s\"\n";
    std::fs::write(folder.path().join("a.toml"), file).expect("a file");
    let bind = Bind { source: "/srv/tools".to_owned(), target: "/opt/tools".to_owned() };
    let settings = BuiltInSettings {
        self_approval: false,
        rootfs: Some("/srv/root".to_owned()),
        root_binds: vec![bind.clone()],
        network: NetworkRules { allow: vec!["pypi".to_owned()], ..NetworkRules::default() },
        port_forward: vec![PortRange::ALL],
        timeout_max: Some(Duration::from_secs(60)),
        hooks: Vec::new(),
    };
    let profiles = Profiles::load_with(&settings, Some(folder.path())).expect("profiles");
    for (name, longest) in [("strict", 60), ("sandboxed", 60), ("a", 30)] {
        let profile = profiles.get(name).expect(name);
        assert_eq!(profile.sandbox.rootfs.as_deref(), Some("/srv/root"), "{name}");
        assert_eq!(profile.sandbox.root_binds, std::slice::from_ref(&bind), "{name}");
        assert_eq!(profile.timeout_max, Duration::from_secs(longest), "{name}");
        assert!(profile.command.timeout <= profile.timeout_max, "{name}");
        assert!(profile.network.allow_nothing(), "{name}");
        assert_eq!(profile.port_forward, [], "{name}");
    }
    let agent = profiles.get("agent").expect("agent");
    assert_eq!((&*agent.network, &agent.port_forward), (&settings.network, &settings.port_forward));
    assert!(agent.network.parsed().is_some());
}

#[test]
fn forwarded_ports_are_inherited_and_replaced() {
    let profiles = load(&[
        ("base.toml", "name = \"base\"\nport_forward = [\"8000\", \"3000-3999\"]\n"),
        ("same.toml", "name = \"same\"\nextends = \"base\"\n"),
        ("other.toml", "name = \"other\"\nextends = \"base\"\nport_forward = [\"80\"]\n"),
        ("none.toml", "name = \"none\"\nextends = \"base\"\nport_forward = []\n"),
    ])
    .expect("profiles");
    for (name, ports) in
        [("same", vec!["8000", "3000-3999"]), ("other", vec!["80"]), ("none", vec![]), ("agent", vec![])]
    {
        let found = &profiles.get(name).expect(name).port_forward;
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), ports, "{name}");
    }
    for bad in ["\"0\"", "\"http\"", "\"65536\"", "8000", "\"9-8\""] {
        let text = format!("name = \"bad\"\nport_forward = [{bad}]\n");
        let error = load(&[("bad.toml", &text)]).expect_err(bad).to_string();
        assert!(error.contains("port_forward") || error.contains("must be a port"), "{bad}: {error}");
    }
}

#[test]
fn a_profile_inherits_policy_and_sandbox_along_the_whole_chain() {
    let profiles = load(&[
        (
            "base.toml",
            "name = \"base\"\nextends = \"sandboxed\"\n[sandbox]\nroot_binds = [{ source = \"/opt/tools\" }]\npath = \"/opt/tools:/usr/bin\"\n[env]\nset = { CI = \"1\", A = \"base\" }\n[limits]\ngrace = \"9s\"\nprocesses = 12\n",
        ),
        (
            "app.toml",
            "name = \"app\"\nextends = \"base\"\n[policy]\ndeny = [\"Bash(git push:*)\"]\n[sandbox]\nroot_binds = [{ source = \"/opt/new\", target = \"/opt/tools\" }]\n[env]\nset = { A = \"app\" }\nallowed = [\"NODE_OPTIONS\"]\n[approvals]\nself_approval = true\nvalid_for = \"1h\"\n",
        ),
        ("notes.txt", "not a profile"),
    ])
    .expect("profiles");
    let app = profiles.get("app").expect("app");
    assert!(app.policy.auto_allow(), "the policy of `sandboxed` is inherited");
    assert_eq!(app.sandbox.name, "app");
    assert_eq!(app.sandbox.path, "/opt/tools:/usr/bin");
    assert_eq!(app.sandbox.limits.processes, 12);
    assert_eq!(app.sandbox.env["CI"], b"1");
    assert_eq!(app.sandbox.env["A"], b"app");
    assert_eq!(app.sandbox.allowed_env, ["NODE_OPTIONS"]);
    let [bind] = app.sandbox.root_binds.as_slice() else { panic!("one bind") };
    assert_eq!((bind.source.as_str(), bind.target.as_str()), ("/opt/new", "/opt/tools"));
    assert!(app.self_approval);
    assert_eq!(app.approval_valid, Some(Duration::from_secs(3600)));
    assert_eq!(profiles.longest_grace(), Duration::from_secs(9));
}

#[test]
fn a_readable_root_is_shown_at_its_own_place_unless_it_is_shown_already() {
    let text = |name: &str, more: &str| {
        let roots = "[\"/srv/cache\", \"/opt/tools/lib\", \"/usr/share/doc\"]";
        format!(
            "name = \"{name}\"\n[policy]\nreadable_roots = {roots}\n[sandbox]\nroot_binds = [{{ source = \"/opt/new\", \
             target = \"/opt/tools\" }}]\n{more}"
        )
    };
    let plain = text("plain", "");
    let rooted = text("rooted", "rootfs = \"/opt/root\"\n");
    let profiles =
        load(&[("plain.toml", plain.as_str()), ("rooted.toml", rooted.as_str())]).expect("both load");
    let shown = |name: &str| {
        let binds = &profiles.get(name).expect("is loaded").sandbox.root_binds;
        binds.iter().map(|bind| (bind.source.clone(), bind.target.clone())).collect::<Vec<_>>()
    };
    let pair = |source: &str, target: &str| (source.to_owned(), target.to_owned());
    let tools = pair("/opt/new", "/opt/tools");
    assert_eq!(shown("plain"), [tools.clone(), pair("/srv/cache", "/srv/cache")]);
    assert_eq!(shown("rooted"), [tools]);
}

/// Every key of a profile.
const FULL: &str = r#"name = "mine"
extends = "strict"
description = "all of it"
secrets = ["DEPLOY_TOKEN"]
network = { any = false, allow = ["pypi", "example.com"], deny = ["files.example.com"], inspect = ["GET example.com/a"], secrets = ["TOKEN"], warn = true }
port_forward = ["8000", "3000-3999"]
hooks = [{ name = "guard", required = true }]
[policy]
modes = ["default", "plan"]
default_mode = "default"
allow = ["Bash(make)"]
ask = ["Bash(git commit:*)"]
deny = ["Bash(git push:*)"]
auto_allow_if_sandboxed = false
allow_confined = false
allow_unsandboxed = false
unsandboxed_without_asking = false
excluded_commands = ["docker"]
additional_directories = ["/opt/data"]
readable_roots = ["/opt/cache"]
[policy.shadow]
allow = []
ask = []
deny = ["Bash(curl:*)"]
[policy.powershell]
deny_download_and_execute = true
deny_irreversible_destruction = true
deny_persistence = true
deny_elevation = true
[[policy.test]]
command = "git push"
expect = "deny"
reason = "deny_rule"
mode = "default"
cwd = "/workspace"
[sandbox]
root_binds = [{ source = "/opt/new", target = "/opt/tools" }]
path = "/opt/tools:/usr/bin"
rootfs = "/opt/root"
deny_read = ["secrets/**"]
allow_read = ["secrets/public"]
allow_write = ["src/**"]
deny_write = ["src/generated"]
unix_sockets = "on"
netlink_route = false
allowed_unix_sockets = ["/run/x.sock"]
[protect]
action = "quarantine"
git_writes = true
git_config = false
names = ["deploy.yaml"]
[env]
set = { CI = "1" }
allowed = ["NODE_OPTIONS"]
pass = ["HTTP_PROXY"]
[commands]
background = true
umask = "027"
foreground_sleep = "allow"
[limits]
open_files = 100
processes = 100
file_size = 1000000
output_bytes = 1000000
inline_bytes = 1000
private_tmp_bytes = 1000000
memory_bytes = 1000000
cpu_millis = 1000
grace = "5s"
timeout_default = "1m"
timeout_max = "2m"
[approvals]
self_approval = true
valid_for = "1h"
connection_wait = "90s"
remember = "tenant"
[shell]
name = "bash"
init = "alias ll='ls -l'"
prefix = ["/usr/bin/nice", "-n5"]
"#;

#[test]
fn every_key_of_a_profile_has_its_cases_and_each_is_told_with_place_and_cure() {
    load(&[("mine.toml", FULL)]).expect("it is right");
    let refuse = |text: &str, _: &Overrides| load(&[("mine.toml", text)]).err().map(|error| named(&error));
    let told = airlock_config::cases::assert_told(FULL, "mine.toml", (parse::schema(), None), refuse);
    assert!(told.len() > 120, "{}", told.len());
}

/// Returns the lines of an error, each from the name of the file on.
fn named(error: &ProfilesError) -> String {
    let text = error.to_string();
    let lines = text.lines().filter_map(|line| line.find("mine.toml").and_then(|at| line.get(at..)));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The keys of `[policy]` are compared with those of the policy's own parser.
#[test]
fn the_schema_knows_what_the_types_know() {
    let keys = |table: &str| {
        let pointer = format!("/properties/policy/properties{table}");
        let keys = parse::schema().json().pointer(&pointer).and_then(|keys| keys.as_object()).unwrap();
        keys.keys().cloned().collect::<Vec<_>>()
    };
    for (heading, table) in [
        ("[policy]", ""),
        ("[policy.shadow]", "/shadow/properties"),
        ("[policy.powershell]", "/powershell/properties"),
        ("[[policy.test]]", "/test/items/properties"),
    ] {
        let text = format!("name = \"mine\"\n{heading}\nunknown_key = 1\n");
        let error = airlock_policy::Profile::from_toml(&text, "mine.toml", &|_| None).err().unwrap();
        let said = error.problems.iter().find(|problem| problem.what.contains("unknown_key")).unwrap();
        let (_, known) = said.what.split_once("expected ").unwrap();
        let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        known.sort_unstable();
        assert_eq!(known, keys(table), "{heading}");
    }
}

#[test]
fn every_mistake_names_file_place_key_and_cure() {
    let cases = [
        (
            "name = \"mine\"\n[sandbox]\nrot_binds = []\n",
            "3:1: `sandbox.rot_binds`: there is no such key; did you mean `root_binds`?",
        ),
        (
            "name = \"mine\"\n[shell]\ninit = \"a\\u0000\"\n",
            "3:1: `shell.init`: it is longer than 65536 bytes, or has a NUL byte; move",
        ),
        ("name = \"mine\"\nzsh = \"zsh\"\n", "2:1: `zsh`: there is no such key; write one of `approvals`"),
        (
            "name = \"mine\"\n[shell]\nprefix = [\"nice\"]\n",
            "3:11: `shell.prefix[0]`: its first word is not an absolute path; write the absolute path",
        ),
        ("name = \"other\"\n", "1:1: `name`: the file `mine.toml` defines the profile `other`; use"),
        (
            "name = \"mine\"\nextends = \"nowhere\"\n",
            "2:1: `extends`: the profile `nowhere` is not loaded; name",
        ),
        (
            "name = \"mine\"\n[sandbox]\nroot_binds = [{ source = \"/a/../etc\" }]\n",
            "3:26: `sandbox.root_binds[0].source`: it is the text `/a/../etc`; write an absolute path",
        ),
        ("name = \"mine\"\n[env]\nset = { \"A B\" = \"1\" }\n", "3:9: `env.set.A B`: `A B` is not the name"),
        ("name = \"mine\"\n[env]\nset = { A = \"\\u0000\" }\n", "3:9: `env.set.A`: the value has a NUL byte"),
        ("name = \"mine\"\n[env]\nallowed = [\"1A\"]\n", "3:12: `env.allowed[0]`: `1A` is not the name"),
        (
            "name = \"mine\"\n[limits]\ntimeout_default = \"2h\"\n",
            "3:1: `limits.timeout_default`: `timeout_default` is longer",
        ),
        ("name = \"mine\"\n[policy]\ndeny = [\"Bash(\"]\n", "3:9: `policy.deny[0]`: "),
        (
            "name = \"mine\"\n[policy]\nmodes = [\"plan\"]\ndefault_mode = \"bypass\"\n",
            "4:1: `policy.default_mode`: the default mode is not one of the permitted modes",
        ),
        (
            "name = \"mine\"\n[[policy.test]]\ncommand = \"rm x\"\nexpect = \"allow\"\n",
            "2:1: `policy.test[0]`: a test case of the profile fails",
        ),
        ("", "1:1: the file is empty; it must contain `name`"),
    ];
    for (text, expected) in cases {
        let said = error(text);
        assert!(said.starts_with(&format!("mine.toml:{expected}")), "{text:?}: {said}");
        assert!(said.contains("; "), "no remedy in {said}");
    }
}

#[test]
fn a_network_is_inherited_or_replaced_and_what_is_denied_stays_denied() {
    let text = |name: &str, parent: &str, network: &str| {
        format!("name = \"{name}\"\nextends = \"{parent}\"\n{network}\n")
    };
    let files = [
        (
            "base.toml",
            text(
                "base",
                "strict",
                "network = { allow = [\"b.example\", \"a.example\"], deny = [\"x.example\"] }",
            ),
        ),
        ("same.toml", text("same", "base", "")),
        ("none.toml", text("none", "base", "network = \"none\"")),
        ("other.toml", text("other", "none", "[network]\nallow = [\"c.example\"]\ndeny = [\"y.example\"]")),
        ("any.toml", text("any", "base", "network.any = true")),
        ("warns.toml", text("warns", "base", "network = { allow = [\"a.example\"], warn = true }")),
        ("warned.toml", text("warned", "warns", "")),
        ("strict_again.toml", text("strict_again", "warns", "network.allow = [\"a.example\"]")),
        ("empty.toml", text("empty", "base", "network = {}")),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let profiles = load(&files).expect("profiles");
    let rules = |any, allow: &[&str], deny: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        NetworkRules { any, allow: owned(allow), deny: owned(deny), ..NetworkRules::default() }
    };
    let warns = NetworkRules { warn: true, ..rules(false, &["a.example"], &["x.example"]) };
    for (name, expected) in [
        ("strict", rules(false, &[], &[])),
        ("agent", rules(false, &[], &[])),
        ("base", rules(false, &["a.example", "b.example"], &["x.example"])),
        ("same", rules(false, &["a.example", "b.example"], &["x.example"])),
        ("none", rules(false, &[], &["x.example"])),
        ("other", rules(false, &["c.example"], &["x.example", "y.example"])),
        ("any", rules(true, &[], &["x.example"])),
        ("warns", warns.clone()),
        ("warned", warns),
        ("strict_again", rules(false, &["a.example"], &["x.example"])),
        ("empty", rules(false, &[], &["x.example"])),
    ] {
        assert_eq!(profiles.get(name).expect(name).network, ProfileNetwork::new(expected), "{name}");
    }
}

#[test]
fn rules_of_the_policy_about_hosts_are_part_of_the_network() {
    let base = "name = \"base\"\nnetwork = { allow = [\"a.example\"] }\n[policy]\nallow = [\"Network(b.example)\"]\n\
                ask = [\"Network(*.c.example)\"]\ndeny = [\"Network(d.example)\"]\n[approvals]\nconnection_wait = \"5s\"\n";
    let same = "name = \"same\"\nextends = \"base\"\nnetwork = { allow = [\"e.example\"] }\n[policy]\ndeny = [\"Network(f.example)\"]\n";
    let none = "name = \"none\"\nextends = \"same\"\nnetwork = \"none\"\n";
    let below = "name = \"below\"\nextends = \"none\"\n";
    let only = "name = \"only\"\n[policy]\nask = [\"Network(a.example:22/tcp)\"]\n";
    let files = [
        ("base.toml", base),
        ("same.toml", same),
        ("none.toml", none),
        ("below.toml", below),
        ("only.toml", only),
    ];
    let profiles = load(&files).expect("profiles");
    let rules = |allow: &[&str], deny: &[&str], ask: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        NetworkRules { allow: owned(allow), deny: owned(deny), ask: owned(ask), ..NetworkRules::default() }
    };
    for (name, expected) in [
        ("base", rules(&["a.example", "b.example"], &["d.example"], &["*.c.example"])),
        ("same", rules(&["b.example", "e.example"], &["d.example", "f.example"], &["*.c.example"])),
        ("none", rules(&[], &["d.example", "f.example"], &[])),
        ("below", rules(&[], &["d.example", "f.example"], &[])),
        ("only", rules(&[], &[], &["a.example:22/tcp"])),
    ] {
        assert_eq!(profiles.get(name).expect(name).network, ProfileNetwork::new(expected), "{name}");
    }
    let wait = |name| profiles.get(name).expect("a profile").connection_wait;
    assert_eq!((wait("below"), wait("only")), (Duration::from_secs(5), Duration::from_secs(60)));
    let long = "name = \"mine\"\n[approvals]\nconnection_wait = \"6m\"\n";
    let error = load(&[("mine.toml", long)]).expect_err("it is too long").to_string();
    assert!(error.contains("`approvals.connection_wait`: "), "{error}");
}

#[test]
fn inspected_hosts_are_inherited_and_secrets_are_replaced_with_the_network() {
    let base = "name = \"base\"\n[network]\nallow = [\"a.example\"]\ninspect = [\"GET a.example/x\"]\n\
                secrets = [\"TOKEN\", \"TOKEN GET a.example/x/y\"]\n";
    let child = "name = \"child\"\nextends = \"base\"\nnetwork = { inspect = [\"b.example\"] }\n";
    let same = "name = \"same\"\nextends = \"base\"\n";
    let profiles =
        load(&[("base.toml", base), ("child.toml", child), ("same.toml", same)]).expect("profiles");
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    let inspection = |requests: &[&str], secrets: &[&str]| Inspection {
        requests: owned(requests),
        secrets: owned(secrets),
    };
    let whole = inspection(&["GET a.example/x"], &["TOKEN", "TOKEN GET a.example/x/y"]);
    for (name, expected) in [
        ("strict", Inspection::default()),
        ("base", whole.clone()),
        ("same", whole),
        ("child", inspection(&["GET a.example/x", "b.example"], &[])),
    ] {
        assert_eq!(profiles.get(name).expect(name).sandbox.inspection, expected, "{name}");
    }
    let wrong = "name = \"mine\"\nnetwork = { inspect = [\"get a.example\", \"a.example\"], secrets = [\"a-b\", \"T \", \"T x/..\"] }\n";
    let error = load(&[("mine.toml", wrong)]).expect_err("three mistakes").to_string();
    assert_eq!(error.lines().count(), 3, "{error}");
    for entry in ["inspect[0]", "secrets[0]", "secrets[2]"] {
        assert!(error.contains(&format!("`network.{entry}`: ")), "{entry}: {error}");
    }
}

#[test]
fn all_wrong_entries_of_a_network_are_told_with_their_place() {
    let text = "name = \"mine\"\nnetwork = { allow = [\"pypi\", \"*\", \"a b\"], deny = [\"-\"] }\n";
    let error = load(&[("mine.toml", text)]).expect_err("three mistakes").to_string();
    assert_eq!(error.lines().count(), 3, "{error}");
    for (place, entry) in [("2:30", "allow[1]"), ("2:35", "allow[2]"), ("2:51", "deny[0]")] {
        let line =
            error.lines().find(|line| line.contains(&format!("mine.toml:{place}: `network.{entry}`: ")));
        assert!(line.is_some_and(|line| line.contains("; ")), "{entry}: {error}");
    }
    let long: String = (0..300).map(|index| format!("\"h{index}.example\",")).collect();
    let text = format!("name = \"mine\"\nnetwork.allow = [{long}]\n");
    let error = load(&[("mine.toml", text.as_str())]).expect_err("too many").to_string();
    assert!(error.contains("a list has 300 entries, at most 256"), "{error}");
}

#[test]
fn all_mistakes_of_a_file_come_at_once() {
    let text = "name = \"mine\"\n[policy]\nallow = [\"Bash(\", \"Bosh(x)\"]\n[env]\nallowed = [\"1\"]\n";
    let error = load(&[("mine.toml", text)]).expect_err("three mistakes").to_string();
    assert_eq!(error.lines().count(), 3, "{error}");
}

#[test]
fn a_circle_of_profiles_is_refused() {
    let error =
        load(&[("a.toml", "name = \"a\"\nextends = \"b\"\n"), ("b.toml", "name = \"b\"\nextends = \"a\"\n")])
            .expect_err("a circle");
    assert!(error.to_string().contains("circular"), "{error}");
}

#[test]
fn a_built_in_name_cannot_be_taken() {
    let error = load(&[("strict.toml", "name = \"strict\"\n")]).expect_err("taken");
    assert!(error.to_string().contains("`strict` is a built-in profile"), "{error}");
}

#[test]
fn every_key_is_in_the_documentation() {
    let page = include_str!("../../../../docs/profiles.md");
    for key in airlock_config::cases::keys(parse::schema()) {
        let name = key.rsplit('.').next().unwrap();
        let is_table = [
            "policy",
            "powershell",
            "shadow",
            "sandbox",
            "protect",
            "env",
            "limits",
            "commands",
            "approvals",
            "shell",
        ];
        let shown = [format!("`{name}`"), format!(".{name}`")];
        assert!(is_table.contains(&name) || shown.iter().any(|shown| page.contains(shown)), "{key}");
    }
}
