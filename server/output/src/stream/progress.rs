//! The progress events of a view: the run time of the command, the amount of its output, and its last lines.
//!
//! An event is created when the reader asks for the next event and a second has passed since the last one. It is
//! computed from the output that this view has delivered. At most one exists, it is not queued, and output never waits
//! for it.

use std::time::Duration;

use airlock_domain::{
    limits::{PROGRESS_LINE_BYTES, PROGRESS_LINES},
    text::clean,
};
use airlock_store::record::Micros;
use tokio::time::Instant;

use super::facts::Facts;

/// The run time of a command before the first progress event.
const FIRST: Duration = Duration::from_secs(2);
/// The interval between progress events.
const PERIOD: Duration = Duration::from_secs(1);
/// The size of the buffer for the last lines, in bytes.
const TAIL: usize = PROGRESS_LINES * PROGRESS_LINE_BYTES;

/// The progress of a running command, as a view sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The time since the command began to run.
    pub elapsed: Duration,
    /// The number of bytes of both streams that the server knows of.
    pub total_bytes: u64,
    /// The number of lines in this view.
    pub total_lines: u64,
    /// The last of these lines. At most [`airlock_domain::limits::PROGRESS_LINES`] of
    /// [`airlock_domain::limits::PROGRESS_LINE_BYTES`] each.
    pub last_lines: Vec<String>,
    /// The view has returned every byte that the server knows of, from the first byte on.
    pub complete: bool,
}

/// The state for the progress events of one view.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The start time of the command, by the store's clock. `None` unless it is running.
    started: Option<Micros>,
    /// The start time of the command by this process's clock, once it is computed.
    began: Option<Instant>,
    next: Option<Instant>,
    line_ends: u64,
    /// Whether the last byte of each lane is part of an unfinished line.
    open_lines: [bool; 2],
    tail: Vec<u8>,
    /// Whether the view skipped a gap or did not begin at the first byte.
    missed: bool,
}

impl Pace {
    /// Creates the state of a view. `from_start` states whether it begins at the first byte.
    pub(super) fn new(from_start: bool) -> Self {
        Self { missed: !from_start, ..Self::default() }
    }

    pub(super) fn learn(&mut self, facts: &Facts, now: Instant) {
        self.started = facts.running_since();
        match self.started {
            None => self.next = None,
            Some(_) => self.next = self.next.or(now.checked_add(PERIOD)),
        }
    }

    /// Returns when the next event is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Returns the start time by the store's clock, if the elapsed time must still be computed.
    pub(super) fn asks_for_clock(&self) -> Option<Micros> {
        self.started.filter(|_| self.began.is_none())
    }

    /// Sets the run time of the command.
    pub(super) fn runs_for(&mut self, elapsed: Duration, now: Instant) {
        self.began = now.checked_sub(elapsed).or(Some(now));
    }

    /// Records the delivered output of a lane.
    pub(super) fn gave(&mut self, lane: usize, data: &[u8]) {
        if self.started.is_none() {
            return;
        }
        self.line_ends += memchr::memchr_iter(b'\n', data).count() as u64;
        if let Some(open) = self.open_lines.get_mut(lane) {
            *open = data.last() != Some(&b'\n');
        }
        let new = data.get(data.len().saturating_sub(TAIL)..).unwrap_or_default();
        let over = (self.tail.len() + new.len()).saturating_sub(TAIL);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend_from_slice(new);
    }

    /// Records that a gap was skipped.
    pub(super) fn passed_over(&mut self) {
        self.missed = true;
    }

    /// Returns the event that is due now. `known` is the number of written bytes, `given` the number of delivered
    /// bytes.
    pub(super) fn tell(&mut self, known: u64, given: u64, now: Instant) -> Option<Progress> {
        self.next = now.checked_add(PERIOD);
        let elapsed = now.saturating_duration_since(self.began?);
        if elapsed < FIRST {
            self.next = now.checked_add(FIRST - elapsed);
            return None;
        }
        let open = self.open_lines.iter().filter(|open| **open).count() as u64;
        Some(Progress {
            elapsed,
            total_bytes: known.max(given),
            total_lines: self.line_ends + open,
            last_lines: last_lines(&self.tail),
            complete: !self.missed && given >= known,
        })
    }
}

fn last_lines(tail: &[u8]) -> Vec<String> {
    let text = clean(tail, usize::MAX).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.get(lines.len().saturating_sub(PROGRESS_LINES)..).unwrap_or_default();
    let cut = |line: &&str| {
        line.get(..line.floor_char_boundary(PROGRESS_LINE_BYTES)).unwrap_or_default().to_owned()
    };
    shown.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_five_lines_are_clean_and_bounded() {
        assert_eq!(last_lines(b""), [""; 0]);
        assert_eq!(last_lines(b"1\n2\n3\n4\n5\n6\n"), ["2", "3", "4", "5", "6"]);
        assert_eq!(last_lines(b"one\n 10%\r\x1b[32m 20%"), ["one", " 20%"]);
        let long = last_lines("\u{e9}".repeat(PROGRESS_LINE_BYTES).as_bytes());
        assert_eq!(long, ["\u{e9}".repeat(PROGRESS_LINE_BYTES / 2)]);
    }

    #[tokio::test]
    async fn it_begins_after_two_seconds_and_keeps_no_more_than_it_shows() {
        let now = Instant::now();
        let mut pace = Pace::new(true);
        pace.gave(0, b"before it runs\n");
        pace.started = Some(Micros(1));
        assert_eq!(pace.tell(0, 0, now), None, "the start time is unknown");
        pace.runs_for(Duration::from_millis(1500), now);
        assert_eq!(pace.tell(0, 0, now), None);
        assert_eq!(pace.next(), Some(now + Duration::from_millis(500)));
        let later = now + Duration::from_millis(500);
        for _ in 0..100 {
            pace.gave(0, &[b'x'; 8000]);
            pace.gave(1, b"y\n");
        }
        assert!(pace.tail.len() <= TAIL);
        let told = pace.tell(900_000, 800_200, later).unwrap();
        assert_eq!((told.total_bytes, told.total_lines, told.complete), (900_000, 101, false));
        assert_eq!(told.elapsed, Duration::from_secs(2));
        assert!(pace.tell(800_200, 800_200, later).unwrap().complete);
        pace.passed_over();
        assert!(!pace.tell(800_200, 800_200, later).unwrap().complete);
        assert_eq!(pace.next(), Some(later + PERIOD));
    }
}
