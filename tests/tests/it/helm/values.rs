//! The values of the chart: exactly those that it defines and the programs support.

use std::{fs, process::Command};

use airlock_tests::{
    chart::{self, render},
    tools::tool,
};
use serde_json::{Value, json};

/// Values, and the expected error of helm.
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
    (
        "{\"server\": {\"config\": {\"peers\": {\"advertise\": \"https://x:1\"}}}}",
        "server.config.peers: Additional property advertise",
    ),
    ("{\"server\": {\"config\": {\"telemetry\": {\"sampling\": 2}}}}", "sampling: Must be less than"),
    (
        "{\"server\": {\"config\": {\"hooks\": {\"guard\": {\"adress\": \"https://x:1\"}}}}}",
        "Additional property adress is not allowed",
    ),
    (
        "{\"store\": {\"backend\": \"mysql\"}}",
        "store.backend must be one of the following: \"sqlite\", \"postgres\"",
    ),
    ("{\"store\": {\"backend\": \"postgres\"}}", "name the database in store.postgres.url"),
    (
        "{\"store\": {\"postgres\": {\"url\": \"postgres://me:secret@x/y\"}}}",
        "store.postgres.url: Does not match pattern",
    ),
    (
        "{\"store\": {\"postgres\": {\"config\": {\"pool\": 3}}}}",
        "store.postgres.config: Additional property pool",
    ),
    ("{\"outputs\": {\"backend\": \"s3\"}}", "name the bucket in outputs.s3.bucket"),
    (
        "{\"outputs\": {\"s3\": {\"endpoint\": \"minio:9000\"}}}",
        "outputs.s3.endpoint: Does not match pattern",
    ),
    ("{\"outputs\": {\"retention\": \"a month\"}}", "outputs.retention: Does not match pattern"),
    (
        "{\"server\": {\"replicas\": 2}, \"store\": {\"backend\": \"postgres\", \"postgres\": {\"url\": \"postgres://a@b/c\"}}}",
        "several servers need one output storage: set outputs.backend to s3",
    ),
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
    (
        "{\"runner\": {\"egress\": {\"upstream\": {\"credentialSecret\": {\"name\": \"x\"}}}}}",
        "pools.default.egress.upstream: credentialSecret is set without proxy",
    ),
    (
        "{\"runner\": {\"egress\": {\"upstream\": {\"proxy\": \"https://p:1\"}}}}",
        "runner.egress.upstream.proxy: Does not match",
    ),
    (
        "{\"runner\": {\"egress\": {\"vault\": {\"address\": \"https://v\"}}}}",
        "egress.vault: set exactly one of kubernetesRole and tokenSecret",
    ),
    (
        "{\"runner\": {\"egress\": {\"vault\": {\"kubernetesRole\": \"r\"}}}}",
        "egress.vault: address is missing",
    ),
    (
        "{\"runner\": {\"egress\": {\"secrets\": {\"A\": {\"requests\": [\"x.example\"]}}}}}",
        "egress.secrets.A: set exactly one of secret and vault",
    ),
    (
        "{\"runner\": {\"egress\": {\"secrets\": {\"A\": {\"requests\": [\"x.example\"], \"vault\": {\"path\": \"p\", \"field\": \"f\"}}}}}}",
        "egress.secrets.A: vault is set without pools.default.egress.vault.address",
    ),
    (
        "{\"runner\": {\"egress\": {\"secrets\": {\"A\": {\"requests\": [\"x.example\"], \"file\": \"/x\"}}}}}",
        "runner.egress.secrets.A: Additional property file is not allowed",
    ),
    ("{\"runner\": {\"image\": {\"digest\": \"latest\"}}}", "runner.image.digest: Does not match pattern"),
    ("{\"tokens\": {\"agent\": {\"roles\": [\"root\"]}}}", "must be one of the following: \"executor\""),
    ("{\"tokens\": {\"agent\": {\"roles\": [\"runner\"]}}}", "must be one of the following: \"executor\""),
    (
        "{\"tokens\": {\"agent\": null, \"operator\": null}}",
        "no caller is configured: add one to tokens or identities",
    ),
    ("{\"identities\": [{\"name\": \"x\"}]}", "identities.0: tenant is required"),
    (
        "{\"identities\": [{\"name\": \"agent\", \"tenant\": \"t\", \"roles\": [\"admin\"], \"match\": {\"dns\": \"x\"}}]}",
        "the name agent is used twice",
    ),
    (
        "{\"identities\": [{\"name\": \"x\", \"tenant\": \"t\", \"roles\": [\"admin\"], \"match\": {\"dns\": \"x\", \"spiffe\": \"spiffe://a/b\"}}]}",
        "identities.0.match: Must have at most 1 properties",
    ),
    ("{\"certificates\": {\"source\": \"vault\"}}", "must be one of the following: \"chart\""),
    ("{\"certificates\": {\"source\": \"secrets\"}}", "set certificates.secrets.server"),
    ("{\"telemetry\": {\"otlpEndpoint\": \"grpc://x:1\"}}", "telemetry.otlpEndpoint: Does not match"),
    (
        "{\"telemetry\": {\"otlpEndpoint\": \"http://x:1\", \"caSecret\": {\"name\": \"x\"}}}",
        "set telemetry.otlpEndpoint to an https:// address",
    ),
    ("{\"networkPolicy\": {\"clients\": [{}]}}", "networkPolicy.clients.0: Must have at least 1 properties"),
    ("{\"networkPolicy\": {\"dns\": []}}", "networkPolicy.dns: Array must have at least 1 items"),
    (
        "{\"networkPolicy\": {\"runnerEgress\": [{\"ports\": []}]}}",
        "networkPolicy.runnerEgress.0: to is required",
    ),
    ("{\"fullnameOverride\": \"Airlock\"}", "fullnameOverride: Does not match pattern"),
    (
        "{\"server\": {\"autoscaling\": {\"enabled\": true, \"minReplicas\": 7}}, \"store\": {\"backend\": \"postgres\", \"postgres\": {\"url\": \"postgres://a@b/c\"}}, \"outputs\": {\"backend\": \"s3\", \"s3\": {\"bucket\": \"b\"}}}",
        "server.autoscaling: minReplicas (7) is more than maxReplicas (6)",
    ),
    (
        "{\"pools\": {\"large\": {\"maxReplicas\": 3, \"autoscaling\": {\"enabled\": true, \"minReplicas\": 4}}}}",
        "pools.large: autoscaling.minReplicas (4) is more than maxReplicas (3)",
    ),
    (
        "{\"runner\": {\"autoscaling\": {\"enabled\": true}}}",
        "pools.default: autoscaling.minReplicas (2) is more than maxReplicas (0)",
    ),
    (
        "{\"server\": {\"service\": {\"type\": \"LoadBalancer\"}}}",
        "name the clients' addresses in networkPolicy.clientCIDRs",
    ),
    (
        "{\"server\": {\"service\": {\"type\": \"NodePort\"}}}",
        "server.service.type is NodePort, but the network policy admits no address",
    ),
    (
        "{\"server\": {\"service\": {\"loadBalancerSourceRanges\": [\"10.0.0.0/8\"]}}}",
        "loadBalancerSourceRanges is set, but server.service.type is ClusterIP",
    ),
    (
        "{\"networkPolicy\": {\"clientCIDRs\": [\"10.0.0.1\"]}}",
        "networkPolicy.clientCIDRs.0: Does not match pattern",
    ),
    ("{\"networkPolicy\": {\"dnsPort\": 0}}", "networkPolicy.dnsPort: Must be greater than or equal to 1"),
    (
        "{\"server\": {\"env\": [{\"name\": \"AIRLOCK_ADVERTISE\", \"value\": \"https://x:1\"}]}}",
        "server.env: AIRLOCK_ADVERTISE is set twice, or by the chart itself",
    ),
    (
        "{\"runner\": {\"env\": [{\"name\": \"A\", \"value\": \"1\"}, {\"name\": \"A\", \"value\": \"2\"}]}}",
        "pools.default.env: A is set twice",
    ),
    ("{\"runner\": {\"env\": [{\"name\": \"A\"}]}}", "runner.env.0: Must have at least 2 properties"),
    (
        "{\"server\": {\"extraVolumes\": [{\"name\": \"tls\", \"emptyDir\": {}}]}}",
        "server.extraVolumes: the name tls is used twice",
    ),
    (
        "{\"runner\": {\"extraVolumeMounts\": [{\"name\": \"cache\", \"mountPath\": \"/c\"}]}}",
        "no volume cache is in extraVolumes",
    ),
    (
        "{\"runner\": {\"security\": {\"runAsUser\": 0}}}",
        "runner.security.runAsUser: Must be greater than or equal to 1",
    ),
    (
        "{\"server\": {\"affinity\": {\"nodesAffinity\": {}}}}",
        "server.affinity: Additional property nodesAffinity",
    ),
    (
        "{\"runner\": {\"security\": {\"seLinuxOptions\": {\"kind\": \"x\"}}}}",
        "runner.security.seLinuxOptions: Additional property kind",
    ),
];

