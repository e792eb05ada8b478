//! The limits on one answer. Time is the thread's own, so that a busy machine is no
//! finding; it is instrumented code that is timed, so the limit is ten times the real one.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};

/// Counts what Rust allocates; libFuzzer's own limits hold the C code's.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Longest time of one answer.
pub const MOST_TIME: Duration = Duration::from_secs(1);
const MOST_BYTES: usize = 64 << 20;

/// The time that this thread has worked.
pub fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("the clock of a thread is not negative")
}

/// Does the work and checks what it took.
pub fn bounded<T>(work: impl Fn() -> T) -> T {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let (answer, mut took) = timed(&work);
    let bytes = HEAP.peak_usage().saturating_sub(before);
    assert!(bytes <= MOST_BYTES, "one answer took {bytes} bytes");
    for _ in 0..2 {
        if took > MOST_TIME {
            took = took.min(timed(&work).1);
        }
    }
    assert!(took <= MOST_TIME, "one answer took {took:?}");
    answer
}

fn timed<T>(work: impl Fn() -> T) -> (T, Duration) {
    let begun = thread_time();
    let answer = work();
    (answer, thread_time().saturating_sub(begun))
}
