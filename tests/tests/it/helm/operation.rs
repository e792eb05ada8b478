//! The parts of the chart for an operator: autoscalers, load balancers, evictions, the end of pods, and additional
//! fields in each pod.

use airlock_tests::{
    chart::{self, Rendered, render},
    source,
};
use serde_json::{Value, json};

use super::{container, rendered};

fn set(name: &str) -> Rendered {
    rendered(&chart::directory().join(format!("ci/{name}-values.yaml")))
}

fn pod(workload: &Value) -> &Value {
    &workload["spec"]["template"]["spec"]
}

#[test]
fn an_upgrade_leaves_the_number_of_runners_to_the_autoscaler() {
    let fixed = render(&[]).unwrap();
    assert_eq!(fixed.document("StatefulSet", "r-airlock-default")["spec"]["replicas"], 2);
    assert_eq!(fixed.count("HorizontalPodAutoscaler"), 0);

    let scaled = set("autoscaling");
    for pool in ["default", "queue", "slots"] {
        let set = scaled.document("StatefulSet", &format!("r-airlock-{pool}"));
        assert_eq!(set["spec"]["replicas"], Value::Null, "{pool}: the autoscaler sets it");
        let sources =
            pod(set)["volumes"].as_array().unwrap().iter().find(|one| one["name"] == "pool").unwrap();
        assert_eq!(
            sources["projected"]["sources"].as_array().unwrap().len(),
            20,
            "{pool}: certificates for all"
        );
    }
    let scaler = &scaled.document("HorizontalPodAutoscaler", "r-airlock-default")["spec"];
    assert_eq!(
        scaler["scaleTargetRef"],
        json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "r-airlock-default" })
    );
    assert_eq!((&scaler["minReplicas"], &scaler["maxReplicas"]), (&json!(3), &json!(20)));
    assert_eq!(scaler["metrics"][0]["resource"]["target"]["averageUtilization"], 60);
    let own = &scaled.document("HorizontalPodAutoscaler", "r-airlock-slots")["spec"]["metrics"];
    assert_eq!(own[0]["external"]["metric"]["name"], "airlock_executions_queued");
    let names: Vec<&str> =
        scaled.of("HorizontalPodAutoscaler").map(|one| one["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}: `queue` has an autoscaler of the operator");
}

/// Returns the CIDRs that may call the servers.
fn admitted(rendered: &Rendered) -> Vec<&str> {
    let policy = rendered.document("NetworkPolicy", "r-airlock-server");
    let peers = policy["spec"]["ingress"][0]["from"].as_array().unwrap().iter();
    peers.filter_map(|peer| peer["ipBlock"]["cidr"].as_str()).collect()
}

#[test]
fn the_network_policy_admits_the_clients_of_a_load_balancer() {
    let balanced = set("telemetry");
    assert_eq!(admitted(&balanced), ["203.0.113.0/24", "2001:db8::/32", "198.51.100.7/32"]);
    let service = &balanced.document("Service", "r-airlock-server")["spec"];
    assert_eq!(
        (&service["type"], &service["externalTrafficPolicy"], &service["ipFamilyPolicy"]),
        (&json!("LoadBalancer"), &json!("Local"), &json!("PreferDualStack"))
    );
    assert_eq!(service["loadBalancerSourceRanges"], json!(["203.0.113.0/24", "198.51.100.7/32"]));

    let inside = render(&[]).unwrap();
    assert_eq!(admitted(&inside), Vec::<&str>::new());
    let service = &inside.document("Service", "r-airlock-server")["spec"];
    assert_eq!((&service["type"], &service["externalTrafficPolicy"]), (&json!("ClusterIP"), &Value::Null));
    // Without policies, no connection is blocked.
    let open = render(&["--set", "server.service.type=LoadBalancer,networkPolicy.enabled=false"]).unwrap();
    assert_eq!(open.problems(), Vec::<String>::new());
}

