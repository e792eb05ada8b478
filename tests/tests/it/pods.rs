//! Under the restrictions of a pod: what works, what `doctor` says, and that no command runs with less than the
//! floor. Each container is real; the table in `docs/doctor.md` is what these tests saw.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fs;

use airlock_tests::{
    pod::{DEFAULT_CAPABILITIES, Pod, SecurityContext},
    source,
};
use serde_json::Value;

/// Nothing is asked for: root, Docker's capabilities and filter, a masked /proc.
const DEFAULT: SecurityContext = SecurityContext {
    user: 0,
    capabilities: &DEFAULT_CAPABILITIES,
    may_escalate: true,
    read_only_root: false,
    unmasked: false,
    may_mount: false,
    host_users: true,
};
/// As clusters ask of their pods: the standard called restricted.
const RESTRICTED: SecurityContext =
    SecurityContext { user: 1000, capabilities: &[], may_escalate: false, read_only_root: true, ..DEFAULT };
/// The same, and a filter that lets namespaces and mounts through; as podman starts containers.
const MASKED: SecurityContext = SecurityContext { may_mount: true, ..RESTRICTED };
/// What the chart sets with a filter of the node's.
const LOCALHOST: SecurityContext = SecurityContext { unmasked: true, host_users: false, ..MASKED };
/// What the chart sets by default: RuntimeDefault lets mounts through for CAP_SYS_ADMIN, which counts in the
/// pod's user namespace only.
const ADMIN: SecurityContext =
    SecurityContext { capabilities: &["CAP_SYS_ADMIN"], may_escalate: true, ..LOCALHOST };

const PROBES: [&str; 7] =
    ["capabilities", "gain-privileges", "namespaces", "mount", "device", "sysctl", "interfaces"];

/// What a container showed.
struct Seen {
    /// Of `doctor`.
    checks: Vec<Value>,
    /// Its exit code.
    doctor: i32,
    /// Exit code and output of a command.
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

    /// The cures of everything that keeps commands from running.
    fn cures(&self) -> String {
        let needed = |check: &&Value| {
            let is = |key: &str, value: &Value| check.get(key) == Some(value);
            is("needed", &true.into()) && !is("state", &"ok".into())
        };
        let cures = self.checks.iter().filter(needed).filter_map(|check| check.get("cure")?.as_str());
        let mut cures: Vec<&str> = cures.filter(|cure| !cure.is_empty()).collect();
        cures.push(self.of("user_namespaces", "cure"));
        cures.join("\n")
    }

    /// Nothing ran: the command was refused, and why was said.
    fn assert_refused(&self) {
        assert_ne!(self.doctor, 0, "doctor tells by its exit code: {:#?}", self.checks);
        assert_ne!(self.run.0, 0, "{}", self.run.1);
        assert!(!self.run.1.contains("ran"), "{}", self.run.1);
        assert!(self.errors.contains("below the floor"), "{}", self.errors);
    }

    /// A command ran, and whatever the probe tried was out of its reach.
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

    /// The column of the documentation's table is what was seen.
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
        assert!(seen.cures().contains(field), "`{field}` in {}", seen.cures());
    }
    seen.assert_documented("default");
}

#[test]
fn with_everything_dropped_no_command_runs_and_every_field_is_named() {
    let seen = look(&RESTRICTED);
    seen.assert_refused();
    for field in ["procMount: Unmasked", "hostUsers: false", "seccompProfile", "Localhost"] {
        assert!(seen.cures().contains(field), "`{field}` in {}", seen.cures());
    }
    seen.assert_documented("restricted");
}

#[test]
fn with_a_masked_proc_no_command_runs_and_the_one_field_is_named() {
    let seen = look(&MASKED);
    seen.assert_refused();
    assert_eq!(seen.of("user_namespaces", "state"), "ok", "{:#?}", seen.checks);
    assert!(seen.of("fresh_proc", "cure").contains("procMount: Unmasked"), "{:#?}", seen.checks);
    assert!(seen.of("sandbox", "cure").contains("procMount: Unmasked"), "{:#?}", seen.checks);
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
