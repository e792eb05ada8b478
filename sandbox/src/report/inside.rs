//! Derives the check of each layer from the observations inside the sandbox.
//!
//! Must not observe anything itself. It receives the observations from inside and outside the sandbox.

use airlock_init::sight::{Attempt, FILTERED, SESSION_PLACES, Sight};
use airlock_init::wire::HostIds;

use super::facts::Facts;
use super::layers::{Check, lost};

/// The kinds of namespaces that each command has for itself.
const OWN: [&str; 6] = ["user", "pid", "ipc", "uts", "mnt", "cgroup"];
const CAPABILITY_SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
/// All paths that a read-only command may write.
const WRITABLE_OF_READER: [&str; 1] = ["/var/tmp"];
/// Process 1, the shell and the probe itself.
const PROCESSES: usize = 3;
const REPORT_IT: &str =
    "this is a flaw of Airlock or of the kernel: report it, and run no commands here until it is fixed";

/// The observations in a sandbox, and of the process that started it.
pub(super) struct Observations<'a> {
    /// From inside the sandbox.
    pub(super) sight: &'a Sight,
    /// The namespaces of this process.
    pub(super) here: &'a [(String, String)],
    /// The restrictions on this process.
    pub(super) facts: &'a Facts,
    /// The owner, as seen by this process, of a file that was created inside the sandbox.
    pub(super) owner: Option<u32>,
}

