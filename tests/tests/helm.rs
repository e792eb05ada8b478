//! The Helm chart as it is rendered: right by helm's and Kubernetes' own measures, with configurations that the real
//! programs accept, and no value that nobody knows.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use airlock_tests::{
    chart::{self, KUBERNETES, Rendered, render},
    pki::Pki,
    programs::program,
    source,
    tools::tool,
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

fn rendered(set: &Path) -> Rendered {
    render(&["--values", set.to_str().unwrap()]).unwrap_or_else(|error| panic!("{}: {error}", set.display()))
}

#[test]
fn helm_finds_nothing_wrong_with_any_set_of_values() {
    let sets = chart::sets();
    assert!(sets.len() >= 8, "{sets:?}");
    for set in sets {
        let linted = Command::new(tool("helm"))
            .args(["lint", "--strict", "--quiet", "--kube-version"])
            .arg(format!("{}.0", KUBERNETES[0]))
            .arg("--values")
            .args([&set, &chart::folder()])
            .output()
            .unwrap();
        assert!(linted.status.success(), "{}: {}", set.display(), String::from_utf8_lossy(&linted.stdout));
    }
}

#[test]
fn every_document_of_every_set_fits_the_schemas_of_kubernetes() {
    for set in chart::sets() {
        let rendered = rendered(&set);
        let name = set.display();
        assert!(rendered.problems.is_empty(), "{name}: {:#?}", rendered.problems);
        assert!(rendered.documents.len() > 10, "{name}");
        let foreign = rendered
            .foreign
            .iter()
            .all(|one| ["Certificate", "Issuer"].iter().any(|kind| one.starts_with(kind)));
        assert!(foreign, "{name}: {:?} were held against nothing", rendered.foreign);
        for document in &rendered.documents {
            assert_eq!(document["metadata"]["namespace"], "default", "{name}: {document}");
        }
    }
    // Control: what is unknown, and what is of a wrong type, is found.
    let text = render(&[]).unwrap().text;
    for (right, wrong) in [("hostUsers: false", "hostUser: false"), ("procMount: Unmasked", "procMount: [1]")]
    {
        assert!(!chart::read(text.replace(right, wrong)).problems.is_empty(), "{wrong}");
    }
}

/// A ConfigMap's or Secret's files, and those of a folder's Pki where there is no Secret of the chart's.
fn configs(rendered: &Rendered, folder: &Path) {
    let pki = Pki::new(folder);
    let pair = pki.issue("some", &["localhost"]);
    let tls = folder.join("tls");
    fs::create_dir_all(&tls).unwrap();
    for (from, to) in [(&pki.ca(), "ca.crt"), (&pair.certificate, "tls.crt"), (&pair.key, "tls.key")] {
        fs::copy(from, tls.join(to)).unwrap();
    }
    if rendered.count("Secret") > 1 {
        let secret = rendered.document("Secret", "r-airlock-server-tls");
        for (name, data) in secret["data"].as_object().unwrap() {
            fs::write(tls.join(name), BASE64.decode(data.as_str().unwrap()).unwrap()).unwrap();
        }
    }
    fs::create_dir_all(folder.join("bases/monorepo")).unwrap();
    let profiles = rendered.document("ConfigMap", "r-airlock-profiles");
    fs::create_dir_all(folder.join("profiles")).unwrap();
    for (name, text) in profiles["data"].as_object().into_iter().flatten() {
        fs::write(folder.join("profiles").join(name), text.as_str().unwrap()).unwrap();
    }
    let here = folder.display().to_string();
    for map in rendered.of("ConfigMap") {
        for (name, text) in map["data"].as_object().into_iter().flatten().filter(|(name, _)| is_config(name))
        {
            let text = text.as_str().unwrap().replace("/etc/airlock", &here).replace("/srv/airlock", &here);
            let of = map["metadata"]["name"].as_str().unwrap();
            fs::write(folder.join(format!("{of}.{name}")), text).unwrap();
        }
    }
}

