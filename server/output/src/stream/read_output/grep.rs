//! Finds matching lines and their context. It processes its input in bounded steps, does no I/O and
//! never waits.

use std::collections::VecDeque;

use airlock_domain::{
    OutputStream,
    limits::{LINE_BYTES, SPANS_PER_LINE},
};
use bytes::Bytes;
use regex_automata::meta::Cache;
use tokio_util::sync::CancellationToken;

use super::{
    line::{Line, Unfinished},
    pattern::Pattern,
    source::Extent,
    types::{OutputLine, ReadDone, ReadPart, Search},
};

/// The approximate size of the results after which a step ends, in bytes.
const STEP_BYTES: usize = 64 * 1024;
/// The overhead of a part, in bytes.
const PART_COST: usize = 128;
/// The total size limit of the lines that are held as context for a later match, in bytes.
const HELD_BYTES: usize = 256 * 1024;

/// The next input of a search.
#[derive(Debug)]
pub(super) enum Feed {
    /// Bytes of the stream.
    Data { offset: u64, data: Bytes },
    /// A range that is no longer held.
    Gap { from: u64, to: u64 },
    /// The end of the input.
    End { at: u64, extent: Extent },
    /// The previous input was consumed.
    Empty,
}

/// The state of a search.
pub(super) struct Grep {
    stream: OutputStream,
    pattern: Pattern,
    cache: Cache,
    search: Wanted,
    line: Unfinished,
    /// The number of the next line, or 0 if it is unknown.
    number: u64,
    /// The latest lines that did not match.
    held: VecDeque<OutputLine>,
    /// The number of context lines to show after the latest match.
    after_left: u32,
    matches: u64,
    /// The offset at which another search continues, set after the maximum number of matches.
    resume: Option<u64>,
    /// Whether the search needs no more lines.
    stopped: bool,
    out: Vec<ReadPart>,
    cost: usize,
}

/// The parameters of the search.
struct Wanted {
    invert: bool,
    before: usize,
    after: u32,
    most: u64,
}

impl Grep {
    pub(super) fn new(stream: OutputStream, search: Search) -> Self {
        let Search { pattern, invert, before, after, max_matches, offset } = search;
        Self {
            stream,
            cache: pattern.cache(),
            pattern,
            search: Wanted { invert, before: before as usize, after, most: u64::from(max_matches) },
            line: Unfinished::default(),
            number: u64::from(offset == 0),
            held: VecDeque::new(),
            after_left: 0,
            matches: 0,
            resume: None,
            stopped: false,
            out: Vec::new(),
            cost: 0,
        }
    }

    /// Returns whether the search needs no input other than [`Feed::End`].
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Processes `feed` and returns the results. Stops when the input is consumed, when a step is full,
    /// or on `cancel`. Removes the processed part from `feed`. Blocks while it works.
    pub(super) fn work(&mut self, feed: &mut Feed, cancel: &CancellationToken) -> Vec<ReadPart> {
        match feed {
            Feed::Data { offset, data } => {
                let mut line = std::mem::take(&mut self.line);
                while !self.stopped && self.cost < STEP_BYTES && !data.is_empty() && !cancel.is_cancelled() {
                    line.take_line(offset, data, |line| self.see(line, cancel));
                }
                self.line = line;
                if data.is_empty() || self.stopped {
                    *feed = Feed::Empty;
                }
            }
            Feed::Gap { from, to } => {
                let (from, to) = (*from, *to);
                self.gap(from, to, cancel);
                *feed = Feed::Empty;
            }
            Feed::End { at, extent } => {
                let (at, extent) = (*at, *extent);
                self.end(at, extent, cancel);
                *feed = Feed::Empty;
            }
            Feed::Empty => {}
        }
        self.cost = 0;
        std::mem::take(&mut self.out)
    }

    fn gap(&mut self, from: u64, to: u64, cancel: &CancellationToken) {
        let mut line = std::mem::take(&mut self.line);
        line.end(from, true, |line| self.see(line, cancel));
        self.line = line;
        // Lines on the other side of a gap are not context.
        self.held.clear();
        self.after_left = 0;
        self.stopped |= self.resume.is_some();
        if !self.stopped {
            self.number = 0;
            self.give(ReadPart::Gap { stream: self.stream, from, to });
        }
    }

    fn end(&mut self, at: u64, extent: Extent, cancel: &CancellationToken) {
        let mut next_offset = at;
        if !self.stopped {
            let mut line = std::mem::take(&mut self.line);
            let (begin, before) = (line.offset(), self.matches);
            line.end(at, false, |line| self.see(line, cancel));
            // The incomplete last line can still become a match.
            if !extent.complete && self.matches == before {
                next_offset = begin.unwrap_or(at);
            }
        }
        let next_offset = self.resume.unwrap_or(next_offset);
        self.give(ReadPart::Done(ReadDone {
            next_offset,
            total: extent.total,
            complete: extent.complete,
            matches: self.matches,
            more: self.resume.is_some() && next_offset < extent.total,
        }));
    }

    fn see(&mut self, line: Line<'_>, cancel: &CancellationToken) {
        let matched = self.pattern.matches(&mut self.cache, line.text);
        let number = self.number;
        if number > 0 {
            self.number += 1;
        }
        let found = matched != self.search.invert;
        if found && self.resume.is_some() {
            self.stopped = true;
        } else if found {
            let spans = match matched {
                true => {
                    self.pattern.spans(&mut self.cache, line.text, SPANS_PER_LINE, || !cancel.is_cancelled())
                }
                false => Vec::new(),
            };
            for held in std::mem::take(&mut self.held) {
                self.give(ReadPart::Line(held));
            }
            self.give(ReadPart::Line(OutputLine {
                matches: spans,
                ..self.shown(&line, number, LINE_BYTES, false)
            }));
            self.matches += 1;
            self.after_left = self.search.after;
            if self.matches >= self.search.most {
                self.resume = Some(line.next);
                self.stopped = self.after_left == 0;
            }
        } else if self.after_left > 0 {
            self.after_left -= 1;
            self.give(ReadPart::Line(self.shown(&line, number, LINE_BYTES, true)));
            self.stopped = self.resume.is_some() && self.after_left == 0;
        } else if self.search.before > 0 {
            if self.held.len() == self.search.before {
                self.held.pop_front();
            }
            let most = LINE_BYTES.min(HELD_BYTES / self.search.before);
            self.held.push_back(self.shown(&line, number, most, true));
        }
    }

    /// Copies the text, so that the result does not keep a whole chunk in memory.
    fn shown(&self, line: &Line<'_>, number: u64, most: usize, context: bool) -> OutputLine {
        let text = line.text.get(..most).unwrap_or(line.text);
        OutputLine {
            stream: self.stream,
            offset: line.offset,
            data: Bytes::copy_from_slice(text),
            truncated: line.longer || text.len() < line.text.len(),
            number,
            context,
            matches: Vec::new(),
        }
    }

    fn give(&mut self, part: ReadPart) {
        let bytes = match &part {
            ReadPart::Line(line) => line.data.len() + line.matches.len() * 8,
            ReadPart::Output { .. } | ReadPart::Gap { .. } | ReadPart::Done(_) => 0,
        };
        self.cost += PART_COST + bytes;
        self.out.push(part);
    }
}
