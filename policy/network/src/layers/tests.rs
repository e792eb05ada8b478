//! Tests of the decision about a target.

use proptest::prelude::*;

use super::*;

fn rules(any: bool, allow: &[&str], deny: &[&str]) -> Rules {
    let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>();
    Rules::parse(any, &list(allow), &list(deny)).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn layers(layers: &[(LayerName, &[&str], &[&str])]) -> Layers {
    Layers::new(
        layers
            .iter()
            .map(|(name, allow, deny)| Layer { name: *name, rules: rules(false, allow, deny) })
            .collect(),
    )
}

fn target(text: &str) -> Target {
    Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(verdict: Verdict) -> Refusal {
    match verdict {
        Verdict::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn allowed_by(verdict: Verdict) -> String {
    match verdict {
        Verdict::Allowed { rule } => rule,
        other => panic!("{other:?}"),
    }
}

use LayerName::{Floor, Profile, Request, Session};

#[test]
fn without_layers_or_entries_everything_is_refused() {
    for layers in [Layers::default(), layers(&[(Profile, &[], &[])])] {
        for text in ["example.com:443", "1.1.1.1:80", "localhost:80"] {
            let refusal = refusal(layers.decide(&target(text)));
            assert_eq!((refusal.rule, refusal.layer), (None, Profile), "{text}");
        }
    }
}

#[test]
fn every_layer_must_allow() {
    let wide = (Profile, &["example.com", "*.example.org", "pypi"][..], &[][..]);
    let narrow = (Session, &["example.com", "a.example.org"][..], &[][..]);
    let both = layers(&[wide, narrow]);
    for text in ["example.com:443", "a.example.org:443"] {
        assert!(matches!(both.decide(&target(text)), Verdict::Allowed { .. }), "{text}");
    }
    for text in ["b.example.org:443", "pypi.org:443"] {
        assert!(
            matches!(layers(&[wide]).decide(&target(text)), Verdict::Allowed { .. }),
            "the control: {text}"
        );
        let refusal = refusal(both.decide(&target(text)));
        assert_eq!((refusal.rule, refusal.layer), (None, Session), "{text}");
    }
}

#[test]
fn a_denial_in_any_layer_wins() {
    for denying in [Profile, Session, Request, Floor] {
        let stack = |deny: &'static [&'static str]| {
            let layer = |name| (name, &["*.example.com"][..], if name == denying { deny } else { &[] });
            layers(&[Profile, Session, Request, Floor].map(layer))
        };
        let www = target("www.example.com:443");
        assert!(matches!(stack(&[]).decide(&www), Verdict::Allowed { .. }), "the control");
        for deny in [&["www.example.com"][..], &["*.example.com:443"]] {
            let refusal = refusal(stack(deny).decide(&www));
            assert_eq!((refusal.rule.as_deref(), refusal.layer), (deny.first().copied(), denying));
        }
    }
}

#[test]
fn a_refusal_names_the_target_the_rule_and_the_remedy() {
    let cases: &[(Layers, &str, &str)] = &[
        (
            Layers::default(),
            "Example.COM.:443",
            "`example.com:443` is not allowed by the profile; add \"example.com\" to `network.allow` of the profile",
        ),
        (
            layers(&[(Profile, &["example.com"], &[]), (Floor, &[], &[])]),
            "example.com:443",
            "`example.com:443` is not allowed by the floor; add \"example.com\" to `floor.network.allow` in the runner's configuration",
        ),
        (
            layers(&[(Profile, &[], &[]), (Session, &[], &[]), (Request, &[], &[]), (Floor, &[], &[])]),
            "pypi.org:443",
            "`pypi.org:443` is not allowed by the profile; add \"pypi\" or \"pypi.org\" to `network.allow` of the profile and to the \
             session's own network list and to the request's own network list and to `floor.network.allow` in the runner's configuration",
        ),
        (
            layers(&[(Profile, &["github"], &[])]),
            "github.com:22",
            "`github.com:22` is not allowed by the profile; add \"github-ssh\" or \"github.com:22/tcp\" to `network.allow` of the profile",
        ),
        (
            layers(&[(Profile, &["pypi"], &["*.org"]), (Request, &["pypi"], &["pypi"])]),
            "pypi.org:443",
            "`pypi.org:443` is denied by `*.org` of the profile; remove \"*.org\" from `network.deny` of the profile and \"pypi\" from \
             the request's own list of denied hosts",
        ),
        (
            layers(&[(Floor, &[], &["10.0.0.0/8"])]),
            "10.1.1.1:80",
            "`10.1.1.1:80` is denied by `10.0.0.0/8` of the floor; remove \"10.0.0.0/8\" from `floor.network.deny` in the runner's configuration",
        ),
    ];
    for (layers, text, message) in cases {
        assert_eq!(refusal(layers.decide(&target(text))).to_string(), *message);
    }
}

#[test]
fn a_raw_tunnel_needs_it_in_every_layer() {
    let ssh = target("git.example.com:22");
    let raw = (Profile, &["git.example.com:22/tcp"][..], &[][..]);
    let plain = (Floor, &["*.example.com:22"][..], &[][..]);
    let raw_floor = (Floor, &["*.example.com:22/tcp"][..], &[][..]);
    let mixed = layers(&[raw, plain]);
    assert_eq!(allowed_by(mixed.decide(&ssh)), "*.example.com:22", "the rule that allows the least");
    let refused = refusal(mixed.decide_raw(&ssh));
    assert_eq!(refused.layer, Floor);
    assert!(
        refused.remedy.starts_with("add \"git.example.com:22/tcp\" to `floor.network.allow`"),
        "{refused}"
    );
    for both in [layers(&[raw, raw_floor]), layers(&[raw])] {
        assert_eq!(allowed_by(both.decide(&ssh)), "git.example.com:22/tcp");
        assert_eq!(allowed_by(both.decide_raw(&ssh)), "git.example.com:22/tcp");
    }
    let any = Layers::new(vec![Layer { name: Profile, rules: rules(true, &[], &[]) }]);
    assert_eq!(allowed_by(any.decide(&target("example.com:443"))), "any");
    refusal(any.decide_raw(&target("example.com:443")));
}

/// Returns the quoted entries of a remedy.
fn entries(remedy: &str) -> Vec<String> {
    remedy.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn each_remedy_lets_the_target_through() {
    for text in [
        "example.com:443",
        "example.com:80",
        "example.com:8080",
        "example.com:22",
        "localhost:80",
        "pypi:443",
        "any:443",
        "pypi.org:443",
        "github.com:22",
        "deb.debian.org:80",
        "10.0.0.5:443",
        "10.0.0.5:5432",
        "[2001:db8::1]:443",
        "[::1]:22",
        "xn--bcher-kva.example:443",
        "my_service:9000",
        "metadata.google.internal:80",
        "169.254.169.254:80",
    ] {
        for raw in [false, true] {
            let decide = |layers: &Layers| layers.judge(&target(text), raw);
            let remedy = refusal(decide(&Layers::default())).remedy;
            let choices = entries(&remedy);
            assert!(!choices.is_empty(), "{remedy}");
            for choice in &choices {
                let layers = layers(&[(Profile, &[choice], &[])]);
                assert!(matches!(decide(&layers), Verdict::Allowed { .. }), "{text}: {choice}");
            }
        }
    }
}

fn warning(name: LayerName, allow: &[&str], deny: &[&str]) -> Layer {
    Layer { name, rules: rules(false, allow, deny).warning(true) }
}

fn strict(name: LayerName, allow: &[&str]) -> Layer {
    Layer { name, rules: rules(false, allow, &[]) }
}

#[test]
fn a_layer_that_warns_lets_public_hosts_through_that_no_other_layer_refuses() {
    let warns = warning(Profile, &["a.site.example"], &["denied.site.example"]);
    let floor = strict(
        Floor,
        &["*.site.example", "10.0.0.5:5432/tcp", "b.site.example:22/tcp", "c.site.example:22/tcp"],
    );
    let layers = Layers::new(vec![warns.clone(), floor]);
    assert_eq!(allowed_by(layers.decide(&target("a.site.example:443"))), "a.site.example");
    for (text, is_raw) in
        [("b.site.example:443", false), ("b.site.example:80", false), ("b.site.example:22", true)]
    {
        let Verdict::Warned { refusal, raw } = layers.decide(&target(text)) else { panic!("{text}") };
        assert_eq!((refusal.layer, refusal.others, raw), (Profile, vec![], is_raw), "{text}");
        assert!(refusal.remedy.contains("`network.allow` of the profile"), "{}", refusal.remedy);
    }
    for (text, layer) in [
        ("denied.site.example:443", Profile),
        ("other.test:443", Floor),
        ("b.site.example:25", Floor),
        ("10.0.0.5:5432", Profile),
    ] {
        assert_eq!(refusal(layers.decide(&target(text))).layer, layer, "{text}");
    }
    // The control: without the floor, the layer warns about any port of a public host, and about no other.
    let alone = Layers::new(vec![warns]);
    for text in ["other.test:443", "b.site.example:25", "1.1.1.1:22"] {
        assert!(matches!(alone.decide(&target(text)), Verdict::Warned { raw: true, .. }), "{text}");
    }
    for text in
        ["localhost:80", "db.internal:443", "pypi:443", "metadata.goog:80", "10.1.2.3:443", "[::1]:80"]
    {
        assert_eq!(refusal(alone.decide(&target(text))).layer, Profile, "{text}");
    }
}

#[test]
fn a_listed_host_keeps_the_limits_of_its_entry_if_the_layer_warns() {
    let layers = Layers::new(vec![warning(Profile, &["a.example:22"], &[])]);
    assert_eq!(allowed_by(layers.decide(&target("a.example:22"))), "a.example:22");
    assert!(matches!(layers.decide_raw(&target("a.example:22")), Verdict::Refused(_)));
    assert!(matches!(layers.decide_raw(&target("b.example:22")), Verdict::Warned { .. }), "the control");
}

#[test]
fn a_warning_and_a_refusal_name_every_layer_that_causes_them() {
    let target = target("a.example:443");
    let layers = Layers::new(vec![
        warning(Profile, &[], &[]),
        warning(Session, &[], &[]),
        strict(Floor, &["a.example"]),
    ]);
    let Verdict::Warned { refusal: warned, .. } = layers.decide(&target) else { panic!("it warns") };
    assert_eq!((warned.layer, warned.others), (Profile, vec![Session]));
    let layers = Layers::new(vec![strict(Profile, &[]), warning(Session, &[], &[]), strict(Floor, &[])]);
    let refused = refusal(layers.decide(&target));
    assert_eq!((refused.layer, refused.others), (Profile, vec![Floor]));
    assert!(!refused.remedy.contains("session"), "{}", refused.remedy);
}

proptest! {
    /// Another layer, and a denial, never allow more.
    #[test]
    fn layers_only_narrow(
        pools in proptest::collection::vec((proptest::bool::ANY, proptest::bool::ANY, proptest::collection::vec(0..8_usize, 0..4), proptest::collection::vec(0..8_usize, 0..2)), 1..4),
        chosen in 0..8_usize,
    ) {
        const POOL: [&str; 8] = ["example.com", "*.example.com", "www.example.com:443", "pypi", "10.0.0.0/8", "10.0.0.5:5432/tcp", "github-ssh", "pypi.org:443/tcp"];
        const TARGETS: [&str; 8] = ["example.com:443", "www.example.com:443", "pypi.org:443", "10.0.0.5:80", "10.0.0.5:5432", "github.com:22", "other.org:443", "example.com:22"];
        let pick = |numbers: &[usize]| numbers.iter().map(|number| POOL[*number]).collect::<Vec<_>>();
        let all: Vec<Layer> = pools.iter().map(|(warn, any, allow, deny)| Layer { name: Profile, rules: rules(*any, &pick(allow), &pick(deny)).warning(*warn) }).collect();
        let target = target(TARGETS[chosen]);
        let allows = |layers: &[Layer]| matches!(Layers::new(layers.to_vec()).decide(&target), Verdict::Allowed { .. });
        let each = all.iter().all(|layer| allows(std::slice::from_ref(layer)));
        prop_assert_eq!(allows(&all), each, "a connection needs every layer alone");
        let lets = |layers: &[Layer]| !matches!(Layers::new(layers.to_vec()).decide(&target), Verdict::Refused(_));
        prop_assert_eq!(lets(&all), all.iter().all(|layer| lets(std::slice::from_ref(layer))), "a warning needs every layer");
        for (warn, any, allow, _) in &pools {
            let without_denials = Layer { name: Profile, rules: rules(*any, &pick(allow), &[]).warning(*warn) };
            prop_assert!(allows(std::slice::from_ref(&without_denials)) || !each);
            prop_assert!(lets(&[without_denials]) || !lets(&all));
        }
        let layers = Layers::new(all);
        let raw = matches!(layers.decide_raw(&target), Verdict::Allowed { .. });
        let tcp = matches!(layers.decide(&target), Verdict::Allowed { rule } if rule.ends_with("/tcp"));
        prop_assert_eq!(raw, tcp, "the rule shows whether a raw tunnel is allowed");
    }
}

#[test]
fn a_replaced_layer_leaves_the_others_as_they_are() {
    let (a, b) = (target("a.site.example:443"), target("b.site.example:443"));
    let of = |rest: &[&str]| rules(false, rest, &[]);
    let before = layers(&[
        (Profile, &["a.site.example"], &[]),
        (Session, &["b.site.example"], &[]),
        (Request, &["*.site.example"], &[]),
        (Floor, &["*.site.example"], &[]),
    ]);
    assert_eq!(refusal(before.decide(&a)).layer, Session);
    let wider = before.replaced(Session, Some(of(&["*.site.example"])));
    assert_eq!(allowed_by(wider.decide(&a)), "a.site.example");
    assert_eq!(refusal(wider.decide(&b)).layer, Profile);
    assert_eq!(wider.replaced(Session, Some(of(&["b.site.example"]))), before, "the order stays");
    let without = before.replaced(Session, None);
    assert_eq!(allowed_by(without.decide(&a)), "a.site.example");
    assert_eq!(refusal(without.decide(&b)).layer, Profile);
    assert_eq!(without.replaced(Session, Some(of(&["b.site.example"]))), before, "a new layer has its place");
    assert_eq!(refusal(without.replaced(Session, Some(Rules::default())).decide(&a)).layer, Session);
}

fn asking(allow: &[&str], deny: &[&str], ask: &[&str]) -> Rules {
    let ask: Vec<String> = ask.iter().map(|entry| (*entry).to_owned()).collect();
    rules(false, allow, deny).asking(&ask).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn asked_by(verdict: Verdict) -> (String, Verdict) {
    match verdict {
        Verdict::Asked { rule, answered } => (rule, *answered),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ask_rule_wins_over_allow_and_a_deny_rule_over_both() {
    let profile = asking(
        &["pypi", "*.example.com", "open.test"],
        &["no.example.com"],
        &["api.example.com", "*.asks.test:8443", "files.pythonhosted.org", "db.test:5432/tcp"],
    );
    let profile = Layers::new(vec![Layer { name: Profile, rules: profile }]);
    for (text, rule) in [
        ("api.example.com:443", "Network(api.example.com)"),
        ("API.example.com.:22", "Network(api.example.com)"),
        ("x.asks.test:8443", "Network(*.asks.test:8443)"),
        ("files.pythonhosted.org:443", "Network(files.pythonhosted.org)"),
        ("db.test:5432", "Network(db.test:5432/tcp)"),
    ] {
        let (found, answered) = asked_by(profile.decide(&target(text)));
        assert_eq!(found, rule, "{text}");
        assert!(matches!(answered, Verdict::Allowed { .. }), "{text}");
    }
    for text in ["pypi.org:443", "www.example.com:443", "open.test:80"] {
        assert!(matches!(profile.decide(&target(text)), Verdict::Allowed { .. }), "{text}");
    }
    for text in ["no.example.com:443", "x.asks.test:443", "asks.test:8443", "db.test:22", "other.test:443"] {
        refusal(profile.decide(&target(text)));
    }
    let (_, raw) = asked_by(profile.decide_raw(&target("db.test:5432")));
    assert!(matches!(raw, Verdict::Allowed { .. }));
    refusal(profile.decide_raw(&target("x.asks.test:8443")));
}

#[test]
fn a_question_never_exceeds_another_layer() {
    let ask = Layer { name: Profile, rules: asking(&[], &[], &["*.test"]) };
    let floor = |allow: &[&str], deny: &[&str]| Layer { name: Floor, rules: rules(false, allow, deny) };
    let both = Layers::new(vec![ask.clone(), floor(&["a.test", "b.test"], &["b.test"])]);
    asked_by(both.decide(&target("a.test:443")));
    for (text, layer) in [("b.test:443", Floor), ("c.test:443", Floor), ("a.test:22", Floor)] {
        assert_eq!(refusal(both.decide(&target(text))).layer, layer, "{text}");
    }
    let narrowed = both.replaced(Session, Some(rules(false, &["other.test"], &[])));
    assert_eq!(refusal(narrowed.decide(&target("a.test:443"))).layer, Session);
    // Names at which a cloud provides credentials need an entry of their own.
    let cloud = Layers::new(vec![Layer { name: Profile, rules: asking(&[], &[], &["*.google.internal"]) }]);
    refusal(cloud.decide(&target("metadata.google.internal:80")));
    let warns = Layer { name: Session, rules: rules(false, &[], &[]).warning(true) };
    let (_, answered) = asked_by(Layers::new(vec![ask, warns]).decide(&target("a.test:443")));
    assert!(matches!(answered, Verdict::Warned { .. }), "{answered:?}");
}

#[test]
fn a_preset_is_asked_about_by_its_name() {
    let rules = asking(&["pypi"], &[], &["pypi"]);
    let layers = Layers::new(vec![Layer { name: Profile, rules }]);
    assert_eq!(asked_by(layers.decide(&target("pypi.org:443"))).0, "Network(pypi)");
    let wrong = Rules::default().asking(&["*".to_owned(), "a b".to_owned()]).unwrap_err();
    assert_eq!(
        wrong.iter().map(|error| error.path("network")).collect::<Vec<_>>(),
        ["network.ask[0]", "network.ask[1]"]
    );
    let refusal =
        Refusal::unanswered(&target("a.test:443"), "Network(a.test)", "nobody answered", "connect again");
    assert_eq!(
        refusal.to_string(),
        "`a.test:443` needs an answer by the rule `Network(a.test)` of the profile, and nobody answered; connect again"
    );
}