fn is_config(name: &str) -> bool {
    ["server.toml", "runner.toml"].contains(&name)
}

#[test]
fn the_programs_accept_every_configuration_that_is_rendered() {
    for set in chart::sets() {
        let folder = tempfile::tempdir().unwrap();
        configs(&rendered(&set), folder.path());
        let mut seen = BTreeSet::new();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let Some(kind) =
                ["server", "runner"].into_iter().find(|kind| name.ends_with(&format!(".{kind}.toml")))
            else {
                continue;
            };
            let mut check = Command::new(program(&format!("airlock-{kind}")));
            let checked = check.args(["check-config", "--config"]).arg(&file).output().unwrap();
            let errors = String::from_utf8_lossy(&checked.stderr);
            let shown = fs::read_to_string(&file).unwrap();
            assert!(checked.status.success(), "{}: {errors}\n{shown}", set.display());
            seen.insert(kind);
        }
        assert_eq!(seen.len(), 2, "{}: both kinds were checked", set.display());
    }
}

/// Values, and what helm must say of them.
const REFUSED: &[(&str, &str)] = &[
    ("{\"serverr\": {}}", "Additional property serverr is not allowed"),
    ("{\"server\": {\"replica\": 2}}", "server: Additional property replica is not allowed"),
    (
        "{\"server\": {\"replicas\": \"two\"}}",
        "server.replicas: Invalid type. Expected: integer, given: string",
    ),
    ("{\"server\": {\"replicas\": 3}}", "several servers need one store: set store.backend to postgres"),
    ("{\"server\": {\"autoscaling\": {\"enabled\": true}}}", "several servers need one store"),
    ("{\"server\": {\"resources\": {\"request\": {}}}}", "server.resources: Additional property request"),
    ("{\"server\": {\"resources\": {\"limits\": {\"memory\": \"1 GB\"}}}}", "server.resources.limits.memory"),
    ("{\"server\": {\"service\": {\"type\": \"Ingress\"}}}", "must be one of the following: \"ClusterIP\""),
    ("{\"server\": {\"tolerations\": [{\"keys\": \"a\"}]}}", "Additional property keys is not allowed"),
    (
        "{\"server\": {\"config\": {\"limits\": {\"quue\": 1}}}}",
        "server.config.limits: Additional property quue",
    ),
    (
        "{\"server\": {\"config\": {\"limits\": {\"queue\": 0}}}}",
        "server.config.limits.queue: Must be greater",
    ),
    ("{\"server\": {\"config\": {\"link\": {\"link_grace\": 4}}}}", "Expected: string, given: integer"),
    ("{\"server\": {\"config\": {\"link\": {\"link_grace\": \"4 minutes\"}}}}", "link_grace: Does not match"),
    ("{\"server\": {\"config\": {\"telemetry\": {\"sampling\": 2}}}}", "sampling: Must be less than"),
    ("{\"store\": {\"backend\": \"mysql\"}}", "store.backend must be one of the following: \"sqlite\""),
    ("{\"pools\": {\"large\": {\"slots\": 3}}}", "pools.large: Additional property slots is not allowed"),
    ("{\"pools\": {\"Large\": {}}}", "Property name of \"Large\" does not match"),
    ("{\"pools\": {\"default\": {\"config\": {\"labels\": {\"pool\": \"x\"}}}}}", "labels"),
    ("{\"pools\": {\"default\": null}}", "pools: Must have at least 1 properties"),
    (
        "{\"runner\": {\"security\": {\"variant\": \"privileged\"}}}",
        "must be one of the following: \"userNamespace\"",
    ),
    (
        "{\"runner\": {\"security\": {\"procMount\": \"Default\"}}}",
        "Additional property procMount is not allowed",
    ),
    ("{\"runner\": {\"config\": {\"floor\": {\"unsandboxed\": true}}}}", "Additional property unsandboxed"),
    (
        "{\"runner\": {\"config\": {\"slots\": 1000}}}",
        "runner.config.slots: Must be less than or equal to 128",
    ),
    ("{\"runner\": {\"image\": {\"digest\": \"latest\"}}}", "runner.image.digest: Does not match pattern"),
    ("{\"tokens\": {\"agent\": {\"roles\": [\"root\"]}}}", "must be one of the following: \"executor\""),
    ("{\"tokens\": {\"agent\": {\"roles\": [\"runner\"]}}}", "must be one of the following: \"executor\""),
    (
        "{\"tokens\": {\"agent\": null, \"operator\": null}}",
        "nobody could call: name somebody in tokens or identities",
    ),
    ("{\"identities\": [{\"name\": \"x\"}]}", "identities.0: tenant is required"),
    (
        "{\"identities\": [{\"name\": \"agent\", \"tenant\": \"t\", \"roles\": [\"admin\"], \"match\": {\"dns\": \"x\"}}]}",
        "there are two with the name agent",
    ),
    (
        "{\"identities\": [{\"name\": \"x\", \"tenant\": \"t\", \"roles\": [\"admin\"], \"match\": {\"dns\": \"x\", \"spiffe\": \"spiffe://a/b\"}}]}",
        "identities.0.match: Must have at most 1 properties",
    ),
    ("{\"certificates\": {\"source\": \"vault\"}}", "must be one of the following: \"chart\""),
    ("{\"certificates\": {\"source\": \"secrets\"}}", "name them in certificates.secrets.server"),
    ("{\"telemetry\": {\"otlpEndpoint\": \"https://x:1\"}}", "telemetry.otlpEndpoint: Does not match"),
    ("{\"networkPolicy\": {\"clients\": [{}]}}", "networkPolicy.clients.0: Must have at least 1 properties"),
    ("{\"networkPolicy\": {\"dns\": []}}", "networkPolicy.dns: Array must have at least 1 items"),
    (
        "{\"networkPolicy\": {\"runnerEgress\": [{\"ports\": []}]}}",
        "networkPolicy.runnerEgress.0: to is required",
    ),
    ("{\"fullnameOverride\": \"Airlock\"}", "fullnameOverride: Does not match pattern"),
];