impl Observations<'_> {
    /// Returns the checks that a session's own sandbox and its network show.
    pub(super) fn of_session(&self) -> Vec<Check> {
        vec![
            self.namespaces(),
            self.nested_userns(),
            self.host_uid(),
            self.capabilities(),
            self.no_new_privs(),
            self.fresh_proc(),
            self.only_loopback("session_net"),
            self.seccomp(),
        ]
    }

    /// Returns the checks that a read-only command's sandbox shows.
    pub(super) fn of_reader(&self) -> Vec<Check> {
        let written = self.sight.writable.join(" ");
        let kept = self.sight.writable == WRITABLE_OF_READER;
        vec![
            self.only_loopback("empty_net"),
            verdict("read_only", kept, format!("a command could write: {written}"), REPORT_IT),
        ]
    }

    fn namespaces(&self) -> Check {
        let of = |all: &[(String, String)], kind: &str| {
            all.iter().find(|(found, _)| found == kind).map(|(_, identity)| identity.clone())
        };
        let own = |kind: &&str| match (of(&self.sight.namespaces, kind), of(self.here, kind)) {
            (Some(inside), Some(outside)) => inside != outside,
            _ => false,
        };
        let (own, shared): (Vec<&str>, Vec<&str>) = OWN.into_iter().partition(own);
        let seen = match shared.as_slice() {
            [] => format!("separate inside the sandbox: {}", own.join(" ")),
            shared => format!("not separate inside the sandbox: {}", shared.join(" ")),
        };
        verdict("namespaces", shared.is_empty(), seen, REPORT_IT)
    }

    fn nested_userns(&self) -> Check {
        const NAME: &str = "unshare a user namespace";
        let attempt = self.sight.attempt(NAME);
        let refused = attempt.is_some_and(|attempt| !attempt.worked());
        verdict("nested_userns", refused, attempt.map(answered).unwrap_or_default(), REPORT_IT)
    }

    fn host_uid(&self) -> Check {
        let seen = match self.owner {
            Some(0) => "files that it creates belong to uid 0 here".to_owned(),
            Some(uid) => format!("files that it creates belong to uid {uid} here"),
            None => "it could not create a file to inspect".to_owned(),
        };
        let remedy = "start the runner as root on a host, or as another user in a pod: securityContext.runAsUser: 1000";
        verdict("host_uid", self.owner.is_some_and(|uid| uid != 0), seen, remedy)
    }

    /// Checks that a command had the session's uid, if sessions have uids.
    pub(super) fn uid_isolation(&self, ids: Option<HostIds>) -> Option<Check> {
        let uid = ids?.uid;
        let seen = match self.owner == Some(uid) {
            true => format!("each session has its own host uid; this one had {uid}"),
            false => format!("files that the session of uid {uid} creates do not belong to this uid"),
        };
        Some(verdict("uid_isolation", self.owner == Some(uid), seen, REPORT_IT))
    }

    fn capabilities(&self) -> Check {
        let held =
            |name: &&str| self.sight.status(name).is_none_or(|set| u64::from_str_radix(set, 16) != Ok(0));
        let held: Vec<&str> = CAPABILITY_SETS.into_iter().filter(held).collect();
        let seen = match held.as_slice() {
            [] => "the five capability sets are empty".to_owned(),
            held => format!("not empty: {}", held.join(" ")),
        };
        verdict("capabilities", held.is_empty(), seen, REPORT_IT)
    }

    fn no_new_privs(&self) -> Check {
        let value = self.sight.status("NoNewPrivs");
        let seen = format!("NoNewPrivs: {}", value.unwrap_or("not seen"));
        verdict("no_new_privs", value == Some("1"), seen, REPORT_IT)
    }

    /// Checks that `/proc` belongs to the sandbox's pid namespace. A process finds its own pid there only then.
    fn fresh_proc(&self) -> Check {
        let Sight { pid, proc_pid, processes, .. } = self.sight;
        let fresh = *proc_pid == Some(*pid) && (1..=PROCESSES).contains(processes);
        let numbers = match *proc_pid == Some(*pid) {
            true => "of the sandbox's pid namespace",
            false => "of another pid namespace",
        };
        verdict("fresh_proc", fresh, format!("/proc is {numbers} and shows {processes} processes"), REPORT_IT)
    }

    fn only_loopback(&self, name: &'static str) -> Check {
        let kind = |all: &[(String, String)]| all.iter().find(|(kind, _)| kind == "net").cloned();
        let own = kind(&self.sight.namespaces).is_some_and(|net| Some(net) != kind(self.here));
        let alone = self.sight.interfaces == ["lo"];
        let seen = format!("interfaces: {}", self.sight.interfaces.join(" "));
        verdict(name, own && alone, seen, REPORT_IT)
    }

    /// Checks that a filter of Airlock is active in addition to those of this process. It must refuse a call that no
    /// other layer refuses.
    fn seccomp(&self) -> Check {
        let mode = self.sight.status("Seccomp").unwrap_or("not seen");
        let count = self.sight.status("Seccomp_filters").and_then(|count| count.parse::<u32>().ok());
        let ours = match (count, self.facts.filters) {
            (Some(inside), Some(outside)) => inside > outside,
            // Before Linux 5.9 the kernel does not report the number.
            _ => !self.facts.filtered,
        };
        let attempt = self.sight.attempt(FILTERED);
        let refused = attempt.is_some_and(|attempt| !attempt.worked());
        let seen = format!("Seccomp: {mode}; {}", attempt.map(answered).unwrap_or_default());
        let remedy = "run a kernel with CONFIG_SECCOMP_FILTER";
        verdict("seccomp", mode == "2" && ours && refused, seen, remedy)
    }

    /// Returns the attempts that succeeded, and the paths that were writable unexpectedly.
    fn through(&self, may_write: &[&str]) -> Vec<String> {
        let worked = self.sight.attempts.iter().filter(|attempt| attempt.worked());
        let written = self.sight.writable.iter().filter(|place| !may_write.contains(&place.as_str()));
        worked
            .map(|attempt| attempt.name.clone())
            .chain(written.map(|place| format!("write {place}")))
            .collect()
    }
}

/// Checks all escape attempts, in a session's sandbox and in a read-only one.
pub(super) fn escapes(session: &Observations<'_>, reader: &Observations<'_>) -> Check {
    let tried: usize = [session, reader].iter().map(|seen| seen.sight.attempts.len()).sum();
    let mut through = session.through(&SESSION_PLACES);
    through.extend(reader.through(&WRITABLE_OF_READER).iter().map(|what| format!("{what} (read-only)")));
    let seen = match through.as_slice() {
        [] => format!("{tried} escapes were tried from inside, and all were refused"),
        through => format!("not refused: {}", through.join(", ")),
    };
    verdict("escapes", tried > 0 && through.is_empty(), seen, REPORT_IT)
}

fn answered(attempt: &Attempt) -> String {
    let Attempt { name, errno } = attempt;
    match errno {
        None => format!("{name}: it worked"),
        Some(errno) => format!("{name}: {}", std::io::Error::from_raw_os_error(*errno)),
    }
}

fn verdict(name: &'static str, holds: bool, seen: String, remedy: &str) -> Check {
    if holds { Check::ok(name, seen) } else { Check::missing(name, seen, lost(name), remedy) }
}
