//! `scripts/host-state.sh` detects each kind of change to a host. The host is a set of private namespaces, and no
//! object outside them changes.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{path::Path, process::Stdio};

use airlock_mounts::{ScratchDir, private_command};
use airlock_tests::source;

/// Creates modifiable directories in a private mount namespace, with few files for fast comparisons.
const PREPARE: &str = r#"
set -eu
mount -t tmpfs tmpfs "$work"
mkdir "$work/etc" "$work/mounted" "$work/home"
cp -a /etc/. "$work/etc"
mount --bind "$work/etc" /etc
for path in /usr/share /usr/local /var /run /dev/shm /sys/block /sys/fs/cgroup; do mount -t tmpfs tmpfs "$path"; done
mkdir -p /usr/local/bin /usr/local/lib /var/log "$work/home/.cache"
echo old >/etc/written
export HOME="$work/home"
unset XDG_CACHE_HOME CARGO_HOME RUSTUP_HOME
"#;

/// A change, its reversal, and the start of the only line that reports it. Without a line, no difference must be
/// reported.
struct Change {
    what: &'static str,
    make: &'static str,
    undo: &'static str,
    lines: &'static [&'static str],
}

const fn change(
    what: &'static str,
    make: &'static str,
    undo: &'static str,
    lines: &'static [&'static str],
) -> Change {
    Change { what, make, undo, lines }
}

const QUICK: [Change; 8] = [
    change("nothing", "true", "true", &[]),
    change("a mount", "mount -t tmpfs tmpfs $work/mounted", "umount $work/mounted", &["mounts: + /tmp/"]),
    change(
        "a named namespace",
        "ip netns add left",
        "ip netns delete left; umount /run/netns",
        &["mounts: + /run/netns", "namespaces: + /run/netns/left"],
    ),
    change(
        "a namespace that a process holds",
        "unshare --uts sleep 600 & left=$!; until [ \"$(readlink /proc/$left/ns/uts)\" != \"$(readlink /proc/1/ns/uts)\" ]; do :; done",
        "kill $left; wait $left || true",
        &["namespaces: + uts:[", "processes: + "],
    ),
    change("a process", "sleep 600 & left=$!", "kill $left; wait $left || true", &["processes: + "]),
    change(
        "a process that lost its parent",
        "left=$(sh -c 'setsid sleep 600 >/dev/null & echo $!')",
        "kill $left",
        &["processes: + "],
    ),
    change(
        "a port",
        "python3 -c 'import socket, time; s = socket.create_server((\"127.0.0.1\", 0)); print(flush=True); time.sleep(600)' \
         >$work/ready & left=$!; until [ -s $work/ready ]; do sleep 0.01; done",
        "kill $left; wait $left || true",
        &["ports: + tcp port ", "processes: + "],
    ),
    change(
        "a process that another program of the host started",
        "echo >$work/fifo; until [ -s $work/started ]; do sleep 0.01; done",
        "true",
        &[],
    ),
];

/// Changes that a full comparison reports, made together, with the starts of their lines.
const FULL: [(&str, &[&str]); 14] = [
    ("touch /etc/new", &["files: + /etc/new"]),
    ("touch /usr/local/bin/new", &["files: + /usr/local/bin/new"]),
    ("mkdir /var/new", &["files: + /var/new"]),
    ("chmod 700 /usr/local/lib", &["files: + /usr/local/lib d 700", "files: - /usr/local/lib d 755"]),
    // With the same size and time.
    (
        "cp -a /etc/written $work/old; echo new >/etc/written; touch -r $work/old /etc/written",
        &["files: + /etc/written", "files: - /etc/written"],
    ),
    ("touch $HOME/new", &["home: + "]),
    ("mkdir /sys/fs/cgroup/new", &["cgroups: + /sys/fs/cgroup/new"]),
    (
        "cp /etc/passwd $work; echo new:x:4242:4242::/:/bin/sh >>$work/passwd; cat $work/passwd >/etc/passwd",
        &["files: + /etc/passwd", "files: - /etc/passwd", "users: + user new"],
    ),
    // In the test's network namespace.
    (
        "echo 7 >/proc/sys/net/ipv4/igmp_max_msf",
        &["sysctls: + net/ipv4/igmp_max_msf:7", "sysctls: - net/ipv4/igmp_max_msf:10"],
    ),
    ("firewall new", &["firewall: + "]),
    ("touch /dev/shm/new", &["shm: + /dev/shm/new"]),
    (
        "mkdir -p /sys/block/loop0/loop; echo /image >/sys/block/loop0/loop/backing_file",
        &["loops: + /sys/block/loop0/loop/backing_file:/image"],
    ),
    ("ipcmk -Q", &["ipc: + /proc/sysvipc/msg"]),
    ("kill $daemon; wait $daemon || true; umount $work/gone", &["processes: - ", "mounts: - "]),
];

/// Changes that are not reported.
const ELSEWHERE: [&str; 4] =
    ["touch /var/log/new", "touch $HOME/.cache/new", "touch $work/new", "mkdir /sys/fs/cgroup/new.service"];