#[test]
fn a_wrong_value_is_refused_with_where_and_what() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.json");
    for (values, said) in REFUSED {
        fs::write(&file, values).unwrap();
        let Err(error) = render(&["--values", file.to_str().unwrap()]) else { panic!("{values} was taken") };
        assert!(error.contains(said), "{values}: {error}");
    }
    // At every level of what is there by default, no more than what is there is taken.
    let defaults = Command::new(tool("helm")).args(["show", "values"]).arg(chart::folder()).output().unwrap();
    let defaults = chart::read(format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nvalues:\n{}",
        indented(&String::from_utf8(defaults.stdout).unwrap())
    ));
    let mut levels = Vec::new();
    objects(&defaults.documents[0]["values"], &mut Vec::new(), &mut levels);
    assert!(levels.len() > 40, "{levels:?}");
    for level in levels.iter().filter(|level| !is_open(level)) {
        let unknown = level
            .iter()
            .rev()
            .fold(json!({ "unknownValue": 1 }), |inner, key| json!({ key.as_str(): inner }));
        fs::write(&file, unknown.to_string()).unwrap();
        let Err(error) = render(&["--values", file.to_str().unwrap()]) else { panic!("{unknown} was taken") };
        assert!(error.contains("unknownValue"), "{unknown}: {error}");
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn objects(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let Value::Object(fields) = value else { return };
    found.push(path.clone());
    for (key, inner) in fields {
        path.push(key.clone());
        objects(inner, path, found);
        path.pop();
    }
}

/// Those whose keys are the user's own: labels and the like.
fn is_open(level: &[String]) -> bool {
    const OPEN: [&str; 10] = [
        "annotations",
        "nodeSelector",
        "podLabels",
        "podAnnotations",
        "labels",
        "bases",
        "files",
        "requests",
        "limits",
        "tokens",
    ];
    let config = level.iter().any(|key| key == "config");
    level.last().is_some_and(|last| OPEN.contains(&last.as_str()) && (!config || last == "labels"))
}

#[test]
fn the_chart_knows_the_keys_of_the_programs_and_no_others() {
    let schema: Value =
        serde_json::from_slice(&fs::read(chart::folder().join("values.schema.json")).unwrap()).unwrap();
    // What the chart says itself, what a pod cannot have, and what nobody needs to change there.
    let own: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("server.telemetry", ["otlp_endpoint"].as_slice()),
        ("runner.telemetry", &["otlp_endpoint"]),
        ("runner.floor", &["servers", "bind_sources", "rootfs", "unix_sockets", "networks", "unsandboxed"]),
    ]);
    for program in ["server", "runner"] {
        let example = fs::read_to_string(source::root().join(format!("deploy/{program}.toml"))).unwrap();
        let known = tables(&example);
        let config = &schema["definitions"][format!("{program}Config")]["properties"];
        for (table, keys) in config.as_object().unwrap() {
            let Some(keys) = keys["properties"].as_object() else { continue };
            let mut told: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
            told.extend(own.get(format!("{program}.{table}").as_str()).copied().unwrap_or_default());
            let real: BTreeSet<&str> = known[table.as_str()].iter().map(String::as_str).collect();
            assert_eq!(told, real, "{program}.toml [{table}]");
        }
    }
}

