//! Tests under the restrictions of a pod: the layers that work, the report of `doctor`, and that no command runs below
//! the floor. Each container is real; the table in `docs/doctor.md` contains the results.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fs;

use airlock_tests::{
    pod::{DEFAULT_CAPABILITIES, Pod, SecurityContext},
    source,
};
use serde_json::Value;

/// No requirements: root, Docker's capabilities and filter, a masked /proc.
const DEFAULT: SecurityContext = SecurityContext {
    user: 0,
    capabilities: &DEFAULT_CAPABILITIES,
    may_escalate: true,
    read_only_root: false,
    unmasked: false,
    may_mount: false,
    host_users: true,
};
/// The restricted Pod Security Standard.
const RESTRICTED: SecurityContext =
    SecurityContext { user: 1000, capabilities: &[], may_escalate: false, read_only_root: true, ..DEFAULT };
/// The same with a filter that permits namespaces and mounts, as podman starts containers.
const MASKED: SecurityContext = SecurityContext { may_mount: true, ..RESTRICTED };
/// The chart's settings with a filter on the node.
const LOCALHOST: SecurityContext = SecurityContext { unmasked: true, host_users: false, ..MASKED };
/// The chart's defaults: RuntimeDefault permits mounts with CAP_SYS_ADMIN, which is effective only in the pod's
/// user namespace.
const ADMIN: SecurityContext =
    SecurityContext { capabilities: &["CAP_SYS_ADMIN"], may_escalate: true, ..LOCALHOST };

const PROBES: [&str; 7] =
    ["capabilities", "gain-privileges", "namespaces", "mount", "device", "sysctl", "interfaces"];

/// The results in a container.
struct Seen {
    /// The checks of `doctor`.
    checks: Vec<Value>,
    /// The exit code of `doctor`.
    doctor: i32,
    /// The exit code and the output of a command.
    run: (i32, String),
    errors: String,
}

fn look(context: &SecurityContext) -> Seen {
    let probes: String = PROBES.map(|test| format!("/workspace/airlock-probe {test}; ")).concat();
    let script = format!(
        "mkdir -p $HOME; airlock doctor --host --json; echo \"@ $?\"; \
         airlock run --local --base /opt/airlock/base -- '{probes} echo ran'; echo \"@ $?\""
    );
    let output = Pod::new().run(context, &script);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let parts: Vec<&str> = text.split("@ ").collect();
    let [doctor, run, code] = parts.as_slice() else { panic!("{text}\n{errors}") };
    let (doctor_code, run) = run.split_once('\n').unwrap();
    let report: Value = serde_json::from_str(doctor).unwrap();
    Seen {
        checks: report.get("checks").and_then(Value::as_array).unwrap().clone(),
        doctor: doctor_code.trim().parse().unwrap(),
        run: (code.trim().parse().unwrap(), run.to_owned()),
        errors,
    }
}

impl Seen {
    fn of(&self, name: &str, key: &str) -> &str {
        let check = self.checks.iter().find(|check| check.get("name").and_then(Value::as_str) == Some(name));
        check.and_then(|check| check.get(key)).and_then(Value::as_str).unwrap_or("not told")
    }

    /// Returns the remedies for everything that prevents commands from running.
    fn remedies(&self) -> String {
        let needed = |check: &&Value| {
            let is = |key: &str, value: &Value| check.get(key) == Some(value);
            is("needed", &true.into()) && !is("state", &"ok".into())
        };
        let remedies = self.checks.iter().filter(needed).filter_map(|check| check.get("remedy")?.as_str());
        let mut remedies: Vec<&str> = remedies.filter(|remedy| !remedy.is_empty()).collect();
        remedies.push(self.of("user_namespaces", "remedy"));
        remedies.join("\n")
    }

