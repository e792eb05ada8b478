//! Programs that run another program. Deny and ask rules see through all of them;
//! the safe ones are also stripped before allow rules and the read-only proof.

/// Where the launched command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inner {
    /// The operands, after `skip` of them.
    Operands,
    /// The operands joined with blanks are text for a shell.
    JoinedText,
    /// The value of `-c` is text for a shell; without it, what runs is not known.
    ShellText,
    /// The operands, and more that come from standard input.
    Xargs,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Launcher {
    pub(crate) name: &'static str,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    /// Operands before the command.
    pub(crate) skip: usize,
    /// Whether `NAME=value` may stand before the command.
    pub(crate) assignments: bool,
    /// Whether the command is as harmless as what it runs, and is looked through
    /// for allow rules too.
    pub(crate) safe: bool,
    pub(crate) digits: bool,
    pub(crate) inner: Inner,
    pub(crate) reason: &'static str,
}

const fn launcher(
    name: &'static str,
    short: &'static str,
    long: &'static str,
    reason: &'static str,
) -> Launcher {
    Launcher {
        name,
        short,
        long,
        skip: 0,
        assignments: false,
        safe: false,
        digits: false,
        inner: Inner::Operands,
        reason,
    }
}

impl Launcher {
    const fn safe(mut self) -> Self {
        self.safe = true;
        self
    }
    const fn digits(mut self) -> Self {
        self.digits = true;
        self
    }
    const fn skip(mut self, skip: usize) -> Self {
        self.skip = skip;
        self
    }
    const fn assignments(mut self) -> Self {
        self.assignments = true;
        self
    }
    const fn inner(mut self, inner: Inner) -> Self {
        self.inner = inner;
        self
    }
}

const fn shell(name: &'static str) -> Launcher {
    launcher(
        name,
        "abcefhkmnptuvxBCEHPilDrso:O:",
        "posix norc noprofile login verbose restricted rcfile= init-file= noediting version help",
        "runs the text of -c, or a file",
    )
    .inner(Inner::ShellText)
}