/// The keys of each table of an example, those shown as comments among them.
fn tables(example: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut table = String::new();
    for line in example.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = name.trim_matches(['[', ']']).to_owned();
        } else if let Some((key, _)) = line.trim_start_matches("# ").split_once(" = ")
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        {
            found.entry(table.clone()).or_default().insert(key.to_owned());
        }
    }
    found
}

fn container(workload: &Value) -> &Value {
    &workload["spec"]["template"]["spec"]["containers"][0]
}

#[test]
fn a_runners_pod_has_what_its_sandboxes_need_and_nothing_else() {
    for (set, adds, escalates, seccomp) in [
        ("default", json!(["SYS_ADMIN"]), true, json!({ "type": "RuntimeDefault" })),
        (
            "strict",
            Value::Null,
            false,
            json!({ "type": "Localhost", "localhostProfile": "airlock/runner.json" }),
        ),
    ] {
        let rendered = rendered(&chart::folder().join(format!("ci/{set}-values.yaml")));
        let set = rendered.document("StatefulSet", "r-airlock-default");
        let spec = &set["spec"]["template"]["spec"];
        assert_eq!(spec["hostUsers"], false);
        assert_eq!(spec["automountServiceAccountToken"], false);
        let pod = &spec["securityContext"];
        assert_eq!(
            (&pod["runAsNonRoot"], &pod["runAsUser"], &pod["fsGroup"]),
            (&json!(true), &json!(1000), &json!(1000))
        );
        assert_eq!(pod["seccompProfile"], seccomp);
        let own = &container(set)["securityContext"];
        assert_eq!(own["procMount"], "Unmasked");
        assert_eq!(own["readOnlyRootFilesystem"], true);
        assert_eq!(own["allowPrivilegeEscalation"], escalates);
        assert_eq!((&own["capabilities"]["drop"], &own["capabilities"]["add"]), (&json!(["ALL"]), &adds));
        assert_eq!(own["privileged"], Value::Null);
        assert_eq!(container(set)["readinessProbe"]["exec"]["command"][1], "ready");
        assert_eq!(container(set)["lifecycle"]["preStop"]["exec"]["command"][1], "drain");
        assert_eq!(container(set)["ports"], Value::Null, "a runner listens nowhere");
        assert_eq!(set["spec"]["volumeClaimTemplates"][0]["metadata"]["name"], "state");
        // The time for preStop, for what is left, and for the output.
        let grace = spec["terminationGracePeriodSeconds"].as_i64().unwrap();
        assert!(grace > 300 + 5 + 30, "{grace}");
    }
}