    /// Asserts that the command did not run and was refused with a reason.
    fn assert_refused(&self) {
        assert_ne!(self.doctor, 0, "doctor's exit code reports it: {:#?}", self.checks);
        assert_ne!(self.run.0, 0, "{}", self.run.1);
        assert!(!self.run.1.contains("ran"), "{}", self.run.1);
        assert!(self.errors.contains("below the floor"), "{}", self.errors);
    }

    /// Asserts that a command ran, and that the probe reached no object outside.
    fn assert_isolated(&self) {
        assert_eq!(self.doctor, 0, "{:#?}", self.checks);
        assert_eq!(self.run.0, 0, "{}\n{}", self.run.1, self.errors);
        let lines: Vec<&str> = self.run.1.lines().collect();
        assert_eq!(lines.last(), Some(&"ran"), "{lines:#?}\n{}", self.errors);
        let findings: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!(findings.len(), PROBES.len(), "{lines:#?}");
        for finding in findings {
            assert_eq!(finding.get("reached"), Some(&false.into()), "{finding:#}");
        }
    }

    /// Asserts that the column of the documentation's table matches the results.
    fn assert_documented(&self, column: &str) {
        let page = fs::read_to_string(source::root().join("docs/doctor.md")).unwrap();
        let rows: Vec<Vec<&str>> = page
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
            .collect();
        let head = rows.iter().find(|row| row.contains(&column)).unwrap_or_else(|| panic!("no `{column}`"));
        let at = head.iter().position(|cell| *cell == column).unwrap();
        let told: Vec<(&str, &str)> = rows
            .iter()
            .filter(|row| row.len() == head.len() && row.get(at).is_some_and(|cell| STATES.contains(cell)))
            .filter_map(|row| Some((*row.get(1)?, *row.get(at)?)))
            .collect();
        let seen: Vec<(&str, &str)> = told.iter().map(|(name, _)| (*name, self.of(name, "state"))).collect();
        assert_eq!(told, seen, "{column}: {:#?}", self.checks);
        for layer in airlock_sandbox::LAYERS.iter().filter(|layer| layer.floor) {
            assert!(told.iter().any(|(name, _)| *name == layer.name), "no line for `{}`", layer.name);
        }
    }
}

const STATES: [&str; 3] = ["ok", "degraded", "missing"];

#[test]
fn with_nothing_asked_for_no_command_runs_and_every_field_is_named() {
    let seen = look(&DEFAULT);
    seen.assert_refused();
    for field in
        ["procMount: Unmasked", "hostUsers: false", "seccompProfile", "capabilities.add: [SYS_ADMIN]"]
    {
        assert!(seen.remedies().contains(field), "`{field}` in {}", seen.remedies());
    }
    seen.assert_documented("default");
}

#[test]
fn with_everything_dropped_no_command_runs_and_every_field_is_named() {
    let seen = look(&RESTRICTED);
    seen.assert_refused();
    for field in ["procMount: Unmasked", "hostUsers: false", "seccompProfile", "Localhost"] {
        assert!(seen.remedies().contains(field), "`{field}` in {}", seen.remedies());
    }
    seen.assert_documented("restricted");
}

#[test]
fn with_a_masked_proc_no_command_runs_and_the_one_field_is_named() {
    let seen = look(&MASKED);
    seen.assert_refused();
    assert_eq!(seen.of("user_namespaces", "state"), "ok", "{:#?}", seen.checks);
    assert!(seen.of("fresh_proc", "remedy").contains("procMount: Unmasked"), "{:#?}", seen.checks);
    assert!(seen.of("sandbox", "remedy").contains("procMount: Unmasked"), "{:#?}", seen.checks);
    seen.assert_documented("masked");
}

#[test]
fn as_the_chart_sets_it_with_a_filter_of_the_node_commands_run_fully_isolated() {
    let seen = look(&LOCALHOST);
    seen.assert_isolated();
    seen.assert_documented("chart, Localhost");
}

#[test]
fn as_the_chart_sets_it_by_default_commands_run_fully_isolated() {
    let seen = look(&ADMIN);
    seen.assert_isolated();
    seen.assert_documented("chart");
}
