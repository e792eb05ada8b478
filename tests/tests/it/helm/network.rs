//! The network policies that a pool's `floor.network` opens, and the report of them.

use std::{collections::BTreeSet, fs, process::Command};

use airlock_tests::{
    chart::{self, Rendered, render},
    source,
    tools::tool,
};
use serde_json::{Value, json};

/// Renders a pool `web` with these rules, and returns all documents.
fn with(network: &Value) -> Rendered {
    with_pools([("web".to_owned(), network.clone())])
}

/// Renders pools with these rules.
fn with_pools(networks: impl IntoIterator<Item = (String, Value)>) -> Rendered {
    let set = chart::directory().join("ci/default-values.yaml");
    let mut pools = json!({ "default": {} });
    for (name, network) in networks {
        pools[name] = json!({ "config": { "floor": { "network": network } } });
    }
    let rendered =
        render(&["--values", set.to_str().unwrap(), "--set-json", &format!("pools={pools}")]).unwrap();
    assert_eq!(rendered.problems, Vec::<String>::new());
    rendered
}

/// Returns the ports that a pool's network policy opens for public addresses.
fn public_ports(rendered: &Rendered, pool: &str) -> BTreeSet<u64> {
    let name = format!("r-airlock-{pool}-network");
    let rules = &rendered.document("NetworkPolicy", &name)["spec"]["egress"];
    let public =
        rules.as_array().unwrap().iter().filter(|rule| rule["to"][0]["ipBlock"]["cidr"] == "0.0.0.0/0");
    public
        .flat_map(|rule| rule["ports"].as_array().unwrap())
        .filter_map(|port| port["port"].as_u64())
        .collect()
}

#[test]
fn a_pool_without_hosts_opens_nothing() {
    for network in [json!("none"), json!({}), json!({ "deny": ["example.com:8080"] })] {
        assert_eq!(with(&network).count("NetworkPolicy"), 2, "{network}");
    }
    assert_eq!(with(&json!({ "any": true })).count("NetworkPolicy"), 3, "the control");
}

#[test]
fn a_pool_opens_the_ports_of_its_hosts_for_its_own_pods() {
    let allow = [
        "example.com",
        "*.example.org:8080",
        "db.example:5432/tcp",
        "10.1.0.0/16:5433",
        "192.0.2.5",
        "[2001:db8::1]:8443/tcp",
        "2001:db8:1::/48:22/tcp",
    ];
    let rendered = with(&json!({ "allow": allow }));
    assert_eq!(public_ports(&rendered, "web"), BTreeSet::from([80, 443, 5432, 8080]));
    let spec = &rendered.document("NetworkPolicy", "r-airlock-web-network")["spec"];
    assert_eq!(spec["podSelector"]["matchLabels"]["airlock/pool"], "web");
    assert_eq!(spec["policyTypes"], json!(["Egress"]));
    let blocks = &spec["egress"][0]["to"];
    for (index, private) in [(0, "10.0.0.0/8"), (0, "169.254.0.0/16"), (1, "fc00::/7")] {
        let except = blocks[index]["ipBlock"]["except"].as_array().unwrap();
        assert!(except.contains(&json!(private)), "{private}");
    }
    let ranges: Vec<(&str, u64)> = spec["egress"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|rule| {
            (rule["to"][0]["ipBlock"]["cidr"].as_str().unwrap(), rule["ports"][0]["port"].as_u64().unwrap())
        })
        .collect();
    let expected = [
        ("10.1.0.0/16", 5433),
        ("192.0.2.5/32", 80),
        ("192.0.2.5/32", 443),
        ("2001:db8::1/128", 8443),
        ("2001:db8:1::/48", 22),
    ];
    assert_eq!(ranges, expected);
}

/// The chart does not know the hosts of presets. This test fails for a preset with a port that the chart does not open.
#[test]
fn the_ports_of_each_preset_are_opened() {
    let text = fs::read_to_string(source::root().join("policy/network/presets.toml")).unwrap();
    let presets: toml::Table = text.parse().unwrap();
    let presets = presets["preset"].as_array().unwrap();
    assert!(presets.len() > 5);
    let name = |preset: &toml::Value| preset["name"].as_str().unwrap().to_owned();
    let rendered =
        with_pools(presets.iter().map(|preset| (name(preset), json!({ "allow": [name(preset)] }))));
    for preset in presets {
        let name = name(preset);
        let opened = public_ports(&rendered, &name);
        for entry in preset["allow"].as_array().unwrap() {
            let entry = entry.as_str().unwrap();
            let port = entry.trim_end_matches("/tcp").rsplit_once(':').map(|(_, port)| port.parse().unwrap());
            for port in port.map_or(vec![80, 443], |port| vec![port]) {
                assert!(opened.contains(&port), "{name}: {entry}");
            }
        }
    }
}

#[test]
fn the_notes_report_what_is_opened() {
    // Helm prints the notes only after an installation, so a document of a copy of the chart contains them.
    let directory = tempfile::Builder::new().prefix("airlock-test-chart-").tempdir().unwrap();
    let copied =
        Command::new("cp").arg("-rL").arg(chart::directory()).arg(directory.path()).status().unwrap();
    assert!(copied.success());
    let chart = directory.path().join("airlock");
    let document = "notes: |\n  {{- include \"airlock/templates/NOTES.txt\" . | nindent 2 }}\n";
    fs::write(chart.join("templates/shown.yaml"), document).unwrap();
    let notes = |network: &Value| {
        let pools = json!({ "web": { "config": { "floor": { "network": network } } } });
        let output = Command::new(tool("helm"))
            .args(["template", "r", "--kube-version", &format!("{}.0", chart::KUBERNETES[0])])
            .args([
                "--show-only",
                "templates/shown.yaml",
                "--set-json",
                &format!("pools={pools}"),
                "--values",
            ])
            .arg(chart.join("ci/default-values.yaml"))
            .arg(&chart)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let report = notes(&json!({ "allow": ["pypi", "10.1.0.0/16:5432"] }));
    let line = "pool web: ports 443, 80 of public addresses, port 5432 of 10.1.0.0/16\n";
    assert!(report.contains(line), "{report}");
    assert!(!notes(&json!("none")).contains("floor.network"));
}
