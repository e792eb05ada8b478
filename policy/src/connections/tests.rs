//! Tests of the connections of commands, and of the warnings about them.

use airlock_network::{Layer, LayerName, Layers, Rules, presets};

use crate::{Decision, Mode, Profile, Request, Verdict, decide};

fn layers(profile: &[&str], session: Option<&[&str]>) -> Layers {
    let layer = |name, allow: &[&str]| {
        let allow: Vec<String> = allow.iter().map(|entry| (*entry).to_owned()).collect();
        Layer { name, rules: Rules::parse(false, &allow, &[]).unwrap() }
    };
    let profile = layer(LayerName::Profile, profile);
    Layers::new(
        std::iter::once(profile).chain(session.map(|allow| layer(LayerName::Session, allow))).collect(),
    )
}

fn with(command: &str, layers: Option<&Layers>) -> Decision {
    let profile = Profile::builtin("agent").unwrap();
    decide(&Request { network: layers, ..Request::bash(command.as_bytes()) }, &profile)
}

/// Returns the codes and messages of the warnings about connections.
fn warnings(command: &str, layers: &Layers) -> Vec<(&'static str, String)> {
    let decision = with(command, Some(layers));
    let about = ["no_network", "network_refused", "no_proxy", "needs_network"];
    let warnings = decision.warnings.into_iter().filter(|warning| about.contains(&warning.code));
    warnings.map(|warning| (warning.code, warning.message)).collect()
}

/// Returns each program with its hosts and presets.
fn uses(command: &str) -> Vec<String> {
    let uses = with(command, None).network.into_iter();
    uses.map(|one| format!("{} {} {}", one.program, one.hosts.join(","), one.presets.join(","))).collect()
}

#[test]
fn the_hosts_that_words_name_are_found() {
    for (command, expected) in [
        ("curl -sSfLo out https://example.com/x", "curl example.com:443 "),
        ("curl -H 'Host: other.example' http://EXAMPLE.com.:8080/a?b", "curl example.com:8080 "),
        ("curl --max-time 5 example.com/path", "curl example.com:80 "),
        ("curl -x proxy.example:80 https://user:secret@[2001:db8::1]:444/", "curl [2001:db8::1]:444 "),
        ("curl https://a.example https://b.example", "curl a.example:443,b.example:443 "),
        ("curl 0x7f.1.2.3", ""),
        ("curl \"$URL\"", "curl  "),
        ("wget -qO- https://example.com/x", "wget example.com:443 "),
        ("git clone --depth 1 https://github.com/a/b /tmp/b", "git clone github.com:443 "),
        ("git -C x clone git@github.com:a/b.git", "git clone github.com:22 "),
        ("git clone ssh://git@git.example:2222/a", "git clone git.example:2222 "),
        ("git ls-remote https://git.example/x", "git ls-remote git.example:443 "),
        ("git fetch origin main", "git fetch  "),
        ("git archive --remote=https://git.example/x HEAD", "git archive git.example:443 "),
        ("timeout 5 ssh -p 2222 -i key me@host.example ls", "ssh host.example:2222 "),
        ("ssh alias uptime", "ssh  "),
        ("scp -P 2222 a.txt me@host.example:/b", "scp host.example:22 "),
        ("psql -h db.example -p 6432 -c 'select 1'", "psql db.example:6432 "),
        ("psql postgresql://u:p@db.example/x", "psql db.example:5432 "),
        ("nc -w 3 host.example 25", "nc host.example:25 "),
        ("pip install requests", "pip install  pypi"),
        ("python3 -m pip install requests", "pip install  pypi"),
        ("pip3 --quiet download x", "pip3 download  pypi"),
        ("npm ci", "npm ci  npm"),
        ("cargo fetch", "cargo fetch  crates"),
        ("cargo build --release", "cargo build  crates"),
        ("apt-get -y install jq", "apt-get install  debian"),
        ("gh pr view 1", "gh  github-api,github"),
        ("kubectl get pods", "kubectl  "),
        ("aws s3 ls", "aws  "),
        ("docker pull debian", "docker pull  docker"),
        ("x=$(curl -s https://example.com)", "curl example.com:443 "),
        ("find . -exec wget https://example.com/{} \\;", "wget example.com:443 "),
    ] {
        assert_eq!(uses(command).join(";"), expected, "{command}");
    }
}

#[test]
fn commands_that_stay_on_this_host_need_no_network() {
    for command in [
        "curl http://localhost:8000/health",
        "curl -s 127.0.0.1:3000",
        "curl http://[::1]:80/",
        "wget http://app.localhost/",
        "curl --unix-socket /run/x.sock http://x/",
        "curl --help",
        "curl --version",
        "pip install --no-index --find-links=wheels x",
        "pip list",
        "npm ls",
        "npm install --offline",
        "cargo build --offline",
        "git status",
        "git commit -m 'see https://example.com'",
        "git archive HEAD",
        "gh config list",
        "kubectl config view",
        "helm template x",
        "psql -c 'select 1'",
        "scp a b",
        "rsync -a a/ b/",
        "ssh -V",
        "echo curl https://example.com",
        "grep https://example.com log",
    ] {
        assert_eq!(uses(command), [""; 0], "{command}");
    }
}

