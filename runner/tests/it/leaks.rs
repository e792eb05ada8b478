//! Tests that no resource remains after many jobs. Each test counts the resources of its process, and therefore needs a
//! separate process, which `cargo nextest` provides.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    sync::{Arc, Barrier},
    time::{Duration, Instant},
};

use airlock_domain::{
    CancelledBy, Cause, ExchangeFromRunner, ExchangeOrder, JobPhase, OutputStream, ToRunner,
    limits::TRANSFER_CHUNK_BYTES,
};
use airlock_mounts::PrivateMounts;
use tokio::runtime::{Builder, Runtime};

use crate::{
    fixture::{Fixture, PATIENCE, grant, until},
    input::with_input,
};

/// The numbers of descriptors, children and mounts.
pub(crate) type Holdings = (usize, usize, usize);

/// Runs a test in a mount namespace that only the threads of its runtime share. Mounts of other tests do not appear in
/// it.
pub(crate) fn apart(test: impl Future<Output = ()>) {
    apart_in(|| Builder::new_multi_thread().enable_all().build().unwrap(), test);
}

fn apart_in(runtime: impl FnOnce() -> Runtime, test: impl Future<Output = ()>) {
    let _private = PrivateMounts::enter();
    runtime().block_on(test);
}

/// Returns the mounts of the test's own mount namespace.
pub(crate) fn mounts() -> String {
    fs::read_to_string("/proc/thread-self/mountinfo").unwrap()
}

/// Counts the descriptors, children and mounts of this process.
fn holdings() -> Holdings {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let children: usize = fs::read_dir("/proc/self/task")
        .unwrap()
        // A thread that ended meanwhile has no children.
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
        .map(|children| children.split_whitespace().count())
        .sum();
    (count("/proc/self/fd"), children, mounts().lines().count())
}

#[test]
fn a_hundred_jobs_leak_nothing() {
    apart(a_hundred_jobs());
}

async fn a_hundred_jobs() {
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
        let before = settled().await;
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
        back_to(before).await;
    }
    it.shut_down().await;
    let launcher = it.state("launcher");
    until("no file of the launcher remains", || fs::read_dir(&launcher).unwrap().count() == 0).await;
    until("no child process remains", || holdings().1 == 0).await;
}

/// Reports whether this process holds no more resources than before.
pub(crate) fn is_back_to(before: Holdings) -> bool {
    let now = holdings();
    now.0 <= before.0 && now.1 <= before.1 && now.2 <= before.2
}

/// Waits until this process holds no more resources than before.
pub(crate) async fn back_to(before: Holdings) {
    let begun = Instant::now();
    while !is_back_to(before) {
        assert!(begun.elapsed() < PATIENCE, "{:?} became {:?}", before, holdings());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn inputs_that_nobody_reads_leak_nothing() {
    apart(unread_inputs());
}

async fn unread_inputs() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut before = None;
    for round in 0..4 {
        let id = it.start(with_input(session, "sleep 600")).await;
        let mut writer = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
        assert_eq!(writer.next().await, Some(ExchangeFromRunner::Ready { offset: 0 }));
        // More than the pipe holds, so the runner waits for a reader that does not exist.
        for index in 0..32 {
            writer.write(index * TRANSFER_CHUNK_BYTES as u64, vec![7; TRANSFER_CHUNK_BYTES]).await;
        }
        // Another writer waits for its turn, and a third one has disconnected while it waited.
        let waiting = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
        drop(it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await);
        if round % 2 == 0 {
            // The active writer has disconnected too, before the end.
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

/// Returns the resources of this process once they are stable.
pub(crate) async fn settled() -> Holdings {
    let (mut last, mut same) = (holdings(), 0);
    while same < 5 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = holdings();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// Returns the resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// More threads than the jobs of the test below ever use.
const THREADS: usize = 192;

/// Creates a runtime with all its threads from the start, each of which has allocated memory. Otherwise the measured
/// memory would depend on how many threads a busy host needs at once.
fn with_all_threads() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().max_blocking_threads(THREADS).thread_keep_alive(PATIENCE * 10);
    let runtime = builder.build().unwrap();
    let all = Arc::new(Barrier::new(THREADS));
    let wait = |_| {
        let all = Arc::clone(&all);
        runtime.spawn_blocking(move || {
            let touched = vec![1_u8; 256 << 10];
            all.wait();
            std::hint::black_box(touched);
        })
    };
    let waiting: Vec<_> = (0..THREADS).map(wait).collect();
    for thread in waiting {
        runtime.block_on(thread).unwrap();
    }
    runtime
}

#[test]
fn five_hundred_jobs_sixteen_at_once_keep_memory_flat() {
    apart_in(with_all_threads, five_hundred_jobs());
}

async fn five_hundred_jobs() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    // During the first jobs, each thread uses its stack for the first time, and the lists of finished jobs fill.
    let mut after_warm_up = 0;
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
        if index == 250 {
            after_warm_up = resident();
        }
    }
    for (id, _) in waiting {
        it.job(id, JobPhase::Ended).await;
    }
    assert!(resident() < after_warm_up + (4 << 10), "{after_warm_up} KiB grew to {} KiB", resident());
    it.shut_down().await;
}
