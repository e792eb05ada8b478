//! The events and bytes that a reader has received. They prevent an event or byte from being returned twice or skipped
//! silently.

use super::v1::{Event, OutputStream, event::Event as Kind};

/// The position of a reader in an execution's events.
#[derive(Debug, Clone, Default)]
pub(super) struct ReaderPosition {
    opened: bool,
    state: Option<(u64, i32, i32)>,
    stdout: Option<u64>,
    stderr: Option<u64>,
}

/// The treatment of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// The event is new and must be returned.
    New,
    /// The reader already has all of it.
    Old,
    /// The event cannot follow the previous ones.
    Broken(&'static str),
}

impl ReaderPosition {
    /// Creates the position of a reader that starts at these offsets.
    pub(super) fn at(stdout: u64, stderr: u64) -> Self {
        Self { stdout: Some(stdout), stderr: Some(stderr), ..Self::default() }
    }

    /// Records an event, and removes the part of it that the reader already has.
    pub(super) fn admit(&mut self, event: &mut Event) -> Admission {
        let new = match &mut event.event {
            // An event of a later version of the contract. Later versions only add events.
            None => false,
            // Each view begins with a header; the reader receives the first one only.
            Some(Kind::Opened(_)) => !std::mem::replace(&mut self.opened, true),
            Some(Kind::StateChanged(change)) => {
                let now = (change.version, change.state, change.link);
                let new = self
                    .state
                    .is_none_or(|position| now.0 > position.0 || (now.0 == position.0 && now != position));
                if new {
                    self.state = Some(now);
                }
                new
            }
            Some(Kind::Output(output)) => {
                let Some(at) = self.offset(output.stream) else {
                    return Admission::Broken("it sent output of an unknown stream");
                };
                let start = at.unwrap_or(output.offset);
                let end = output.offset.saturating_add(output.data.len() as u64);
                if output.offset > start {
                    return Admission::Broken("it skipped bytes without reporting a gap");
                }
                let have = usize::try_from(start - output.offset).unwrap_or(usize::MAX);
                output.data = output.data.slice(have.min(output.data.len())..);
                output.offset = start;
                *at = Some(end.max(start));
                !output.data.is_empty()
            }
            Some(Kind::Gap(gap)) => {
                let Some(at) = self.offset(gap.stream) else {
                    return Admission::Broken("it sent a gap of an unknown stream");
                };
                let start = at.unwrap_or(gap.from);
                if gap.from > start {
                    return Admission::Broken("it skipped bytes without reporting a gap");
                }
                gap.from = start;
                *at = Some(gap.to.max(start));
                gap.to > start
            }
            Some(Kind::Finished(_) | Kind::Backgrounded(_) | Kind::Progress(_)) => true,
        };
        if new { Admission::New } else { Admission::Old }
    }

    fn offset(&mut self, stream: i32) -> Option<&mut Option<u64>> {
        match OutputStream::try_from(stream).ok()? {
            OutputStream::Stdout => Some(&mut self.stdout),
            OutputStream::Stderr => Some(&mut self.stderr),
            OutputStream::Unspecified => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::v1, *};

    fn output(offset: u64, data: &'static str) -> Event {
        event(Kind::Output(v1::Output { stream: OutputStream::Stdout.into(), offset, data: data.into() }))
    }

    fn gap(from: u64, to: u64) -> Event {
        event(Kind::Gap(v1::Gap { stream: OutputStream::Stdout.into(), from, to }))
    }

    fn state(version: u64, link: v1::LinkState) -> Event {
        event(Kind::StateChanged(v1::StateChanged { version, link: link.into(), ..Default::default() }))
    }

    fn event(kind: Kind) -> Event {
        Event { cursor: "c".into(), event: Some(kind) }
    }

    /// Returns the rest of an event, if it is new.
    fn admitted(position: &mut ReaderPosition, mut event: Event) -> Option<Event> {
        (position.admit(&mut event) == Admission::New).then_some(event)
    }

    fn is_broken(position: &mut ReaderPosition, mut event: Event) -> bool {
        matches!(position.admit(&mut event), Admission::Broken(_))
    }

    #[test]
    fn trims_what_was_seen() {
        let mut position = ReaderPosition::default();
        assert_eq!(admitted(&mut position, output(0, "abc")), Some(output(0, "abc")));
        assert_eq!(admitted(&mut position, output(0, "abc")), None);
        assert_eq!(admitted(&mut position, output(1, "bcde")), Some(output(3, "de")));
        assert_eq!(admitted(&mut position, gap(2, 9)), Some(gap(5, 9)));
        assert_eq!(admitted(&mut position, gap(2, 9)), None);
        assert_eq!(admitted(&mut position, output(9, "")), None);
        assert!(is_broken(&mut position, output(10, "x")));
        assert!(is_broken(&mut position, gap(11, 12)));
        assert_eq!(admitted(&mut position, output(9, "x")), Some(output(9, "x")));
    }

    #[test]
    fn an_attach_by_cursor_begins_anywhere_and_one_by_offset_does_not() {
        assert!(admitted(&mut ReaderPosition::default(), output(10, "x")).is_some());
        assert!(admitted(&mut ReaderPosition::at(10, 0), output(10, "x")).is_some());
        assert!(is_broken(&mut ReaderPosition::at(9, 0), output(10, "x")));
    }

    #[test]
    fn states_come_once() {
        let mut position = ReaderPosition::default();
        assert!(admitted(&mut position, state(2, v1::LinkState::Connected)).is_some());
        assert!(admitted(&mut position, state(2, v1::LinkState::Connected)).is_none());
        assert!(admitted(&mut position, state(2, v1::LinkState::Unreachable)).is_some());
        assert!(admitted(&mut position, state(1, v1::LinkState::Connected)).is_none());
    }

    #[test]
    fn the_header_comes_once() {
        let mut position = ReaderPosition::default();
        let opened = || event(Kind::Opened(v1::Opened { execution: None }));
        assert!(admitted(&mut position, opened()).is_some());
        assert!(admitted(&mut position, opened()).is_none());
    }
}