#[test]
fn a_command_without_a_network_is_reported_with_the_layer_and_the_remedy() {
    let none = layers(&[], None);
    let expect = |command, code, message: &str| {
        assert_eq!(warnings(command, &none), [(code, message.to_owned())], "{command}");
    };
    expect(
        "pip install requests",
        "no_network",
        "`pip install` usually needs a network, and the profile allows none; add \"pypi\" to `network.allow` of the \
         profile",
    );
    expect(
        "kubectl get pods",
        "no_network",
        "`kubectl` usually needs a network, and the profile allows none; add its hosts to `network.allow` of the profile",
    );
    expect(
        "curl https://example.com/secret-path?token=x",
        "network_refused",
        "`curl` will fail: `example.com:443` is not allowed by the profile; add \"example.com\" to `network.allow` of \
         the profile",
    );
    expect(
        "ping -c 1 example.com",
        "no_proxy",
        "`ping` reaches no other host: the sandbox has no route, and the program uses no proxy",
    );
    let session = layers(&["pypi"], Some(&[]));
    let [(code, message)] = warnings("pip install requests", &session).try_into().unwrap();
    assert_eq!(code, "no_network");
    assert!(
        message.contains("the session allows none; add \"pypi\" to the session's own network list"),
        "{message}"
    );
}

#[test]
fn a_host_that_a_list_refuses_is_reported_and_others_are_not() {
    let some = layers(&["pypi", "*.example.com"], Some(&["a.example.com", "pypi"]));
    for command in [
        "curl https://a.example.com",
        "pip install requests",
        "npm ci",
        "curl \"$URL\"",
        "git fetch origin",
        "cargo build",
        "curl localhost:80",
    ] {
        assert_eq!(warnings(command, &some), [], "{command}");
    }
    let refused = warnings("curl https://b.example.com https://c.example; wget https://c.example", &some);
    let text = refused.iter().map(|(code, message)| format!("{code} {message}\n")).collect::<String>();
    assert_eq!(refused.len(), 3, "{text}");
    assert!(
        text.contains("network_refused `curl` will fail: `b.example.com:443` is not allowed by the session"),
        "{text}"
    );
    assert!(text.contains("`c.example:443` is not allowed by the profile"), "{text}");
    assert_eq!(warnings("cargo build", &layers(&[], None)), [], "it may have everything");
}

#[test]
fn a_warning_changes_no_verdict_and_applies_in_the_sandbox_only() {
    let none = layers(&[], None);
    for command in ["curl https://example.com", "pip install x", "gh pr view 1", "dig x.example"] {
        let (before, after) = (with(command, None), with(command, Some(&none)));
        assert_eq!(
            (before.verdict, before.reasons, before.read_only),
            (after.verdict, after.reasons, after.read_only)
        );
        assert!(!after.read_only, "{command}");
    }
    let outside = Some(crate::Unsandboxed { floor_permits: true });
    let request =
        Request { network: Some(&none), unsandboxed: outside, ..Request::bash(b"curl https://example.com") };
    assert!(decide(&request, &Profile::builtin("agent").unwrap()).warnings.is_empty());
}

#[test]
fn no_command_of_the_table_is_read_only() {
    let strict = Profile::builtin("strict").unwrap();
    for name in crate::tables::networks() {
        for tail in ["", " x", " --help x", " -h db.example", " https://example.com"] {
            let command = format!("{name}{tail}");
            let decision =
                decide(&Request { mode: Some(Mode::Default), ..Request::bash(command.as_bytes()) }, &strict);
            let is_used =
                decision.network.iter().any(|one| one.program != "git archive" && !is_optional(&one.program));
            assert!(!(is_used && decision.read_only), "{command}");
            assert!(!(decision.read_only && decision.verdict != Verdict::Allow), "{command}");
        }
    }
}

fn is_optional(program: &str) -> bool {
    crate::tables::network(&program.split(' ').map(str::as_bytes).collect::<Vec<_>>())
        .is_some_and(|entry| entry.when_missing)
}

#[test]
fn every_preset_of_the_table_exists() {
    let known: Vec<&str> = presets().iter().map(airlock_network::Preset::name).collect();
    for name in crate::tables::networks() {
        let entry = crate::tables::network(&name.split(' ').map(str::as_bytes).collect::<Vec<_>>()).unwrap();
        assert!(entry.presets.iter().all(|preset| known.contains(preset)), "{name}");
    }
}

/// A profile with rules about hosts, in which other commands run without asking.
const RULES: &str = r#"name = "hosts"
extends = "sandboxed"
network = { allow = ["pypi", "a.example"] }
[policy]
allow = ["Network(b.example)"]
ask = ["Network(*.asks.example)", "Network(a.example:8080)"]
deny = ["Network(files.pythonhosted.org)", "Network(no.asks.example)"]
shadow.ask = ["Network(a.example)"]
"#;

