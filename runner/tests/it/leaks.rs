//! What many jobs leave behind: nothing. Each test counts what its process holds, and so needs a process
//! of its own, as `cargo nextest` gives it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{fs, time::Duration};

use airlock_proto::{
    domain::{CancelledBy, Cause, ExchangeFromRunner, ExchangeOrder, JobPhase, OutputStream, ToRunner},
    limits::TRANSFER_CHUNK_BYTES,
};

use crate::{
    fixture::{Fixture, grant},
    input::with_input,
};

/// Descriptors, children and mounts of this process.
fn holdings() -> (usize, usize, usize) {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let children: usize = fs::read_dir("/proc/self/task")
        .unwrap()
        // A thread that ended meanwhile has none.
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
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

/// Waits until this process holds no more than it did.
pub(crate) async fn back_to(before: (usize, usize, usize)) {
    for _ in 0..200 {
        if holdings() == before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(holdings(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_nobody_reads_leak_nothing() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut before = None;
    for round in 0..4 {
        let id = it.start(with_input(session, "sleep 600")).await;
        let mut writer = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
        assert_eq!(writer.next().await, Some(ExchangeFromRunner::Ready { offset: 0 }));
        // More than the pipe holds, so that the runner's side waits for a reader that never comes.
        for index in 0..32 {
            writer.write(index * TRANSFER_CHUNK_BYTES as u64, vec![7; TRANSFER_CHUNK_BYTES]).await;
        }
        // Another writer waits for its turn, and one has gone in the middle of it.
        let waiting = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
        drop(it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await);
        if round % 2 == 0 {
            // The one that is at it has gone too, before the end.
            drop(writer);
        }
        let cause = Cause::Cancelled(CancelledBy::Client);
        it.link.send(ToRunner::EndJob { execution_id: id, cause }).await;
        it.job(id, JobPhase::Ended).await;
        it.link.send(ToRunner::ForgetJob { execution_id: id }).await;
        drop(waiting);
        match before {
            None => before = Some(settled().await),
            Some(before) => back_to(before).await,
        }
    }
    it.shut_down().await;
}

/// What this process holds, once it has held the same for a while.
pub(crate) async fn settled() -> (usize, usize, usize) {
    let (mut last, mut same) = (holdings(), 0);
    while same < 5 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = holdings();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
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
