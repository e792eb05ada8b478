//! The time and memory limits of one answer. The time is that of the thread, so that a busy machine
//! causes no findings. The code is instrumented, so that the limit is ten times the real one.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};

/// Counts allocations of Rust. libFuzzer's own limits cover the C code.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The time limit of one answer.
pub const MOST_TIME: Duration = Duration::from_secs(1);
const MOST_BYTES: usize = 64 << 20;

/// Returns the processor time of this thread.
pub fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("the clock of a thread is not negative")
}

/// Does the work and checks its time and memory.
pub fn bounded<T>(work: impl Fn() -> T) -> T {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let (answer, mut took) = timed(&work);
    let bytes = HEAP.peak_usage().saturating_sub(before);
    assert!(bytes <= MOST_BYTES, "one decision used {bytes} bytes");
    for _ in 0..2 {
        if took > MOST_TIME {
            took = took.min(timed(&work).1);
        }
    }
    assert!(took <= MOST_TIME, "one decision took {took:?}");
    answer
}

fn timed<T>(work: impl Fn() -> T) -> (T, Duration) {
    let begun = thread_time();
    let answer = work();
    (answer, thread_time().saturating_sub(begun))
}
