//! What many jobs leave behind: nothing. Each test counts what its process holds, and so needs a process
//! of its own, as `cargo nextest` gives it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;

use airlock_proto::domain::{Cause, JobPhase, OutputStream, ToRunner};

use crate::fixture::{Fixture, grant};

/// Descriptors, children and mounts of this process.
pub(crate) fn holdings() -> (usize, usize, usize) {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let children: usize = fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap())
        .map(|children| children.split_whitespace().count())
        .sum();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
    (count("/proc/self/fd"), children, mounts)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_jobs_leak_nothing() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    for round in 0..2 {
        let mut ids = Vec::new();
        for index in 0..50 {
            let (id, result) = it.run(grant(session, &format!("echo {index}"))).await;
            assert_eq!(result.cause, Cause::Exited { code: 0 });
            ids.push(id);
        }
        if round == 0 {
            continue;
        }
        let before = holdings();
        for index in 0..50 {
            let id = it.offer(grant(session, &format!("sleep 0.0{}; echo {index}", index % 10))).await;
            ids.push(id);
            if index % 8 == 7 {
                for id in ids.split_off(ids.len() - 8) {
                    it.job(id, JobPhase::Ended).await;
                    it.link.send(ToRunner::ForgetJob { execution_id: id }).await;
                }
            }
        }
        for id in ids.split_off(ids.len() - 2) {
            it.job(id, JobPhase::Ended).await;
        }
        assert_eq!(holdings(), before);
    }
    it.shut_down().await;
    let (_, children, _) = holdings();
    assert_eq!(children, 0);
    assert_eq!(fs::read_dir(it.state("launcher")).unwrap().count(), 0, "no file of the launcher is left");
}

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_jobs_sixteen_at_once_keep_memory_flat() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut after_hundred = 0;
    let mut waiting = std::collections::VecDeque::new();
    for index in 0..500 {
        if waiting.len() == 16 {
            let (id, said): (_, String) = waiting.pop_front().unwrap();
            it.job(id, JobPhase::Ended).await;
            assert_eq!(it.text(id, OutputStream::Stdout).await, said);
            it.link.send(ToRunner::ForgetJob { execution_id: id }).await;
        }
        let id = it.offer(grant(session, &format!("echo {index}"))).await;
        waiting.push_back((id, format!("{index}\n")));
        if index == 100 {
            after_hundred = resident();
        }
    }
    for (id, _) in waiting {
        it.job(id, JobPhase::Ended).await;
    }
    assert!(resident() < after_hundred + (8 << 10), "{after_hundred} KiB grew to {} KiB", resident());
    it.shut_down().await;
}
