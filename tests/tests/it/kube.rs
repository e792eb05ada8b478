//! The images and the chart in operation: built, run by podman as rendered, and used for a command. The effects of the
//! pods' settings are read from the OCI configurations of their containers.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{collections::BTreeSet, fs, process::Command};

use airlock_tests::{chart, cluster::Cluster, images::Images, source};
use serde_json::Value;

const SERVER: &str = "r-airlock-server-0";
const RUNNER: &str = "r-airlock-default-0";
const TEST: &str = "r-airlock-test-run";
const READY: [&str; 4] = ["airlock-runner", "ready", "--config", "/etc/airlock/config/runner.toml"];
const DOCTOR: [&str; 5] =
    ["airlock-runner", "doctor", "--json", "--config", "/etc/airlock/config/runner.toml"];
const DRAIN: [&str; 4] = ["airlock-runner", "drain", "--config", "/etc/airlock/config/runner.toml"];

fn rendered(options: &[&str]) -> String {
    chart::render(options).unwrap().text
}

/// Starts the server and a runner, and waits until they are linked.
fn play(rendered: &str) -> Cluster {
    let cluster = Cluster::new(Images::build(), rendered);
    cluster.start(SERVER);
    cluster.get_until(SERVER, "/readyz");
    cluster.start(RUNNER);
    cluster
}

/// One cluster for all checks of the default rendering: starting its pods takes longer than the checks.
#[test]
fn the_default_rendering_plays_and_a_command_goes_through_it() {
    let cluster = play(&rendered(&[]));
    cluster.exec_until(RUNNER, "runner", &READY);
    a_runner_works_with_exactly_the_settings_of_the_chart(&cluster);
    the_servers_image_holds_no_shell_and_each_says_what_is_in_it(&cluster);
    a_command_goes_through_it(&cluster);
    the_runner_drains_and_the_pods_end(&cluster);
}

fn a_command_goes_through_it(cluster: &Cluster) {
    assert_eq!(cluster.pods(), [RUNNER, "r-airlock-default-1", SERVER, TEST]);
    cluster.start("r-airlock-default-1");
    for runner in [RUNNER, "r-airlock-default-1"] {
        cluster.exec_until(runner, "runner", &READY);
    }
    // `helm test` with the certificates and the token from the chart.
    cluster.start(TEST);
    assert_eq!((cluster.ended(TEST, "run"), cluster.logs(TEST, "run").trim()), (0, "airlock runs commands"));

    println!("what became of what was rendered:");
    let mut left_out = BTreeSet::new();
    for (kind, name, how) in cluster.documents() {
        println!("  {kind} {name}: {how}");
        if how.starts_with("left out") {
            left_out.insert(kind.as_str());
        }
    }
    assert_eq!(left_out, BTreeSet::from(["NetworkPolicy", "PodDisruptionBudget"]));
}

/// As Kubernetes stops a runner's pod: the hook, then SIGTERM.
fn the_runner_drains_and_the_pods_end(cluster: &Cluster) {
    let drained = cluster.exec(RUNNER, "runner", &DRAIN);
    assert!(drained.status.success(), "{drained:?}");
    let ready = cluster.exec(RUNNER, "runner", &READY);
    assert!(String::from_utf8_lossy(&ready.stderr).contains("it drains"), "readiness follows: {ready:?}");
    assert_eq!(cluster.terminate(RUNNER, "runner"), 0, "{}", cluster.logs(RUNNER, "runner"));
    assert_eq!(cluster.terminate(SERVER, "server"), 0, "{}", cluster.logs(SERVER, "server"));
}

/// Asserts that each field is effective. `tests/pods/runtime.py` applies the fields that podman ignores.
fn assert_in_force(cluster: &Cluster, pod: &str, ignored: &[&str]) {
    let fields = cluster.applied(pod);
    for field in &fields {
        println!("  {pod} {}: {} ({})", field.name, field.oci, field.by);
        assert!(field.holds, "{field:?}");
    }
    let by_hand: Vec<&str> =
        fields.iter().filter(|field| field.by != "podman").map(|field| field.name.as_str()).collect();
    assert_eq!(by_hand, ignored, "{pod}");
    let page = fs::read_to_string(source::root().join("docs/kubernetes.md")).unwrap();
    for field in &fields {
        assert!(
            page.contains(&format!("| `{}` |", field.name.replace(", ", "`, `"))),
            "{} is not in the tables",
            field.name
        );
    }
}

