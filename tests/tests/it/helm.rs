//! Tests of the rendered Helm chart: it is valid for helm and Kubernetes, its configurations are accepted by the
//! programs, and unknown values are refused.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod dashboards;
mod network;
mod operation;
mod secrets;
mod values;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use airlock_tests::{
    chart::{self, KUBERNETES, Rendered, render},
    pki::Pki,
    tools::program,
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
            .args([&set, &chart::directory()])
            .output()
            .unwrap();
        assert!(linted.status.success(), "{}: {}", set.display(), String::from_utf8_lossy(&linted.stdout));
    }
}

#[test]
fn every_document_of_every_set_fits_the_schemas_of_kubernetes() {
    let newest = format!("{}.0", KUBERNETES[1]);
    let mut all = Vec::new();
    for set in chart::sets() {
        let name = set.display().to_string();
        let newest = render(&["--values", set.to_str().unwrap(), "--kube-version", &newest]).unwrap();
        let rendered = rendered(&set);
        assert!(rendered.documents.len() > 10, "{name}");
        for document in &rendered.documents {
            assert_eq!(document["metadata"]["namespace"], "default", "{name}: {document}");
        }
        all.extend([(format!("{name}, for the newest version"), newest), (name, rendered)]);
    }
    let documents: Vec<&Rendered> = all.iter().map(|(_, rendered)| rendered).collect();
    for ((name, _), checked) in all.iter().zip(chart::checked(&documents)) {
        assert!(checked.problems.is_empty(), "{name}: {:#?}", checked.problems);
        let known = |one: &String| ["Certificate", "Issuer"].iter().any(|kind| one.starts_with(kind));
        assert!(checked.foreign.iter().all(known), "{name}: {:?} were not validated", checked.foreign);
    }
    // The control: an unknown field and a wrong type are found.
    let text = render(&[]).unwrap().text;
    for (right, wrong) in [("hostUsers: false", "hostUser: false"), ("procMount: Unmasked", "procMount: [1]")]
    {
        assert!(!chart::read(text.replace(right, wrong)).problems().is_empty(), "{wrong}");
    }
}

/// Writes the files of ConfigMaps and Secrets, and of a new Pki if the chart has no Secret.
fn configs(rendered: &Rendered, directory: &Path) {
    let pki = Pki::new(directory);
    let pair = pki.issue("some", &["localhost"]);
    let tls = directory.join("tls");
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
    fs::create_dir_all(directory.join("bases/monorepo")).unwrap();
    for (name, files) in [
        ("postgres", ["password", "ca.crt"].as_slice()),
        ("s3", &["access_key_id", "secret_access_key"]),
        ("telemetry", &["ca.crt"]),
        ("hooks", &["ca.crt"]),
    ] {
        fs::create_dir_all(directory.join(name)).unwrap();
        for (from, to) in files
            .iter()
            .map(|file| (pki.ca(), *file))
            .chain([(pair.certificate.clone(), "tls.crt"), (pair.key.clone(), "tls.key")])
        {
            fs::copy(from, directory.join(name).join(to)).unwrap();
        }
    }
    let profiles = rendered.document("ConfigMap", "r-airlock-profiles");
    fs::create_dir_all(directory.join("profiles")).unwrap();
    for (name, text) in profiles["data"].as_object().into_iter().flatten() {
        fs::write(directory.join("profiles").join(name), text.as_str().unwrap()).unwrap();
    }
    let here = directory.display().to_string();
    for map in rendered.of("ConfigMap") {
        for (name, text) in map["data"].as_object().into_iter().flatten().filter(|(name, _)| is_config(name))
        {
            let text = text.as_str().unwrap().replace("/etc/airlock", &here).replace("/srv/airlock", &here);
            let of = map["metadata"]["name"].as_str().unwrap();
            fs::write(directory.join(format!("{of}.{name}")), text).unwrap();
        }
    }
}

fn is_config(name: &str) -> bool {
    ["server.toml", "runner.toml"].contains(&name)
}

#[test]
fn the_programs_accept_every_configuration_that_is_rendered() {
    for set in chart::sets() {
        let directory = tempfile::tempdir().unwrap();
        configs(&rendered(&set), directory.path());
        let mut seen = BTreeSet::new();
        for entry in fs::read_dir(directory.path()).unwrap() {
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
        assert_eq!(seen.len(), 2, "{}: both types were checked", set.display());
    }
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
        let rendered = rendered(&chart::directory().join(format!("ci/{set}-values.yaml")));
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
        assert_eq!(container(set)["ports"], Value::Null, "a runner listens on no port");
        assert_eq!(set["spec"]["volumeClaimTemplates"][0]["metadata"]["name"], "state");
        // The time for preStop, for the remaining commands, and for their output.
        let grace = spec["terminationGracePeriodSeconds"].as_i64().unwrap();
        assert!(grace > 300 + 5 + 30, "{grace}");
    }
}

