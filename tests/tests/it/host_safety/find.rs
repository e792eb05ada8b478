//! Finds code that mounts or removes trees in a text. Each pattern is tested here.

use std::sync::LazyLock;

use airlock_tests::uses;
use proc_macro2::{TokenStream, TokenTree};
use regex::Regex;
use syn::visit::{self, Visit};

/// Items of crates that mount, or that enter another namespace or root.
const CALLS: [&str; 19] = [
    "nix::mount",
    "nix::sched::unshare",
    "nix::sched::setns",
    "nix::unistd::chroot",
    "nix::unistd::pivot_root",
    "rustix::mount",
    "rustix::process::chroot",
    "rustix::process::pivot_root",
    "rustix::thread::unshare",
    "rustix::thread::move_into_link_name_space",
    "rustix::thread::move_into_thread_name_spaces",
    "libc::mount",
    "libc::umount",
    "libc::unshare",
    "libc::setns",
    "libc::chroot",
    "libc::syscall",
    "libc::fsopen",
    "libc::open_tree",
];
/// Whole modules through which any of these could be called.
const MODULES: [&str; 12] = [
    "nix::self",
    "nix::*",
    "nix::sched",
    "nix::sched::*",
    "nix::unistd",
    "nix::unistd::*",
    "rustix::self",
    "rustix::*",
    "rustix::process::*",
    "rustix::thread::*",
    "libc::self",
    "libc::*",
];

/// Programs that mount, or that enter other namespaces.
const PROGRAMS: &str =
    "mount|umount|unshare|nsenter|losetup|chroot|pivot_root|runc|crun|podman|buildah|mmdebstrap|debootstrap";
/// Names that are also system calls or tests. They count only as a program that a command starts.
const WORDS: [&str; 3] = ["mount", "chroot", "pivot_root"];

/// A program in the position of a shell command.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"(?m)(?:^|[;&|(`{!]|\$\(|\b(?:exec|then|do|else|env|eval|sudo|nohup|time|xargs|if|while|until|timeout\s+\S+)\s|\s-(?:-|c|exec)\s+['\x22]?)";
    Regex::new(&format!(r"{before}\s*(?:\S*=\S*\s+)*(?:[\w./]*/)?(?:{PROGRAMS})(?:\s|$|;)")).unwrap()
});
/// A literal that consists of such a program, with or without its directory.
static PROGRAM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!(r"^(?:[\w./]*/)?({PROGRAMS})$")).unwrap());
/// The same in Python.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!(r"['\x22](?:[\w./]*/)?(?:{PROGRAMS})['\x22\s]")).unwrap());
/// Commands of a script that remove more than a file.
static REMOVAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\brm\s+(?:-\S+\s+)*(?:-[a-zA-Z]*[rR]|--recursive)|\brmtree\b|\bfind\b.*\s-delete\b|\brsync\b.*--del|\bgit\s+clean\b").unwrap()
});

/// Returns the items that mount in a Rust text.
pub(super) fn calls(text: &str) -> Vec<String> {
    if !["nix", "rustix", "libc"].iter().any(|name| text.contains(name)) {
        return Vec::new();
    }
    let mut items = uses::of_crates(text, &["nix", "rustix", "libc"]).unwrap();
    items.retain(|item| {
        MODULES.contains(&item.as_str())
            || CALLS
                .iter()
                .any(|call| item == call || item.starts_with(&format!("{call}::")) || is_kind(item, call))
    });
    items.sort();
    items.dedup();
    items
}

/// `libc::umount2` is a kind of `libc::umount`, and `rustix::thread::unshare_unsafe` of `rustix::thread::unshare`.
fn is_kind(item: &str, call: &str) -> bool {
    let rest = item.strip_prefix(call).unwrap_or("::");
    call.matches("::").count() > usize::from(!call.starts_with("libc")) && !rest.starts_with("::")
}

/// Returns the literals in Rust with which programs that mount are started. In a text that no test runs, only literals
/// that are exactly a program count.
pub(super) fn programs(text: &str, test: bool) -> Vec<String> {
    if !PROGRAMS.split('|').any(|name| text.contains(name)) {
        return Vec::new();
    }
    let mut found = Literals::default();
    found.visit_file(&syn::parse_file(text).unwrap());
    let Literals { all, started } = found;
    let is_word = |text: &String| WORDS.contains(&text.as_str());
    let named = all.iter().filter(|text| PROGRAM.is_match(text) && !is_word(text));
    let named = named.chain(started.iter().filter(|text| is_word(text)));
    let commands = all.iter().filter(|text| test && !PROGRAM.is_match(text) && COMMAND.is_match(text));
    named.chain(commands).cloned().collect()
}