/// Checks doctor's report. This host has no cgroup v2 for pods and no disk for sessions, which a cluster must provide.
fn assert_well(cluster: &Cluster, pod: &str) {
    let doctor = cluster.exec(pod, "runner", &DOCTOR);
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert!(doctor.status.success(), "{report:#}");
    for check in report["checks"].as_array().unwrap() {
        println!("  doctor {}: {}", check["name"].as_str().unwrap(), check["state"].as_str().unwrap());
        let ok = check["state"] == "ok";
        assert!(ok || check["needed"] == false, "{check}");
        assert!(
            ok || !check["remedy"].as_str().unwrap().is_empty(),
            "the requirement of the cluster is named: {check}"
        );
    }
}

fn a_runner_works_with_exactly_the_settings_of_the_chart(cluster: &Cluster) {
    assert_in_force(cluster, RUNNER, &["hostUsers", "capabilities", "procMount"]);
    assert_in_force(cluster, SERVER, &[]);
    assert_well(cluster, RUNNER);
    // No service account token, no port, no access to directories of the host.
    let mounts = cluster.oci(RUNNER, "runner");
    let mounts: Vec<&str> = mounts["mounts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|mount| mount["destination"].as_str())
        .collect();
    assert!(!mounts.iter().any(|target| target.contains("serviceaccount")), "{mounts:?}");
    let who = cluster.exec(
        RUNNER,
        "runner",
        &["sh", "-c", "id -u; cat /proc/self/uid_map; ls /etc/airlock/tls; touch /x"],
    );
    let said = String::from_utf8_lossy(&who.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said, "1000 0 3000000 65536 ca.crt tls.crt tls.key");
    assert!(String::from_utf8_lossy(&who.stderr).contains("Read-only file system"));
}

#[test]
fn a_runner_works_with_everything_dropped_and_the_filter_that_is_shipped() {
    let cluster = play(&rendered(&["--set", "runner.security.variant=localhost"]));
    cluster.exec_until(RUNNER, "runner", &READY);
    assert_in_force(&cluster, RUNNER, &["hostUsers", "seccompProfile", "procMount"]);
    assert_well(&cluster, RUNNER);
    cluster.start(TEST);
    assert_eq!((cluster.ended(TEST, "run"), cluster.logs(TEST, "run").trim()), (0, "airlock runs commands"));
}

#[test]
fn a_runner_whose_cluster_masks_proc_is_not_ready_and_names_the_field() {
    let rendered = rendered(&[]).replace("procMount: Unmasked", "procMount: Default");
    let cluster = play(&rendered);
    airlock_tests::process::until("it states the reason", airlock_tests::cluster::PATIENCE, || {
        let ready = cluster.exec(RUNNER, "runner", &READY);
        let said = String::from_utf8_lossy(&ready.stderr).into_owned();
        !ready.status.success() && said.contains("floor")
    });
    let doctor = cluster.exec(RUNNER, "runner", &DOCTOR);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("procMount: Unmasked"), "{doctor:?}");
    cluster.start(TEST);
    assert_ne!(cluster.ended(TEST, "run"), 0, "no command runs with less: {}", cluster.logs(TEST, "run"));
}

/// Compares a line of `scripts/images.sh`, `NAME\tN MB\tN packages`, with the documentation's table. Program sizes
/// depend on the build, so a difference of a quarter is accepted.
fn assert_documented(line: &str) {
    let numbers: Vec<f64> =
        line.split('\t').skip(1).filter_map(|part| part.split(' ').next()?.parse().ok()).collect();
    let name = line.split([':', '\t']).next().unwrap().trim_start_matches("localhost/");
    let page = fs::read_to_string(source::root().join("docs/kubernetes.md")).unwrap();
    let row = page.lines().find(|row| row.starts_with(&format!("| `{name}` |"))).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let packages: f64 = cells[5].split(' ').filter_map(|word| word.parse::<f64>().ok()).sum();
    for (told, real) in [(cells[4].parse::<f64>().unwrap(), numbers[0]), (packages, numbers[1])] {
        assert!((told / real - 1.0).abs() < 0.25, "{row}: {line}");
    }
}