#[test]
fn a_runner_accepts_no_connection_and_connects_only_to_servers_and_dns() {
    let rendered = rendered(&chart::directory().join("ci/default-values.yaml"));
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
    // It selects the pods that it is intended for.
    let labels =
        &rendered.document("StatefulSet", "r-airlock-default")["spec"]["template"]["metadata"]["labels"];
    for (key, value) in policy["podSelector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(&labels[key], value);
    }

    let none = self::rendered(&chart::directory().join("ci/no-network-policies-values.yaml"));
    assert_eq!(none.count("NetworkPolicy"), 0);
    let telemetry = self::rendered(&chart::directory().join("ci/telemetry-values.yaml"));
    let policy = &telemetry.document("NetworkPolicy", "r-airlock-runners")["spec"];
    let ports: Vec<&Value> =
        policy["egress"].as_array().unwrap().iter().map(|rule| &rule["ports"][0]["port"]).collect();
    assert_eq!(ports, [&json!(7443), &json!(53), &json!(4317), &json!(443)]);
    let server = &telemetry.document("NetworkPolicy", "r-airlock-server")["spec"];
    assert_eq!(
        server["ingress"][0]["from"].as_array().unwrap().len(),
        7,
        "runners, servers, the test, the orchestrator, three CIDRs"
    );
}

#[test]
fn images_come_from_where_the_values_say() {
    let rendered = rendered(&chart::directory().join("ci/private-registry-values.yaml"));
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
    assert_eq!(rendered.count("PodDisruptionBudget"), 2, "the server's and the pool's");
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
fn several_servers_share_a_store_and_roll_one_after_the_other() {
    let rendered = rendered(&chart::directory().join("ci/postgres-s3-values.yaml"));
    let server = rendered.document("Deployment", "r-airlock-server");
    assert_eq!(server["spec"]["replicas"], 3);
    assert_eq!(server["spec"]["strategy"]["rollingUpdate"], json!({ "maxUnavailable": 0, "maxSurge": 1 }));
    assert_eq!(rendered.count("PersistentVolumeClaim"), 0);
    let volumes = server["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
    let secrets = |name: &str| -> Vec<&str> {
        let volume = volumes.iter().find(|volume| volume["name"] == name).unwrap();
        let sources = volume["projected"]["sources"].as_array().unwrap().iter();
        sources.map(|source| source["secret"]["name"].as_str().unwrap()).collect()
    };
    assert_eq!(secrets("postgres"), ["airlock-database", "database-authority"]);
    assert_eq!(secrets("s3"), ["airlock-outputs", "airlock-outputs"]);
    let config: toml::Table = rendered.document("ConfigMap", "r-airlock-server")["data"]["server.toml"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(config.get("server_id"), None, "each has its pod's name");
    assert_eq!(config["store"]["postgres"]["password_file"].as_str(), Some("/etc/airlock/postgres/password"));
    assert_eq!(config["outputs"]["s3"]["bucket"].as_str(), Some("airlock-outputs"));
    let peers = config["peers"].as_table().unwrap();
    assert_eq!(peers["server_name"].as_str(), Some("r-airlock-server.default.svc"));
    assert_eq!((peers["answer_wait"].as_str(), peers["relays"].as_integer()), (Some("5s"), Some(256)));
    let env = container(server)["env"].as_array().unwrap();
    let own = env.iter().find(|one| one["name"] == "AIRLOCK_ADVERTISE").unwrap();
    let address = &own["valueFrom"]["fieldRef"]["fieldPath"];
    assert_eq!(address, "status.podIP", "the address for other servers; the server adds port and brackets");
    let egress = rendered.document("NetworkPolicy", "r-airlock-server")["spec"]["egress"].as_array().unwrap();
    let ports: Vec<&Value> = egress.iter().map(|rule| &rule["ports"][0]["port"]).collect();
    assert_eq!(ports, [&json!(7443), &json!(53), &json!(5432), &json!(9000)]);

    let scaled = self::rendered(&chart::directory().join("ci/autoscaling-values.yaml"));
    let scaler = &scaled.document("HorizontalPodAutoscaler", "r-airlock-server")["spec"];
    assert_eq!((&scaler["minReplicas"], &scaler["maxReplicas"]), (&json!(3), &json!(12)));
    let server = scaled.document("Deployment", "r-airlock-server");
    assert_eq!(server["spec"]["replicas"], Value::Null, "the autoscaler sets it");
    assert_eq!(server["spec"]["template"]["spec"]["serviceAccountName"], "airlock-server");
    assert_eq!(server["spec"]["template"]["spec"]["automountServiceAccountToken"], false);
}

#[test]
fn a_cluster_that_is_too_old_is_refused() {
    let output = Command::new(tool("helm"))
        .args(["template", "r", "--kube-version", "1.32.9"])
        .arg(chart::directory())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("requires kubeVersion: >=1.33.0-0"), "{errors}");
}