#[test]
fn each_runner_sees_the_key_of_its_own_name_alone() {
    let rendered = rendered(&chart::folder().join("ci/pools-values.yaml"));
    let config = rendered.document("ConfigMap", "r-airlock-server")["data"]["server.toml"].as_str().unwrap();
    let config: toml::Table = config.parse().unwrap();
    let identities = config["identity"].as_array().unwrap();
    let mut runners = 0;
    for (pool, replicas) in [("default", 3), ("large", 1)] {
        let set = rendered.document("StatefulSet", &format!("r-airlock-{pool}"));
        let volumes = set["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
        let tls = volumes.iter().find(|volume| volume["name"] == "tls").unwrap();
        let sources = tls["projected"]["sources"].as_array().unwrap();
        assert_eq!(sources.len(), replicas);
        let mounts = container(set)["volumeMounts"].as_array().unwrap();
        let mount = mounts.iter().find(|mount| mount["name"] == "tls").unwrap();
        assert_eq!(mount["subPathExpr"], "$(POD_NAME)");
        for (ordinal, source) in sources.iter().enumerate() {
            let pod = format!("r-airlock-{pool}-{ordinal}");
            assert_eq!(source["secret"]["name"], format!("{pod}-tls"));
            let items = source["secret"]["items"].as_array().unwrap();
            assert!(items.iter().all(|item| item["path"].as_str().unwrap().starts_with(&format!("{pod}/"))));
            let identity = identities.iter().find(|one| one["name"].as_str() == Some(&pod)).unwrap();
            assert_eq!(identity["roles"].as_array().unwrap().len(), 1);
            assert_eq!(identity.get("runner_ids"), None, "it speaks for its own name");
            let dns = identity["match"]["dns"].as_str().unwrap();
            let secret = rendered.document("Secret", &format!("{pod}-tls"));
            assert_eq!(secret["metadata"]["annotations"]["airlock/hosts"], dns);
            runners += 1;
        }
    }
    let told = identities.iter().filter(|one| one["roles"].as_array().unwrap()[0].as_str() == Some("runner"));
    assert_eq!(told.count(), runners);
}

#[test]
fn what_the_chart_makes_itself_fits_together() {
    let rendered = render(&[]).unwrap();
    let again = render(&[]).unwrap();
    let data = |rendered: &Rendered, secret: &str, key: &str| {
        let data = rendered.document("Secret", secret)["data"][key].as_str().unwrap().to_owned();
        String::from_utf8(BASE64.decode(data).unwrap()).unwrap()
    };
    let authority = data(&rendered, "r-airlock-ca", "tls.crt");
    assert_ne!(authority, data(&again, "r-airlock-ca", "tls.crt"), "each installation has its own");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ca"), &authority).unwrap();
    for (secret, name) in [
        ("r-airlock-server-tls", "r-airlock-server.default.svc"),
        ("r-airlock-default-0-tls", "r-airlock-default-0.r-airlock-runners.default.svc"),
        ("r-airlock-default-1-tls", "r-airlock-default-1.r-airlock-runners.default.svc"),
    ] {
        assert_eq!(data(&rendered, secret, "ca.crt"), authority);
        fs::write(folder.path().join("certificate"), data(&rendered, secret, "tls.crt")).unwrap();
        let verified = Command::new("openssl")
            .args(["verify", "-verify_hostname", name, "-CAfile", "ca", "certificate"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(verified.status.success(), "{secret}: {verified:?}");
    }
    // The configuration holds hashes of the tokens alone.
    for name in ["agent", "operator"] {
        let token = data(&rendered, "r-airlock-tokens", name);
        assert_eq!(token.len(), 48);
        assert!(!rendered.document("ConfigMap", "r-airlock-server").to_string().contains(&token));
        let mut hash = Command::new(program("airlock-server"));
        fs::write(folder.path().join("token"), &token).unwrap();
        let hashed =
            hash.arg("hash-token").stdin(fs::File::open(folder.path().join("token")).unwrap()).output();
        let line = String::from_utf8(hashed.unwrap().stdout).unwrap();
        let config =
            rendered.document("ConfigMap", "r-airlock-server")["data"]["server.toml"].as_str().unwrap();
        assert!(config.contains(line.trim()), "{name}: {line}");
    }
}

#[test]
fn a_runner_is_called_by_nobody_and_calls_servers_and_names_alone() {
    let rendered = rendered(&chart::folder().join("ci/default-values.yaml"));
    let policy = &rendered.document("NetworkPolicy", "r-airlock-runners")["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(policy["ingress"], json!([]));
    let egress = policy["egress"].as_array().unwrap();
    assert_eq!(egress.len(), 2);
    let to = &egress[0]["to"][0]["podSelector"]["matchLabels"];
    assert_eq!(
        (&to["app.kubernetes.io/component"], &egress[0]["ports"]),
        (&json!("server"), &json!([{ "port": 7443 }]))
    );
    assert!(egress[1]["ports"].as_array().unwrap().iter().all(|port| port["port"] == 53));
    // It selects the pods that it is for.
    let labels =
        &rendered.document("StatefulSet", "r-airlock-default")["spec"]["template"]["metadata"]["labels"];
    for (key, value) in policy["podSelector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(&labels[key], value);
    }

    let none = self::rendered(&chart::folder().join("ci/no-network-policies-values.yaml"));
    assert_eq!(none.count("NetworkPolicy"), 0);
    let telemetry = self::rendered(&chart::folder().join("ci/telemetry-values.yaml"));
    let policy = &telemetry.document("NetworkPolicy", "r-airlock-runners")["spec"];
    let ports: Vec<&Value> =
        policy["egress"].as_array().unwrap().iter().map(|rule| &rule["ports"][0]["port"]).collect();
    assert_eq!(ports, [&json!(7443), &json!(53), &json!(4317), &json!(443)]);
    let server = &telemetry.document("NetworkPolicy", "r-airlock-server")["spec"];
    assert_eq!(
        server["ingress"][0]["from"].as_array().unwrap().len(),
        3,
        "runners, servers, the orchestrator"
    );
}

#[test]
fn images_come_from_where_the_values_say() {
    let rendered = rendered(&chart::folder().join("ci/private-registry-values.yaml"));
    let server = rendered.document("Deployment", "r-airlock-server");
    let image = container(server)["image"].as_str().unwrap();
    assert!(image.starts_with("registry.example/team/airlock-server@sha256:"), "{image}");
    let runner = rendered.document("StatefulSet", "r-airlock-default");
    assert_eq!(container(runner)["image"], "registry.example/team/airlock-runner-with-node:22");
    for workload in [server, runner] {
        assert_eq!(workload["spec"]["template"]["spec"]["imagePullSecrets"], json!([{ "name": "registry" }]));
        assert_eq!(container(workload)["imagePullPolicy"], "Always");
    }
}

#[test]
fn one_server_on_sqlite_never_has_a_second_beside_it() {
    let rendered = render(&[]).unwrap();
    let server = rendered.document("Deployment", "r-airlock-server");
    assert_eq!(server["spec"]["strategy"], json!({ "type": "Recreate" }));
    assert_eq!(server["spec"]["replicas"], 1);
    let claim = rendered.document("PersistentVolumeClaim", "r-airlock-server");
    assert_eq!(claim["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    assert_eq!(rendered.count("PodDisruptionBudget"), 1);
    assert_eq!(rendered.count("HorizontalPodAutoscaler"), 0);
    let probes = container(server);
    for (probe, path) in
        [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
    {
        assert_eq!(probes[probe]["httpGet"]["path"], path);
    }
    let spread = server["spec"]["template"]["spec"]["topologySpreadConstraints"].as_array().unwrap();
    assert_eq!(spread.len(), 2);
}

#[test]
fn a_cluster_that_is_too_old_is_refused() {
    let output = Command::new(tool("helm"))
        .args(["template", "r", "--kube-version", "1.32.9"])
        .arg(chart::folder())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("requires kubeVersion: >=1.33.0-0"), "{errors}");
}