/// Checks the files of an image, layer by layer.
fn the_servers_image_holds_no_shell_and_each_says_what_is_in_it(cluster: &Cluster) {
    for shell in ["/bin/sh", "/bin/bash", "/usr/bin/env", "/bin/busybox", "/usr/bin/perl"] {
        let tried = cluster.exec(SERVER, "server", &[shell, "-c", "echo reached"]);
        assert!(!tried.status.success() && tried.stdout.is_empty(), "{shell}: {tried:?}");
    }
    // The control: the runner's image has a shell.
    assert!(cluster.exec(RUNNER, "runner", &["/bin/sh", "-c", "true"]).status.success());
    for (pod, container, uid) in [(SERVER, "server", 65532), (RUNNER, "runner", 1000)] {
        let oci = cluster.oci(pod, container);
        assert_eq!((&oci["process"]["user"]["uid"], &oci["root"]["readonly"]), (&uid.into(), &true.into()));
    }

    let images = cluster.images();
    for line in images.sizes() {
        println!("  {line}");
        assert_documented(&line);
    }
    assert_eq!(images.sizes().len(), 3);
    for (image, system) in [("server", "libc6"), ("client", "ca-certificates"), ("runner", "bubblewrap")] {
        let bill = images.bill(&format!("airlock-{image}.cdx.json"));
        let names: BTreeSet<&str> =
            bill["components"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        for name in [system, "tokio", "rustls"] {
            assert!(names.contains(name), "{image}: no {name}");
        }
        assert_eq!(images.bill(&format!("airlock-{image}.spdx.json"))["spdxVersion"], "SPDX-2.3");
    }
}

#[test]
fn the_filter_that_is_shipped_lets_through_what_commands_may_do_and_not_what_hosts_must_not_suffer() {
    let profile = fs::read(source::root().join("deploy/seccomp/airlock/runner.json")).unwrap();
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    assert_eq!(profile["defaultAction"], "SCMP_ACT_ERRNO");
    let rules = profile["syscalls"].as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["action"] == "SCMP_ACT_ALLOW" && rule["comment"].is_string()));
    let allowed: BTreeSet<&str> =
        rules.iter().flat_map(|rule| rule["names"].as_array().unwrap()).filter_map(Value::as_str).collect();
    for name in ["allow", "checked"] {
        let file = source::root().join(format!("sandbox/seccomp/{name}.toml"));
        let table: toml::Table = fs::read_to_string(file).unwrap().parse().unwrap();
        let entries = table.values().filter_map(toml::Value::as_array).flatten();
        let calls: Vec<&str> = entries
            .flat_map(|entry| {
                entry
                    .get("calls")
                    .and_then(toml::Value::as_array)
                    .into_iter()
                    .flatten()
                    .chain(entry.get("call"))
            })
            .filter_map(toml::Value::as_str)
            .collect();
        assert!(!calls.is_empty(), "{name}");
        for call in calls {
            assert!(allowed.contains(call), "a command may use {call}, which the pod's filter refuses");
        }
    }
    for call in [
        "bpf",
        "init_module",
        "finit_module",
        "kexec_load",
        "reboot",
        "syslog",
        "keyctl",
        "ptrace",
        "perf_event_open",
        "open_by_handle_at",
        "clock_settime",
        "userfaultfd",
        "io_uring_setup",
        "fsopen",
        "swapon",
    ] {
        assert!(!allowed.contains(call), "{call}");
    }
}

#[test]
fn images_sh_rejects_invalid_options() {
    for (options, said) in [
        (["--program", "x"].as_slice(), "`--program` is no option"),
        (&["--tag"], "`--tag` needs a value"),
        (&["--programs", "/nowhere"], "/nowhere/airlock is not there"),
    ] {
        let mut images = Command::new(source::root().join("scripts/images.sh"));
        let directory = airlock_mounts::ScratchDir::new();
        let output =
            images.arg("--out").arg(directory.path()).args(options).env("PODMAN", "false").output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(said), "{options:?}: {errors}");
    }
}