#[test]
fn the_dns_port_and_the_databases_are_reached() {
    let rendered = set("openshift");
    for policy in ["r-airlock-server", "r-airlock-runners"] {
        let egress = rendered.document("NetworkPolicy", policy)["spec"]["egress"].as_array().unwrap();
        assert_eq!(
            egress[1]["ports"],
            json!([{ "port": 5353, "protocol": "UDP" }, { "port": 5353, "protocol": "TCP" }]),
            "{policy}"
        );
    }
    // A digit at the end of a host's name is not a port.
    let database = ["--set", "store.backend=postgres,store.postgres.url=postgres://a@database1/b"];
    let rendered = render(&database).unwrap();
    let egress = &rendered.document("NetworkPolicy", "r-airlock-server")["spec"]["egress"];
    assert_eq!(egress[2]["ports"], json!([{ "port": 5432 }]));
}

/// Returns a duration in an example configuration, in seconds.
fn example(program: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(source::root().join(format!("deploy/{program}.toml"))).unwrap();
    let mut lines = text.lines().map(|line| line.trim_start_matches("# "));
    let value = lines.find_map(|line| line.strip_prefix(&format!("{key} = \""))).unwrap();
    value.trim_end_matches("s\"").parse().unwrap()
}

fn grace(workload: &Value) -> u64 {
    pod(workload)["terminationGracePeriodSeconds"].as_u64().unwrap()
}

#[test]
fn pods_have_the_time_that_their_programs_take_to_stop() {
    let server =
        |options: &[&str]| grace(render(options).unwrap().document("Deployment", "r-airlock-server"));
    let own = example("server", "shutdown_grace");
    let rest = server(&[]) - own;
    assert!(rest >= 5 + 6, "{rest}: preStop, the store and telemetry");
    for (told, seconds) in
        [("2m", 120), ("1h 30m", 5400), ("1500ms", 2), ("090s", 90), ("10us", 1), ("1d", 86400)]
    {
        let value = format!("server.config.limits.shutdown_grace={told}");
        assert_eq!(server(&["--set", &value]), seconds + rest, "{told}");
    }

    let runner =
        |options: &[&str]| grace(render(options).unwrap().document("StatefulSet", "r-airlock-default"));
    let ending = example("runner", "max_grace") + example("runner", "flush_timeout");
    let usual = runner(&[]);
    assert!(
        usual >= 300 + 5 + ending + 2 * 30,
        "{usual}: preStop, the drain, the commands' end, output and results"
    );
    for (value, more) in [
        ("runner.drain.graceSeconds=301", 1),
        ("runner.drain.handoverSeconds=31", 2),
        ("runner.config.floor.max_grace=1m", 30),
        ("runner.config.telemetry.flush_timeout=25s", 20),
    ] {
        assert_eq!(runner(&["--set", value]), usual + more, "{value}");
    }
}

