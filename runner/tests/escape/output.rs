//! Attempts on recorded output: no other command changes it, and no amount fills the disk or delays another command.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use airlock_domain::{
    CancelledBy, Cause, ExecutionId, JobPhase, OutputStream, PushFromRunner, PushToRunner, ToRunner,
};

use crate::{
    fixture::grant,
    site::{LONG, Site},
    suite::Attempt,
};

/// Returns the files below a directory. Links are not followed.
fn files(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            (if is_directory { &mut open } else { &mut found }).push(entry.path());
        }
    }
    found
}

/// Returns the file in which the runner stores the output of a command.
fn record(site: &Site, id: ExecutionId) -> PathBuf {
    let kept = files(&site.it.state("spool").join(id.to_string()));
    let holds = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| bytes == HONEST.as_bytes());
    kept.into_iter().find(holds).unwrap()
}

const HONEST: &str = "honest\n";

/// Changes the recorded output at `{file}`, which another execution wrote.
struct Forge(&'static str);

impl Attempt for Forge {
    async fn make(self, site: &mut Site) {
        let (own, other) = (site.session().await, site.session().await);
        let (id, _) = site.run(grant(other, "echo honest")).await;
        let file = record(site, id);
        let words = self.0.replace("{file}", &file.to_string_lossy());
        site.run(grant(own, &words)).await;
        // A link that it left could redirect accesses of the runner.
        site.it.close(own).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), HONEST);
        assert_eq!(site.it.text(id, OutputStream::Stdout).await, HONEST);
        println!("stopped by root of its own: the record is not inside");

        site.on_host(&format!("cd {} && {words}", site.it.config.state_dir.display()));
        assert_ne!(fs::read_to_string(&file).unwrap_or_default(), HONEST, "the control");
        site.controlled();
    }
}

/// Writes to all visible descriptors while another command of the same session runs.
struct Neighbour(&'static str);

impl Attempt for Neighbour {
    async fn make(self, site: &mut Site) {
        let session = site.session().await;
        let neighbour = site.it.offer(grant(session, "echo honest; sleep 1000")).await;
        site.it.job(neighbour, JobPhase::Running).await;
        site.run(grant(session, self.0)).await;
        let cause = Cause::Cancelled(CancelledBy::Client);
        site.it.link.send(ToRunner::EndJob { execution_id: neighbour, cause }).await;
        site.it.job(neighbour, JobPhase::Ended).await;
        assert_eq!(site.it.text(neighbour, OutputStream::Stdout).await, HONEST);
        println!("stopped by pid namespace: no process of a neighbour is in sight");

        let own = format!(
            "sleep 1000 & until read -rd '' a < /proc/$!/cmdline && [ $a = sleep ]; do :; done; {}; kill $!",
            self.0
        );
        let said = site.it.said(grant(session, &own)).await;
        assert!(said.contains("forged"), "control: its own output is reachable in this way");
        site.controlled();
    }
}

/// The bytes that are kept of each stream.
const SMALL: u64 = 8 << 20;
const LARGE: u64 = 64 << 20;
/// Gigabytes in a release build. A build with debug assertions is many times slower, and the caps do not depend on the
/// duration.
const GIGABYTES: u64 = if cfg!(debug_assertions) { 256 << 20 } else { 2 << 30 };

/// Writes `{n}` bytes to each of this many streams.
struct Flood {
    words: &'static str,
    streams: u64,
    ends: bool,
}

fn flood(words: &'static str, streams: u64) -> Flood {
    Flood { words, streams, ends: true }
}

impl Flood {
    async fn started(&self, site: &mut Site, bytes: u64, kept: u64) -> ExecutionId {
        let session = site.session().await;
        let mut flood = grant(session, &self.words.replace("{n}", &bytes.to_string()));
        flood.command.separate_stderr = true;
        flood.command.timeout = LONG;
        flood.profile.limits.output_bytes = kept;
        let id = site.it.offer(flood).await;
        // There is no output to read before the job runs.
        site.it.job(id, JobPhase::Running).await;
        id
    }

    /// Reads until the stream is longer than this. Bytes that are cut in the meantime are a gap.
    async fn written(&self, site: &mut Site, id: ExecutionId, bytes: u64) {
        let mut output = site.it.output(id).await;
        let (stream, max_bytes) = (OutputStream::Stdout, bytes + 1);
        output.read(PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes, follow: true }).await;
        let mut seen = 0;
        while seen <= bytes {
            seen = match output.next().await {
                PushFromRunner::Chunk { offset, data, .. } => offset + data.len() as u64,
                PushFromRunner::Gap { to, .. } => to,
                other => panic!("{other:?} before the end"),
            };
        }
    }

    /// Returns the disk space that it uses after its end.
    async fn taken(&self, site: &mut Site, id: ExecutionId, bytes: u64) -> u64 {
        if !self.ends {
            self.written(site, id, SMALL * 4).await;
            let cause = Cause::Cancelled(CancelledBy::Client);
            site.it.link.send(ToRunner::EndJob { execution_id: id, cause }).await;
        }
        let result = site.end(id).await;
        let written = result.stdout_bytes + result.stderr_bytes;
        if self.ends {
            assert_eq!((result.cause, written), (Cause::Exited { code: 0 }, bytes * self.streams));
        } else {
            assert!(written > SMALL * 4, "{written}");
        }
        let spool = files(&site.it.state("spool").join(id.to_string()));
        spool.iter().map(|path| fs::metadata(path).unwrap().blocks() * 512).sum()
    }
}