fn by_rules(command: &str, mode: Option<Mode>) -> Decision {
    let profile = Profile::from_toml(RULES, "hosts.toml", &|_| None).unwrap();
    let layers = profile.network_layers();
    decide(&Request { network: layers.as_ref(), mode, ..Request::bash(command.as_bytes()) }, &profile)
}

#[test]
fn a_rule_about_a_host_decides_about_commands_that_name_it() {
    for (command, verdict, rule) in [
        ("curl https://x.asks.example/", Verdict::Ask, "Network(*.asks.example)"),
        ("ls; timeout 5 curl -sSf http://X.ASKS.example:81/a", Verdict::Ask, "Network(*.asks.example)"),
        ("git clone git@x.asks.example:a/b.git", Verdict::Ask, "Network(*.asks.example)"),
        ("curl http://a.example:8080", Verdict::Ask, "Network(a.example:8080)"),
        ("curl https://no.asks.example", Verdict::Deny, "Network(no.asks.example)"),
        (
            "curl https://x.asks.example https://files.pythonhosted.org",
            Verdict::Deny,
            "Network(files.pythonhosted.org)",
        ),
    ] {
        let decision = by_rules(command, None);
        let found = decision.reasons.first().unwrap();
        assert_eq!((decision.verdict, found.rule.as_deref()), (verdict, Some(rule)), "{command}: {found:?}");
    }
    for command in [
        "curl https://a.example",
        "curl https://asks.example",
        "curl https://b.example",
        "echo https://x.asks.example",
        "curl \"https://$HOST/\"",
        "make",
    ] {
        assert_eq!(by_rules(command, None).verdict, Verdict::Allow, "{command}");
    }
    let both = by_rules("curl https://x.asks.example; wget http://a.example:8080/x", None);
    let rules: Vec<_> = both.reasons.iter().filter_map(|reason| reason.rule.as_deref()).collect();
    assert_eq!(rules, ["Network(*.asks.example)", "Network(a.example:8080)"], "each host is stated");
    assert_eq!(by_rules("curl https://x.asks.example", Some(Mode::Plan)).verdict, Verdict::Deny);
    let shadow = by_rules("curl https://a.example", None).shadow;
    assert_eq!(shadow.first().map(|hit| hit.rule.as_str()), Some("Network(a.example)"));
}

#[test]
fn rules_about_hosts_do_not_make_other_text_uncertain() {
    // The proxy applies them to every connection, so that text which is not understood needs no question.
    for command in ["bash x.sh", "eval \"$X\"", "pwsh -c 'Invoke-WebRequest https://x'"] {
        let without = decide(&Request::bash(command.as_bytes()), &Profile::builtin("sandboxed").unwrap());
        assert_eq!(by_rules(command, None).verdict, without.verdict, "{command}");
    }
    let profile = Profile::from_toml(RULES, "hosts.toml", &|_| None).unwrap();
    let shell = Request { on_terminal: true, ..Request::bash(b"bash") };
    assert_eq!(decide(&shell, &profile).verdict, Verdict::Allow);
}

#[test]
fn rules_about_hosts_are_part_of_the_network_that_warnings_are_about() {
    let profile = Profile::from_toml(RULES, "hosts.toml", &|_| None).unwrap();
    let layers = profile.network_layers().unwrap();
    for (command, code) in [
        ("curl https://b.example", None),
        ("curl https://x.asks.example", None),
        ("curl https://other.example", Some("network_refused")),
        ("curl https://no.asks.example", Some("network_refused")),
    ] {
        let found = warnings(command, &layers);
        assert_eq!(found.first().map(|(code, _)| *code), code, "{command}: {found:?}");
    }
    let off = "name = \"off\"\nextends = \"hosts\"\nnetwork = \"none\"\n";
    let parent = |_: &str| Some(profile.clone());
    let off = Profile::from_toml(off, "off.toml", &parent).unwrap().network_layers().unwrap();
    assert!(!warnings("curl https://b.example", &off).is_empty(), "`none` wins over rules that allow");
}

#[test]
fn a_profile_that_only_warns_refuses_no_public_host() {
    let warns = "name = \"warns\"\nextends = \"sandboxed\"\nnetwork = { allow = [\"pypi\"], deny = [\"no.example\"], warn = true }\n";
    let profile = Profile::from_toml(warns, "warns.toml", &|_| None).unwrap();
    let layers = profile.network_layers().unwrap();
    assert_eq!(warnings("curl https://other.example", &layers), []);
    for refused in ["curl https://no.example", "curl http://10.0.0.1/"] {
        assert_eq!(
            warnings(refused, &layers).first().map(|(code, _)| *code),
            Some("network_refused"),
            "{refused}"
        );
    }
    // A profile with its own key does not inherit the mode.
    let strict = "name = \"again\"\nextends = \"warns\"\nnetwork.allow = [\"pypi\"]\n";
    let strict = Profile::from_toml(strict, "again.toml", &|_| Some(profile.clone())).unwrap();
    assert!(!warnings("curl https://other.example", &strict.network_layers().unwrap()).is_empty());
}
