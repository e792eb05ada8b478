//! Tests of the idle timeout, with a paused clock that the test advances.

use tokio::time::{Instant, advance};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);
const ALMOST: Duration = Duration::from_secs(59);
const REST: Duration = Duration::from_secs(1);

fn stream() -> (watch::Sender<StreamState>, Option<watch::Receiver<StreamState>>) {
    let (sender, receiver) = watch::channel(StreamState { total: 0, complete: false });
    (sender, Some(receiver))
}

fn grow(stream: &watch::Sender<StreamState>) {
    stream.send_modify(|state| state.total += 1);
}

/// Lets all ready tasks run, and reports whether the wait is over.
async fn is_over(waiting: &JoinHandle<()>) -> bool {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
    waiting.is_finished()
}

#[tokio::test(start_paused = true)]
async fn silence_is_over_after_its_time_and_counts_anew_with_every_byte_of_either_stream() {
    let ((stdout, out), (stderr, err)) = (stream(), stream());
    let waiting = tokio::spawn(silence(PATIENCE, Instant::now(), [out, err]));
    for stream in [&stdout, &stderr, &stdout, &stdout, &stderr] {
        assert!(!is_over(&waiting).await);
        advance(ALMOST).await;
        grow(stream);
        assert!(!is_over(&waiting).await, "a byte of output restarts the timeout");
        advance(ALMOST).await;
        assert!(!is_over(&waiting).await, "and the timeout counts from then on");
        grow(stream);
    }
    assert!(!is_over(&waiting).await);
    advance(ALMOST).await;
    assert!(!is_over(&waiting).await);
    advance(REST).await;
    assert!(is_over(&waiting).await, "control: without a byte, the timeout expires");
}

#[tokio::test(start_paused = true)]
async fn neither_a_stream_that_is_closed_nor_one_that_is_told_of_without_a_byte_breaks_it() {
    let (stdout, out) = stream();
    let waiting = tokio::spawn(silence(PATIENCE, Instant::now(), [out, None]));
    assert!(!is_over(&waiting).await);
    advance(ALMOST).await;
    stdout.send_modify(|state| state.complete = true);
    assert!(!is_over(&waiting).await);
    drop(stdout);
    assert!(!is_over(&waiting).await);
    advance(REST).await;
    assert!(is_over(&waiting).await);
}

#[tokio::test(start_paused = true)]
async fn it_counts_from_the_start_of_the_command() {
    let (_stdout, out) = stream();
    let started = Instant::now();
    advance(ALMOST).await;
    let waiting = tokio::spawn(silence(PATIENCE, started, [out, None]));
    assert!(!is_over(&waiting).await);
    advance(REST).await;
    assert!(is_over(&waiting).await);
}