/// Returns the removals of whole trees that do not stop at mount points.
pub(super) fn removals(text: &str) -> Vec<String> {
    code(text).filter(|line| line.contains("remove_dir_all")).map(|line| line.trim().to_owned()).collect()
}

/// Returns temporary directories that do not stop at mount points, in a text that passes directories to code that
/// mounts.
pub(super) fn unguarded(text: &str) -> Vec<String> {
    const MOUNTS: [&str; 12] = [
        "Launcher::new",
        "Runner::start",
        "Sessions::restore",
        "Disks::open",
        "PrivateMounts",
        "private_command",
        "inside_command",
        "\"airlock-runner\"",
        "CARGO_BIN_EXE_airlock-runner",
        "examples/run",
        "\"runc\"",
        "\"podman\"",
    ];
    if !code(text).any(|line| MOUNTS.iter().any(|mounts| line.contains(mounts))) {
        return Vec::new();
    }
    let is_directory = |line: &&str| ["tempdir", "TempDir"].iter().any(|name| line.contains(name));
    code(text).filter(is_directory).map(|line| line.trim().to_owned()).collect()
}

/// Returns the backends that mount, in a text that enters no private mount namespace.
pub(super) fn disks(text: &str) -> Vec<String> {
    let backend = Regex::new(r#"Backend::(?:Loop|Tmpfs)\b|backend\s*=\s*\\?["'](?:loop|tmpfs)"#).unwrap();
    if code(text).any(|line| line.contains("PrivateMounts::")) {
        return Vec::new();
    }
    code(text).filter(|line| backend.is_match(line)).map(|line| line.trim().to_owned()).collect()
}

/// Returns the lines of a script that mount, or that remove more than a file.
pub(super) fn in_script(path: &str, text: &str) -> Vec<String> {
    let starts = if path.ends_with(".py") { &*QUOTED } else { &*COMMAND };
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let found = lines.filter(|line| REMOVAL.is_match(line) || starts.is_match(line));
    found.map(|line| line.trim().to_owned()).collect()
}

/// Reports whether a shell, `make` or Python runs the file.
pub(super) fn is_script(path: &str, text: &str) -> bool {
    let ended = [".sh", ".bash", ".py", "Makefile"].iter().any(|end| path.ends_with(end));
    ended || (text.starts_with("#!") && !path.ends_with(".rs"))
}

fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The literals of a Rust file.
#[derive(Default)]
struct Literals {
    all: Vec<String>,
    /// The literals that are arguments of `Command::new`.
    started: Vec<String>,
}

impl Literals {
    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.all.push(text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let (syn::Expr::Path(path), Some(syn::Expr::Lit(literal))) = (&*call.func, call.args.first())
            && let syn::Lit::Str(text) = &literal.lit
        {
            let names: Vec<String> = path.path.segments.iter().map(|part| part.ident.to_string()).collect();
            if names.ends_with(&["Command".to_owned(), "new".to_owned()]) {
                self.started.push(text.value());
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.all.push(text.value());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }

    // Attributes, which include doc comments, are not code that runs.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

/// Each line is one finding, in a function of its own.
const BAD_PROGRAMS: [&str; 14] = [
    r#"Command::new("mount")"#,
    r#"Command::new("/bin/mount")"#,
    r#"std::process::Command::new("chroot")"#,
    r#"Command::new("unshare").arg("--mount")"#,
    r#"let words = ["/usr/bin/nsenter", "-t", "1"];"#,
    r#"sh("mount -t tmpfs none /tmp/x")"#,
    r#"sh("cd /tmp && mount --bind a b")"#,
    r#"sh(r"if true; then umount /x; fi")"#,
    r#"sh("X=1 unshare -m true")"#,
    r#"format!("{a}; exec /usr/sbin/chroot {b}")"#,
    r#"sh("timeout 5 runc run x")"#,
    r#"sh("sh -c 'mount a b'")"#,
    r#"sh("echo $(podman ps)")"#,
    "sh(\"true\nlosetup -f x\")",
];

#[test]
fn every_way_to_start_a_program_that_mounts_is_found() {
    for line in BAD_PROGRAMS {
        let text = format!("fn f() {{ {line}; }}");
        assert_eq!(programs(&text, true).len(), 1, "{line}");
    }
    for line in [
        r#"probe("mount", "bind")"#,
        r#"Command::new("mountpoint")"#,
        r#"sh("echo mounted; amount 3; remount")"#,
        r#"sh("grep mount /proc/self/mountinfo")"#,
        "/* mount -t tmpfs */",
    ] {
        assert_eq!(programs(&format!("fn f() {{ {line}; }}"), true), [] as [&str; 0], "{line}");
    }
    // A message about mounts is not a command.
    let said = r#"fn f() { g("mount namespace: {error}"); Command::new("umount"); }"#;
    assert_eq!(programs(said, false), ["umount"]);
}

#[test]
fn every_way_to_call_what_mounts_is_found() {
    for text in [
        "use nix::mount::{MsFlags, mount};",
        "use nix::sched::{CloneFlags, unshare};",
        "use nix::sched;",
        "use nix::{sched::setns};",
        "use nix as n;",
        "use nix::unistd::*;",
        "use rustix::mount;",
        "use rustix::mount::*;",
        "fn f() { rustix::mount::mount_bind(a, b) }",
        "fn f() { rustix::thread::unshare_unsafe(x) }",
        "fn f() { libc::umount2(a, b) }",
        "fn f() { assert!(libc::mount(a) == 0) }",
        "fn f() { libc::syscall(libc::SYS_mount) }",
        "use rustix::process::{chroot, getpid};",
    ] {
        assert!(!calls(text).is_empty(), "{text}");
    }
    for text in [
        "use nix::sched::CloneFlags;",
        "use nix::unistd::Pid;",
        "use rustix::{fs::openat, process::getpid};",
        "use rustix::thread::sched_getaffinity;",
        "const A: i64 = libc::SYS_mount;",
        "use crate::mount::mount;",
    ] {
        assert_eq!(calls(text), [] as [&str; 0], "{text}");
    }
}

#[test]
fn every_unguarded_directory_and_removal_is_found() {
    let with = |line: &str| format!("let dir = tempfile::tempdir().unwrap();\n{line}");
    for line in [
        "Launcher::new(config)",
        "Runner::start(config)",
        "let p = PrivateMounts::enter();",
        "program(\"airlock-runner\")",
    ] {
        assert_eq!(unguarded(&with(line)).len(), 1, "{line}");
        assert_eq!(unguarded(line), [] as [&str; 0], "{line}");
    }
    assert_eq!(unguarded(&with("Server::start(config)")), [] as [&str; 0]);
    assert_eq!(
        removals("fs::remove_dir_all(x);\n// fs::remove_dir_all(x)\ntokio::fs::remove_dir_all(y);").len(),
        2
    );
    for line in [
        "DiskBackend::Loop",
        "config.workspace.backend = WorkspaceBackend::Tmpfs;",
        "\"[workspace]\\nbackend = \\\"tmpfs\\\"\"",
    ] {
        assert_eq!(disks(line).len(), 1, "{line}");
        assert_eq!(disks(&format!("PrivateMounts::enter();\n{line}")), [] as [&str; 0], "{line}");
    }
    assert_eq!(disks("DiskBackend::Watch"), [] as [&str; 0]);
}

#[test]
fn every_way_of_a_script_is_found() {
    for line in [
        "rm -rf \"$work\"",
        "    rm -f -r x",
        "trap 'rm -Rf \"$work\"' EXIT",
        "rm --recursive x",
        "find . -exec rm -rf {} +",
        "find \"$cache\" -mtime +1 -delete",
        "mount -o loop a b",
        "  if mount --bind a b; then",
        "umount /x || true",
        "exec unshare -m \"$0\"",
        "x=$(nsenter -t 1 -m cat /etc/shadow)",
        "sudo /usr/bin/mount a b",
        "as=(unshare --ipc)",
        "chroot \"$root\" true",
        "mmdebstrap --quiet x",
    ] {
        assert_eq!(in_script("x.sh", line).len(), 1, "{line}");
    }
    for line in [
        "rm \"$file\"",
        "rm -f a",
        "# rm -rf /",
        "say \"the mount is there\"",
        "is_mounted x",
        "remove_tree \"$work\"",
    ] {
        assert_eq!(in_script("x.sh", line), [] as [&str; 0], "{line}");
    }
    for line in ["shutil.rmtree(path)", "run(['mount', a, b])", "run(\"umount x\")"] {
        assert_eq!(in_script("x.py", line).len(), 1, "{line}");
    }
    assert_eq!(in_script("x.py", "\"\"\"What `podman kube play` takes.\"\"\""), [] as [&str; 0]);
}
