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
    assert_eq!(rendered.problems(), Vec::<String>::new());
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

/// Renders a pool `web` with these values.
fn with_pool(pool: &Value) -> Rendered {
    let set = chart::directory().join("ci/default-values.yaml");
    let pools = json!({ "default": {}, "web": pool });
    let set_json = format!("pools={pools}");
    let rendered = render(&["--values", set.to_str().unwrap(), "--set-json", &set_json]).unwrap();
    assert_eq!(rendered.problems(), Vec::<String>::new());
    rendered
}

/// Returns the rules of the network policy of the pool `web`.
fn rules_of(rendered: &Rendered) -> Value {
    rendered.document("NetworkPolicy", "r-airlock-web-network")["spec"]["egress"].clone()
}

#[test]
fn a_pool_with_an_upstream_proxy_reaches_only_this_proxy() {
    let pool = |proxy: &str, peers: Value, network: Value| {
        with_pool(&json!({
            "egress": { "upstream": { "proxy": proxy, "peers": peers } },
            "config": { "floor": { "network": network } },
        }))
    };
    let hosts = || json!({ "allow": ["pypi", "10.1.0.0/16:5432"] });
    let address = |cidr: &str, port: u64| json!([{ "to": [{ "ipBlock": { "cidr": cidr } }], "ports": [{ "port": port }] }]);
    for (proxy, expected) in [
        ("http://10.0.0.5:3128", address("10.0.0.5/32", 3128)),
        ("http://[fd00::5]:8080", address("fd00::5/128", 8080)),
        ("http://proxy.example:3128", json!([{ "ports": [{ "port": 3128 }] }])),
    ] {
        assert_eq!(rules_of(&pool(proxy, json!([]), hosts())), expected, "{proxy}");
    }
    let peers = json!([{ "podSelector": { "matchLabels": { "app": "proxy" } } }]);
    let rules = rules_of(&pool("http://proxy.example:3128", peers.clone(), hosts()));
    assert_eq!(rules, json!([{ "to": peers, "ports": [{ "port": 3128 }] }]));
    // Without hosts, the proxy is not used.
    assert_eq!(pool("http://10.0.0.5:3128", json!([]), json!("none")).count("NetworkPolicy"), 2);
    // The control: without the proxy, the hosts are opened.
    let direct = with_pool(&json!({ "config": { "floor": { "network": hosts() } } }));
    assert_eq!(public_ports(&direct, "web"), BTreeSet::from([80, 443]));
}

#[test]
fn a_pool_reaches_its_vault_also_without_hosts() {
    for (address, expected) in [
        (
            "https://192.0.2.7:8300",
            json!([{ "to": [{ "ipBlock": { "cidr": "192.0.2.7/32" } }], "ports": [{ "port": 8300 }] }]),
        ),
        ("https://vault.vault.svc", json!([{ "ports": [{ "port": 8200 }] }])),
    ] {
        let vault = json!({ "address": address, "kubernetesRole": "runner" });
        let rendered = with_pool(&json!({ "egress": { "vault": vault } }));
        assert_eq!(rules_of(&rendered), expected, "{address}");
    }
}

/// Returns the files that the volumes of a pool's runner mount, by path.
fn mounted(rendered: &Rendered, pool: &str) -> BTreeSet<String> {
    let set = rendered.document("StatefulSet", &format!("r-airlock-{pool}"));
    let spec = &set["spec"]["template"]["spec"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = BTreeSet::new();
    for mount in list(&spec["containers"][0]["volumeMounts"]) {
        let volumes = list(&spec["volumes"]);
        let Some(volume) = volumes.iter().find(|volume| volume["name"] == mount["name"]) else { continue };
        for source in list(&volume["projected"]["sources"]) {
            let account = source["serviceAccountToken"]["path"].as_str().map(str::to_owned);
            let items = list(&source["secret"]["items"]);
            let items = items.iter().map(|item| item["path"].as_str().unwrap().to_owned());
            let path = mount["mountPath"].as_str().unwrap();
            found.extend(items.chain(account).map(|item| format!("{path}/{item}")));
        }
    }
    found
}

#[test]
fn each_file_of_the_proxys_configuration_is_mounted() {
    let rendered =
        render(&["--values", chart::directory().join("ci/egress-values.yaml").to_str().unwrap()]).unwrap();
    let mut count = 0;
    for pool in ["proxied", "brokered", "token"] {
        let map = rendered.document("ConfigMap", &format!("r-airlock-{pool}"));
        let config: toml::Table = map["data"]["runner.toml"].as_str().unwrap().parse().unwrap();
        let egress = &config["egress"];
        let file = |path: &[&str]| {
            let found = path.iter().try_fold(egress, |value, key| value.get(key));
            found.and_then(toml::Value::as_str).map(str::to_owned)
        };
        let keys = [&["ca"][..], &["upstream", "credential"], &["vault", "ca"], &["vault", "token_file"]];
        let mut named: BTreeSet<String> = keys.iter().filter_map(|path| file(path)).collect();
        let secrets = egress.get("secrets").and_then(toml::Value::as_table);
        let files = secrets.into_iter().flatten().filter_map(|(_, secret)| secret.get("file"));
        named.extend(files.map(|file| file.as_str().unwrap().to_owned()));
        let mounted = mounted(&rendered, pool);
        let own: BTreeSet<String> =
            mounted.into_iter().filter(|path| !path.starts_with("/etc/airlock/pool")).collect();
        assert_eq!(named, own, "{pool}");
        count += named.len();
    }
    assert_eq!(count, 6);
    // No value of a Secret is in a configuration, and the token for Vault is not one for the cluster.
    let set = rendered.document("StatefulSet", "r-airlock-brokered");
    let volumes = set["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
    let vault = volumes.iter().find(|volume| volume["name"] == "vault").unwrap();
    assert_eq!(vault["projected"]["sources"][0]["serviceAccountToken"]["audience"], "vault");
    assert_eq!(set["spec"]["template"]["spec"]["automountServiceAccountToken"], false);
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
    let notes = |egress: &Value, network: &Value| {
        let pools = json!({ "web": { "egress": egress, "config": { "floor": { "network": network } } } });
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
    let hosts = json!({ "allow": ["pypi", "10.1.0.0/16:5432"] });
    let report = notes(&json!({}), &hosts);
    let line = "pool web: ports 443, 80 of public addresses, port 5432 of 10.1.0.0/16\n";
    assert!(report.contains(line), "{report}");
    let servers = json!({
        "upstream": { "proxy": "http://10.0.0.5:3128" },
        "vault": { "address": "https://vault.example", "kubernetesRole": "runner" },
    });
    let report = notes(&servers, &hosts);
    let line =
        "pool web: port 3128 of 10.0.0.5/32 for the upstream proxy, port 8200 of any address for Vault\n";
    assert!(report.contains(line), "{report}");
    assert!(!notes(&json!({}), &json!("none")).contains("floor.network"));
}