#[test]
fn a_wrong_value_is_refused_with_where_and_what() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("values.json");
    for (values, said) in REFUSED {
        fs::write(&file, values).unwrap();
        let Err(error) = render(&["--values", file.to_str().unwrap()]) else {
            panic!("{values} was accepted")
        };
        assert!(error.contains(said), "{values}: {error}");
    }
    // At every level of the default values, no unknown key is accepted.
    let defaults =
        Command::new(tool("helm")).args(["show", "values"]).arg(chart::directory()).output().unwrap();
    let defaults = chart::read(format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nvalues:\n{}",
        indented(&String::from_utf8(defaults.stdout).unwrap())
    ));
    let mut levels = Vec::new();
    objects(&defaults.documents[0]["values"], &mut Vec::new(), &mut levels);
    assert!(levels.len() > 40, "{levels:?}");
    let closed: Vec<&Vec<String>> = levels.iter().filter(|level| !is_open(level)).collect();
    let mut unknown = json!({});
    for level in &closed {
        let pointer: String = level.iter().map(|key| format!("/{key}")).collect();
        insert(&mut unknown, level);
        unknown.pointer_mut(&pointer).unwrap()["unknownValue"] = json!(1);
    }
    fs::write(&file, unknown.to_string()).unwrap();
    let Err(error) = render(&["--values", file.to_str().unwrap()]) else { panic!("{unknown} was accepted") };
    for level in closed {
        let place = if level.is_empty() { "(root)".to_owned() } else { level.join(".") };
        let told =
            [format!("- {place}: Additional property unknownValue"), format!("- {place}.unknownValue: ")];
        assert!(told.iter().any(|told| error.contains(told)), "{place}: {error}");
    }
}

/// Inserts an object at this path, and those above it.
fn insert(values: &mut Value, path: &[String]) {
    path.iter().fold(values, |at, key| at.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({})));
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

/// Reports whether the keys of a level are the user's own, such as labels.
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
