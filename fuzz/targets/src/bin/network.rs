//! Decides about a target with network rules. The first line is an entry, the second one another entry, the third one the
//! target. Parsing is total, a normalized host is stable, a denial wins, and a remedy works.
#![no_main]

use std::net::IpAddr;

use airlock_fuzz_targets::bounds;
use airlock_network::{AddressGuard, AddressKind, Host, Layer, LayerName, Layers, Rules, Target, Verdict};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let (first, second, target) = (next(), next(), next());
    let layers = |allow: &[String], deny: &[String]| {
        let rules = bounds::bounded(|| Rules::parse(false, allow, deny));
        if let Err(errors) = &rules {
            let is_plain = |message: &str| message.bytes().all(|b| matches!(b, b' '..=b'~'));
            assert!(errors.iter().all(|error| is_plain(&error.message)), "an error is one line of ASCII");
        }
        rules.map(|rules| Layers::new(vec![Layer { name: LayerName::Profile, rules }])).ok()
    };
    let allowing = layers(&[first.clone(), second.clone()], &[]);
    let denying = layers(&[first.clone()], &[second.clone(), first]);
    let Ok(target) = Target::parse(&target) else {
        return;
    };
    assert_eq!(Target::parse(&target.to_string()), Ok(target.clone()), "a target is normalized once");
    if let Host::Name(name) = &target.host {
        assert!(name.as_str().parse::<IpAddr>().is_err(), "a name is no address");
    }
    for layers in allowing.iter().chain(&denying) {
        check(layers, &target);
    }
    if let Some(layers) = denying {
        assert!(matches!(layers.decide(&target), Verdict::Refused(_)), "a denial of the only entry wins");
    }
});

/// Checks the address of a target, and the remedy of a refusal.
fn check(layers: &Layers, target: &Target) {
    match layers.decide(target) {
        Verdict::Allowed { rule } => {
            let is_raw = matches!(layers.decide_raw(target), Verdict::Allowed { .. });
            assert_eq!(is_raw, rule.ends_with("/tcp"), "the rule shows whether a raw tunnel is allowed");
        }
        Verdict::Refused(refusal) if refusal.rule.is_none() => {
            let allow = [target.entry()];
            let rules = Rules::parse(false, &allow, &[]).expect("the entry of a target is a rule");
            let layers = Layers::new(vec![Layer { name: LayerName::Profile, rules }]);
            assert!(matches!(layers.decide(target), Verdict::Allowed { .. }), "the remedy works");
        }
        Verdict::Asked { .. } | Verdict::Warned { .. } | Verdict::Refused(_) => {}
    }
    if let Host::Address(address) = target.host {
        let nothing = Layers::new(vec![Layer { name: LayerName::Profile, rules: Rules::default() }]);
        let checked = AddressGuard::default().check(address, &nothing, target);
        assert_eq!(checked.is_ok(), AddressKind::of(address) == AddressKind::Public, "nothing lists an address");
    }
}