#[test]
fn runners_are_evicted_one_after_the_other_and_spread_over_nodes() {
    let rendered = render(&[]).unwrap();
    let set = rendered.document("StatefulSet", "r-airlock-default");
    let labels = set["spec"]["template"]["metadata"]["labels"].as_object().unwrap();
    let budget = &rendered.document("PodDisruptionBudget", "r-airlock-default")["spec"];
    assert_eq!(
        (&budget["maxUnavailable"], &budget["unhealthyPodEvictionPolicy"]),
        (&json!(1), &json!("AlwaysAllow"))
    );
    let selected = &budget["selector"]["matchLabels"];
    assert_eq!(selected, &set["spec"]["selector"]["matchLabels"], "those of one pool");
    let spread = pod(set)["topologySpreadConstraints"].as_array().unwrap();
    let keys: Vec<&str> = spread.iter().map(|one| one["topologyKey"].as_str().unwrap()).collect();
    assert_eq!(keys, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
    for constraint in spread {
        assert_eq!(constraint["whenUnsatisfiable"], "ScheduleAnyway");
        let selected = constraint["labelSelector"]["matchLabels"].as_object().unwrap();
        assert!(selected.iter().all(|(key, value)| labels.get(key) == Some(value)), "{selected:?}");
        assert!(selected.contains_key("airlock/pool"));
    }

    let other = self::set("openshift");
    let budget = &other.document("PodDisruptionBudget", "r-airlock-default")["spec"];
    assert_eq!(budget["maxUnavailable"], 2);
    assert_eq!(other.count("PodDisruptionBudget"), 2, "the server's and one pool's");
    let set = other.document("StatefulSet", "r-airlock-default");
    assert_eq!(pod(set)["topologySpreadConstraints"][0]["whenUnsatisfiable"], "DoNotSchedule");
    assert_eq!(
        pod(other.document("StatefulSet", "r-airlock-small"))["topologySpreadConstraints"],
        Value::Null
    );
}

#[test]
fn a_company_adds_its_fields_to_each_pod() {
    let rendered = set("openshift");
    let server = rendered.document("Deployment", "r-airlock-server");
    let runner = rendered.document("StatefulSet", "r-airlock-default");
    let test = rendered.document("Pod", "r-airlock-test-run");
    // Users and groups: those of the cluster, or those in the values.
    for spec in [pod(server), &test["spec"]] {
        let security = &spec["securityContext"];
        assert_eq!(security["runAsNonRoot"], true);
        assert_eq!(security["seLinuxOptions"], json!({ "level": "s0:c26,c5" }));
        for field in ["runAsUser", "runAsGroup", "fsGroup"] {
            assert_eq!(security[field], Value::Null, "{field}");
            assert_eq!(pod(runner)["securityContext"][field], 4242, "{field}");
        }
    }
    assert_eq!(pod(runner)["securityContext"]["seLinuxOptions"], json!({ "type": "container_engine_t" }));

    // Service accounts that the chart creates, and an existing one.
    let small = rendered.document("StatefulSet", "r-airlock-small");
    for (workload, account) in [(server, "r-airlock-server"), (runner, "r-airlock-runner"), (small, "small")]
    {
        assert_eq!(pod(workload)["serviceAccountName"], account);
        assert_eq!(pod(workload)["automountServiceAccountToken"], false);
    }
    let account = rendered.document("ServiceAccount", "r-airlock-server");
    assert!(account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"].is_string());
    assert_eq!(account["automountServiceAccountToken"], false);
    assert_eq!(
        pod(render(&[]).unwrap().document("Deployment", "r-airlock-server"))["serviceAccountName"],
        Value::Null
    );

    // Additional variables, volumes and affinity.
    let variables = |workload: &Value| -> Vec<String> {
        let env = container(workload)["env"].as_array().unwrap();
        env.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(variables(server), ["HTTPS_PROXY", "OTEL_EXPORTER_OTLP_HEADERS"]);
    assert_eq!(variables(runner), ["HTTPS_PROXY"]);
    for (workload, volume, path) in
        [(server, "authorities", "/etc/ssl/certs"), (runner, "package-cache", "/srv/cache")]
    {
        let named = |list: &Value| {
            let found = list.as_array().unwrap().iter().find(|one| one["name"] == volume);
            found.unwrap_or_else(|| panic!("there is no `{volume}`")).clone()
        };
        assert!(named(&pod(workload)["volumes"]).is_object());
        assert_eq!(named(&container(workload)["volumeMounts"])["mountPath"], path);
    }
    assert!(pod(server)["affinity"]["nodeAffinity"].is_object());
    assert!(pod(runner)["affinity"]["podAntiAffinity"].is_object());
}

/// Returns the configuration of a program as the chart renders it.
fn config(rendered: &Rendered, map: &str, program: &str) -> toml::Table {
    let data = &rendered.document("ConfigMap", map)["data"];
    data[format!("{program}.toml")].as_str().unwrap().parse().unwrap()
}

#[test]
fn pods_of_a_cluster_with_ipv6_alone_listen_and_find_each_other() {
    let rendered = set("postgres-s3");
    let server = config(&rendered, "r-airlock-server", "server");
    for key in ["address", "probes"] {
        let address: std::net::SocketAddr = server["listen"][key].as_str().unwrap().parse().unwrap();
        assert!(address.is_ipv6() && address.ip().is_unspecified(), "{key}: {address}");
    }
    // Kubernetes provides a bare address of either family.
    let env = container(rendered.document("Deployment", "r-airlock-server"))["env"].as_array().unwrap();
    let own = env.iter().find(|one| one["name"] == "AIRLOCK_ADVERTISE").unwrap();
    assert_eq!(own["valueFrom"]["fieldRef"]["fieldPath"], "status.podIP");
    // Storage and the collector may also be at IP addresses.
    let addresses = [
        "--set",
        "telemetry.otlpEndpoint=http://[fd00::5]:4318,outputs.backend=s3,outputs.s3.bucket=b",
        "--set",
        "outputs.s3.endpoint=https://[fd00::6]:9001,store.backend=postgres",
        "--set",
        "store.postgres.url=postgres://a@[fd00::7]/b,networkPolicy.clientCIDRs={fd00::/8}",
    ];
    let rendered = render(&addresses).unwrap();
    assert_eq!(rendered.problems(), Vec::<String>::new());
    assert_eq!(admitted(&rendered), ["fd00::/8"]);
    let egress = rendered.document("NetworkPolicy", "r-airlock-server")["spec"]["egress"].as_array().unwrap();
    let ports: Vec<&Value> = egress.iter().map(|rule| &rule["ports"][0]["port"]).collect();
    assert_eq!(ports, [&json!(7443), &json!(53), &json!(4318), &json!(5432), &json!(9001)]);
}

#[test]
fn telemetry_goes_out_by_tls_and_names_the_installation() {
    let secure = set("telemetry");
    for (map, program, workload) in [
        ("r-airlock-server", "server", secure.document("Deployment", "r-airlock-server")),
        ("r-airlock-default", "runner", secure.document("StatefulSet", "r-airlock-default")),
    ] {
        let telemetry = config(&secure, map, program)["telemetry"].clone();
        assert_eq!(telemetry["otlp_endpoint"].as_str(), Some("https://collector.observability:4317"));
        assert_eq!(telemetry["service_namespace"].as_str(), Some("production"));
        let volumes = pod(workload)["volumes"].as_array().unwrap();
        let volume = volumes.iter().find(|one| one["name"] == "telemetry").unwrap();
        let sources = volume["projected"]["sources"].as_array().unwrap().iter();
        let files: Vec<(&str, &str)> = sources
            .map(|source| {
                let item = &source["secret"]["items"][0];
                (source["secret"]["name"].as_str().unwrap(), item["path"].as_str().unwrap())
            })
            .collect();
        let (authority, client) = ("observability-authority", "airlock-collector-client");
        assert_eq!(files, [(authority, "ca.crt"), (client, "tls.crt"), (client, "tls.key")], "{program}");
        let mounts = container(workload)["volumeMounts"].as_array().unwrap();
        let mount = mounts.iter().find(|one| one["name"] == "telemetry").unwrap();
        assert_eq!(mount["subPath"], Value::Null, "renewed files arrive");
        for (key, file) in [("otlp_ca", "ca.crt"), ("otlp_certificate", "tls.crt"), ("otlp_key", "tls.key")] {
            let path = format!("{}/{file}", mount["mountPath"].as_str().unwrap());
            assert_eq!(telemetry[key].as_str(), Some(path.as_str()));
        }
    }
    let usual = render(&[]).unwrap();
    let telemetry = config(&usual, "r-airlock-server", "server")["telemetry"].clone();
    assert_eq!(telemetry["service_namespace"].as_str(), Some("default/r-airlock"), "namespace and name");
    assert_eq!(telemetry.get("otlp_endpoint"), None);
}