impl Attempt for Flood {
    async fn make(self, site: &mut Site) {
        let bytes = GIGABYTES / self.streams;
        let id = self.started(site, bytes, SMALL).await;
        let other = site.session().await;
        assert_eq!(site.it.said(grant(other, "echo on")).await, "on\n", "no reader is delayed");
        let taken = self.taken(site, id, bytes).await;
        let most = (SMALL + SMALL / 4) * 2;
        assert!(taken <= most, "{taken} bytes are kept");
        println!("stopped by the cap of kept output: {taken} bytes are kept");

        let id = self.started(site, LARGE, LARGE).await;
        let taken = self.taken(site, id, LARGE).await;
        assert!(taken > most, "control: with a higher limit, more is kept: {taken}");
        site.controlled();
    }
}

const TEN_GIB: u64 = 10 << 30;
const KEPT: u64 = 64 << 20;
/// The maximum memory of the runner.
const MEMORY: u64 = 64 << 20;

/// Writes ten gibibytes.
struct TenGibibytes;

/// Returns the peak memory of the process, in bytes.
fn most_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

impl Attempt for TenGibibytes {
    async fn make(self, site: &mut Site) {
        let session = site.session().await;
        let mut writes = grant(session, &format!("head -c {TEN_GIB} /dev/zero; echo the end"));
        writes.profile.limits.output_bytes = KEPT;
        let (id, result) = site.run(writes).await;
        let total = TEN_GIB + 8;
        assert_eq!((result.stdout_bytes, result.stdout_cut_bytes), (total, total - KEPT));
        let told = result.inline.unwrap();
        assert_eq!((told.stdout.total_bytes, told.stdout.total_lines), (total, Some(1)));
        assert!(told.stdout.text.ends_with("the end\n"), "{:?}", told.stdout.text);
        let gap = (KEPT / 2, total - KEPT / 2);
        let mut output = site.it.output(id).await;
        let (stream, max_bytes) = (OutputStream::Stdout, 20);
        let offset = gap.0 - 10;
        output.read(PushToRunner::Read { read_id: 1, stream, offset, max_bytes, follow: false }).await;
        let chunk =
            |at, data: &'static [u8]| PushFromRunner::Chunk { read_id: 1, offset: at, data: data.into() };
        assert_eq!(output.next().await, chunk(offset, &[0; 10]));
        assert_eq!(output.next().await, PushFromRunner::Gap { read_id: 1, from: gap.0, to: gap.1 });
        assert_eq!(output.next().await, chunk(gap.1, &[0; 10]), "offsets count the whole stream");
        let memory = most_memory(site.pid());
        assert!(memory < MEMORY, "{memory} bytes of memory");
        println!("stopped by the cap of kept output: {memory} bytes of memory at most");

        let (id, _) = site.run(grant(session, &format!("head -c {} /dev/zero", KEPT / 2))).await;
        let kept: u64 = files(&site.it.state("spool").join(id.to_string()))
            .iter()
            .map(|path| fs::metadata(path).unwrap().len())
            .sum();
        assert!(kept >= KEPT / 2, "control: output below the limit is kept whole");
        site.controlled();
    }
}

attempts! {
    a_record_by_its_path: Forge("printf forged 1<>{file}");
    a_record_through_proc_self_root: Forge("printf forged 1<>/proc/self/root{file}");
    a_record_from_above_the_root: Forge("printf forged 1<>../../../../../../../../../../..{file}");
    a_record_through_a_link: Forge("ln -s {file} link && printf forged 1<>link");
    a_record_cut: Forge("truncate -c -s 0 {file}");
    a_record_removed: Forge("rm {file}");
    a_record_replaced: Forge("echo forged > new && mv new {file}");
    of_a_command_beside_it: Neighbour(
        "for fd in /proc/[0-9]*/fd/1; do case $fd in /proc/$$/*|/proc/self/*) ;; *) echo forged > $fd;; esac; done 2>/dev/null");
    of_a_command_beside_it_by_every_descriptor: Neighbour(
        "for fd in /proc/[0-9]*/task/*/fd/*; do case $fd in /proc/$$/*|/proc/self/*) ;; *) echo forged > $fd;; esac; done 2>/dev/null");

    gigabytes_of_output: flood("head -c {n} /dev/zero", 1);
    gigabytes_of_errors: flood("head -c {n} /dev/zero >&2", 1);
    gigabytes_of_both_at_once: flood("head -c {n} /dev/zero >&2 & head -c {n} /dev/zero; wait", 2);
    gigabytes_of_lines: flood("yes | head -c {n}", 1);
    ten_gibibytes_in_little_memory: TenGibibytes;
    output_without_an_end: Flood { words: "yes", streams: 1, ends: false };
}