pub(crate) const LAUNCHERS: &[Launcher] = &[
    launcher("timeout", "fk:ps:v", "foreground kill-after= preserve-status signal= verbose", "ends what runs too long").skip(1).safe(),
    launcher("time", "p", "", "measures").safe().assignments(),
    launcher("nice", "n:", "adjustment=", "changes the priority").safe().digits(),
    launcher("nohup", "", "", "ignores hang-ups").safe(),
    launcher("stdbuf", "i:o:e:", "input= output= error=", "changes buffering").safe(),
    launcher("ionice", "c:n:t", "class= classdata= ignore", "changes the priority").safe(),
    launcher(
        "xargs",
        "0rtxE:I:L:n:P:s:d:e?i?l?a@",
        "null no-run-if-empty verbose exit max-args= max-procs= max-chars= max-lines=? delimiter= eof=? replace=? arg-file=@ show-limits",
        "runs a command on what it reads",
    )
    .inner(Inner::Xargs)
    .safe(),
    launcher("env", "i0u:C:v", "ignore-environment null unset= chdir= debug", "changes the environment").assignments(),
    launcher("sudo", "AbEeHnPSsikKlvVBu:g:p:C:h:r:t:T:U:D:R:", "user= group= non-interactive preserve-env=? login shell stdin background set-home host= prompt= chdir= chroot= askpass", "changes the user").assignments(),
    launcher("doas", "Lnsu:C:a:", "", "changes the user"),
    launcher("su", "flmpPhVc:s:g:G:u:", "command= login shell= group= fast preserve-environment", "changes the user").inner(Inner::ShellText),
    launcher("runuser", "flmpPc:s:g:G:u:", "command= login shell= group= user= fast preserve-environment", "changes the user").inner(Inner::ShellText),
    launcher("setsid", "cfw", "ctty fork wait", "leaves the session"),
    launcher("chroot", "", "userspec= groups= skip-chdir", "changes the root").skip(1),
    launcher("unshare", "imnpuUCTrfR:S:G:w:c", "ipc=? mount=? net=? pid=? uts=? user=? cgroup=? time=? fork map-root-user map-current-user mount-proc=? root= wd= setuid= setgid= kill-child=? propagation= map-user= map-group= keep-caps", "changes namespaces"),
    launcher("nsenter", "at:m?u?i?n?p?U?C?T?S:G:r?w?FZ", "all target= mount=? uts=? ipc=? net=? pid=? user=? cgroup=? time=? setuid= setgid= root=? wd=? no-fork preserve-credentials", "changes namespaces"),
    launcher("busybox", "", "", "is many programs"),
    launcher("toybox", "", "", "is many programs"),
    launcher("command", "p", "", "skips functions"),
    launcher("builtin", "", "", "runs a builtin"),
    launcher("exec", "cla:", "", "replaces the shell"),
    launcher("coproc", "", "", "runs beside the shell").assignments(),
    launcher("watch", "bcdefgn:pqtwx", "beep color differences=? errexit chgexit interval= precise no-title no-wrap exec equexit=", "runs again and again").inner(Inner::JoinedText),
    launcher("entr", "acdnprsxz", "", "runs on changes"),
    launcher("flock", "eFnosuxE:w:v", "exclusive nonblock nb shared unlock close no-fork conflict-exit-code= wait= timeout= verbose", "runs under a lock").skip(1),
    launcher("chrt", "abdefimoprRvT:P:D:", "all-tasks batch deadline fifo idle other rr reset-on-fork", "changes scheduling").skip(1),
    launcher("taskset", "ac", "all-tasks cpu-list", "changes affinity").skip(1),
    launcher("setarch", "vRFZLXBIS3", "verbose addr-no-randomize", "changes the personality").skip(1),
    launcher("numactl", "i:N:m:C:p:l", "interleave= cpunodebind= membind= physcpubind= preferred= localalloc", "changes placement"),
    launcher("prlimit", "", "core=? cpu=? data=? nofile=? nproc=? as=? stack=?", "changes limits"),
    launcher("strace", "a:b:cCdDe:fFhiIkno:O:p:P:qrs:S:tTu:U:vVwxX:yzZ", "output= trace= follow-forks", "traces"),
    launcher("ltrace", "a:bcCD:e:fF:hiln:o:p:rs:StTu:Vx:", "", "traces"),
    launcher("catchsegv", "", "", "prints crashes"),
    launcher("fakeroot", "l:s:i:buvh", "lib= faked= unknown-is-real", "pretends to be root"),
    launcher("dbus-run-session", "", "config-file= dbus-daemon=", "starts a bus"),
    launcher("systemd-run", "Mp:tPqGdSu:E:H", "user scope unit= property= description= slice= pty pipe quiet wait same-dir shell uid= gid= nice= setenv= on-active= collect", "starts a unit"),
    launcher("faketime", "mp:f", "", "pretends a time").skip(1),
    launcher("parallel", "0a@c:d:I:j:kL:N:n:qrtuvX", "arg-file=@ bar jobs= keep-order dry-run null no-run-if-empty progress quote tag timeout= ungroup verbose will-cite colsep= delimiter= halt= joblog= results= retries= line-buffer group max-args= plain pipe", "runs many").inner(Inner::JoinedText),
    launcher("rlwrap", "a:b:cC:D:e:f:F:g:H:iIl:m:M:nNo:O:p:P:q:rRs:S:t:T:U:vw:W:z:", "", "edits lines"),
    launcher("script", "aB:c:eE:fI:m:o:O:qT:t", "append command= return flush quiet", "records").inner(Inner::ShellText),
    launcher("nix-shell", "pA:I:", "run= command= pure packages", "runs in an environment").inner(Inner::ShellText),
    launcher("eval", "", "", "runs text").inner(Inner::JoinedText),
    shell("sh"),
    shell("bash"),
    shell("dash"),
    shell("ash"),
    shell("zsh"),
    shell("ksh"),
    shell("mksh"),
    shell("rbash"),
    shell("fish"),
];

/// The entry of that name; a dynamic linker counts as one too.
pub(crate) fn launcher_named(name: &[u8]) -> Option<&'static Launcher> {
    const LINKER: Launcher = launcher(
        "ld.so",
        "",
        "list verify inhibit-cache library-path= preload= audit= argv0= inhibit-rpath= glibc-hwcaps-prepend=",
        "is how every program starts",
    );
    if name.starts_with(b"ld-linux") || name.starts_with(b"ld-musl") || name == b"ld.so" {
        return Some(&LINKER);
    }
    LAUNCHERS.iter().find(|entry| entry.name.as_bytes() == name)
}