/// Runs a script as the first process of private namespaces, and returns its output.
fn in_namespaces(script: &str) -> String {
    let work = ScratchDir::with_prefix_in("airlock-test-host-", Path::new("/tmp"));
    // The namespaces hide parts of the host, and the checkout may be below one of them.
    let checkout = ScratchDir::with_prefix_in("airlock-test-checkout-", Path::new("/tmp"));
    let scripts = checkout.path().join("scripts");
    std::fs::create_dir(&scripts).unwrap();
    for file in std::fs::read_dir(source::root().join("scripts")).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), scripts.join(file.file_name())).unwrap();
    }
    let apart = ["--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc", "--uts"];
    let output = private_command(&apart)
        .args(["bash", "-c", &format!("{PREPARE}\n{script}")])
        .env("work", work.path())
        .env("host_state", scripts.join("host-state.sh"))
        .env("TMPDIR", "/tmp")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Asserts that exactly these lines report a difference, and that the exit code is correct.
fn assert_reports(what: &str, text: &str, wanted: &[&str]) {
    let reported: Vec<&str> =
        text.lines().filter(|line| line.contains(": + ") || line.contains(": - ")).collect();
    for begin in wanted {
        assert!(reported.iter().any(|line| line.starts_with(begin)), "{what}: `{begin}` is in\n{text}");
    }
    for line in reported {
        assert!(wanted.iter().any(|begin| line.starts_with(begin)), "{what}: only {wanted:?} are in\n{text}");
    }
    let code = if wanted.is_empty() { "exit 0" } else { "exit 1" };
    assert!(text.lines().any(|line| line == code), "{what}: `{code}` is in\n{text}");
}

/// Returns a script that compares without waiting and prints the exit code.
fn compare(mode: &str) -> String {
    format!(
        "code=0\nHOST_STATE_PATIENCE=0 $host_state compare {mode} $work/state 2>&1 || code=$?\necho exit $code\n"
    )
}

#[test]
fn a_quick_comparison_sees_each_kind_of_change() {
    let mut script = "mkfifo $work/fifo\n\
        bash -c 'read <$work/fifo; sleep 600 & echo >$work/started; wait' &\n\
        $host_state take --quick $work/state\n"
        .to_owned();
    for Change { make, undo, .. } in &QUICK {
        script.push_str(&format!("echo ===\n{make}\n{}{undo}\n", compare("--quick")));
    }
    let text = in_namespaces(&script);
    let parts: Vec<&str> = text.split("===").skip(1).collect();
    assert_eq!(parts.len(), QUICK.len(), "{text}");
    for (change, part) in QUICK.iter().zip(parts) {
        assert_reports(change.what, part, change.lines);
    }
}

#[test]
fn a_full_comparison_sees_each_kind_of_change_and_leaves_out_what_it_says() {
    let firewall = "firewall() {\n\
        if command -v nft >/dev/null; then\n\
        if [ $1 = new ]; then nft add table inet new; else nft delete table inet new; fi\n\
        elif [ $1 = new ]; then iptables -N new; else iptables -X new; fi\n}";
    let script = [
        // The first rule creates the tables.
        &format!("{firewall}\nfirewall new; firewall old"),
        "mkdir $work/gone; mount -t tmpfs tmpfs $work/gone; sleep 600 & daemon=$!",
        "$host_state take $work/state; sleep 0.02",
        &ELSEWHERE.join("\n"),
        &compare(""),
        "echo ===",
        &FULL.map(|(make, _)| make).join("\n"),
        &compare(""),
    ]
    .join("\n");
    let text = in_namespaces(&script);
    let (elsewhere, changed) = text.split_once("===").unwrap();
    assert_reports("elsewhere", elsewhere, &[]);
    let wanted: Vec<&str> = FULL.iter().flat_map(|(_, lines)| lines.iter().copied()).collect();
    assert_reports("everything", changed, &wanted);
}

#[test]
fn a_clock_that_jumps_is_seen_and_one_that_is_corrected_is_not() {
    // The boot time belongs to a time namespace, so the host's wall clock is not changed.
    let text = in_namespaces(
        "$host_state take --quick $work/state\n\
         for offset in 1 -1 100 -100; do\n\
         echo \"=== $offset $(unshare --time --boottime $offset --fork env HOST_STATE_PATIENCE=0 $host_state compare --quick $work/state 2>&1)\"\n\
         done",
    );
    for part in text.split("=== ").skip(1) {
        let jumped = part.contains("clock: + the wall clock moved by");
        assert_eq!(jumped, part.starts_with("100") || part.starts_with("-100"), "{text}");
    }
    assert_eq!(text.matches("===").count(), 4, "{text}");
}

#[test]
fn processes_that_end_soon_are_waited_for() {
    let text = in_namespaces(
        "$host_state take --quick $work/state\n\
         setsid sleep 2 &\n$host_state compare --quick $work/state 2>&1",
    );
    assert!(text.contains("the host is unchanged"), "{text}");
}

#[test]
fn an_exclusion_needs_a_reason() {
    let text = in_namespaces(
        "$host_state take --quick $work/state\n\
         printf 'files\\t/etc\\t\\n' >$work/more\n\
         HOST_STATE_EXCLUDE=$work/more $host_state compare --quick $work/state 2>&1 || echo exit $?",
    );
    assert!(text.contains("exit 1") && text.contains("is not: subject, pattern, reason"), "{text}");
}
