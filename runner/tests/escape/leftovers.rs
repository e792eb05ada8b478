//! Files with odd names, modes, depths and numbers that a command leaves in its session's directories. The next command
//! runs, and closing removes the session and no other files.

use std::fs;

use airlock_domain::{Cause, FromRunner, SessionPhase, ToRunner};

use crate::{
    fixture::grant,
    site::{LONG, Site},
    suite::Attempt,
};

/// Files that a command leaves, and a simple way to list or remove them that fails.
struct Left {
    words: &'static str,
    plain: &'static str,
}

/// A directory next to the sessions on the host, for links to point to.
const BESIDE: &str = "beside";

/// One million in a release build. A build with debug assertions is many times slower; its number still exceeds the
/// arguments of one `rm`.
const ENTRIES: u32 = if cfg!(debug_assertions) { 250_000 } else { 1_000_000 };

impl Attempt for Left {
    async fn make(self, site: &mut Site) {
        let beside = site.it.state(BESIDE);
        assert!(site.on_host(&format!("mkdir -p {0} && echo kept > {0}/kept", beside.display())));
        let session = site.session().await;
        let words = self.words.replace("{beside}", &beside.to_string_lossy());
        let words = words.replace("{entries}", &ENTRIES.to_string());
        let mut leave = grant(session, &words);
        leave.command.timeout = LONG;
        let id = site.it.offer(leave).await;
        let result = site.end(id).await;
        let unseen = matches!(&result.cause, Cause::SandboxFailed { step, .. } if step == "protected_names");
        assert!(
            result.cause == Cause::Exited { code: 0 } || unseen,
            "the command leaves the files: {result:?}"
        );

        let mut plain = grant(session, self.plain);
        plain.command.timeout = LONG;
        let id = site.it.offer(plain).await;
        let result = site.end(id).await;
        assert_ne!(result.cause, Cause::Exited { code: 0 }, "control: there are no odd files");
        site.controlled();

        site.it.link.send(ToRunner::CloseSession { session_id: session }).await;
        let closed = |message: &FromRunner| match message {
            FromRunner::Session(report)
                if report.session_id == session && !matches!(report.phase, SessionPhase::Open { .. }) =>
            {
                Some(report.phase.clone())
            }
            _ => None,
        };
        assert_eq!(site.it.report_within(LONG, closed).await, SessionPhase::Closed);
        for directory in ["sessions", "trash"] {
            assert_eq!(fs::read_dir(site.it.state(directory)).unwrap().count(), 0, "`{directory}` is empty");
        }
        assert_eq!(fs::read_to_string(beside.join("kept")).unwrap(), "kept\n");
        println!("stopped by removal through directory handles");
    }
}

attempts! {
    odd_names: Left {
        words: "touch -- \"$(printf \"a\\nb\")\" \" \" -rf \"\\\\\" \"$(printf \"\\xff\\xfe\")\" \"*\" \"$(printf \"\\e[2J\")\" ~/-i /tmp/--; mkdir -- \"$(printf \"d\\n\")\"; touch -- \"$(printf \"d\\n\")/x\"",
        plain: "for n in $(ls -A); do test -e \"$n\" || exit 1; done",
    };
    names_as_long_as_can_be: Left {
        words: "n=$(printf \"%0255d\" 1); touch $n; mkdir ~/$n; touch ~/$n/$n",
        plain: "n=$(printf \"%0255d\" 1); mv $n ${n}1",
    };
    folders_that_nobody_may_enter: Left {
        words: "mkdir -p a/b ~/c; touch a/b/x ~/c/x; chmod 0 a/b a ~/c; mkdir d; touch d/x; chmod 555 d",
        plain: "rm -rf a d ~/c",
    };
    the_workspace_itself_closed: Left { words: "touch x; mkdir a; touch a/x; chmod 0 a . ~ /tmp", plain: "rm -rf a" };
    setuid_and_sticky_bits: Left {
        words: "cp /bin/true a; chmod 6755 a; mkdir b; chmod 7000 b; touch c; chmod 7000 c",
        plain: "cat c > /dev/null && ls b/x",
    };
    pipes_and_sockets: Left {
        words: "mkfifo pipe ~/pipe /tmp/pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind(\\\"socket\\\")\"",
        plain: "timeout 0.3 cat pipe",
    };
    links_that_lead_out: Left {
        words: "ln -s {beside} link; ln -s {beside}/kept file; ln -s / root; ln -s .. up; ln -s ../../.. above; ln -s link loop; ln -sfn loop2 loop3; ln -sfn loop3 loop2",
        plain: "cat file || ls loop2/",
    };
    folders_deeper_than_any_path: Left {
        words: "n=$(printf \"%0200d\" 1); for i in {1..200}; do mkdir $n && cd -P $n || exit 1; done; touch x",
        plain: "n=$(printf \"%0200d\" 1); p=.; for i in {1..200}; do p=$p/$n; done; test -d $p",
    };
    twenty_thousand_folders: Left {
        words: "n=$(printf \"%0110d\" 1); for i in {1..20}; do mkdir $i && (cd $i && mkdir $n-{1..1000}) || exit 1; done",
        plain: "rm -r -- */*",
    };
    a_million_entries: Left {
        words: "python3 -c \"\nimport os\nfor i in range({entries}):\n    if i % 50000 == 0:\n        first = str(i)\n        os.close(os.open(first, os.O_CREAT | os.O_WRONLY))\n    else:\n        os.link(first, str(i))\n\"",
        plain: "rm -- *",
    };
}
