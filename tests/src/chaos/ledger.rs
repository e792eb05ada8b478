//! Records the events of one reader and checks each against the contract: no event is missing or repeated.

use airlock_client::v1::{self, Execution, event::Event as Kind};

/// One received output stream.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Told {
    /// The received bytes, in order.
    pub bytes: Vec<u8>,
    /// The reported gaps: from, to.
    pub gaps: Vec<(u64, u64)>,
    /// The offset of the next byte.
    next: u64,
}

impl Told {
    pub(super) fn piece(&mut self, offset: u64, data: &[u8]) {
        assert_eq!(offset, self.next, "a byte was lost or repeated");
        self.bytes.extend_from_slice(data);
        self.next += data.len() as u64;
    }

    /// Checks that this is the output `script`, of which the spool lacks `cut.0` to `cut.1`: all bytes are correct,
    /// and only cut bytes are missing.
    ///
    /// # Panics
    /// If it is not.
    pub fn assert_of(&self, script: &[u8], cut: (u64, u64), what: &str) {
        let (mut at, mut held) = (0, self.bytes.as_slice());
        for (from, to) in self.gaps.iter().copied().chain([(script.len() as u64, script.len() as u64)]) {
            let is_end = from == script.len() as u64;
            assert!(is_end || (cut.0 <= from && to <= cut.1), "{what}: {from} to {to} is not within {cut:?}");
            let (from, to) = (usize::try_from(from).unwrap(), usize::try_from(to).unwrap());
            let (piece, rest) =
                held.split_at_checked(from - at).expect("there are as many bytes as were told");
            assert!(script.get(at..from) == Some(piece), "{what}: other bytes from {at} to {from}");
            (at, held) = (to, rest);
        }
        assert!(held.is_empty(), "{what}: {} bytes past the end", held.len());
    }

    /// Records a gap. Adjacent gaps are combined.
    pub(super) fn gap(&mut self, from: u64, to: u64) {
        assert_eq!(from, self.next, "a gap does not begin where the bytes end");
        assert!(to > from, "a gap is not empty");
        match self.gaps.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.gaps.push((from, to)),
        }
        self.next = to;
    }
}

/// All events that one reader received from one execution, over any number of views.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Ledger {
    /// The state changes: version, state, link.
    pub steps: Vec<(u64, i32, i32)>,
    /// Standard output.
    pub stdout: Told,
    /// Standard error.
    pub stderr: Told,
    /// The number of `backgrounded` events.
    pub backgrounded: u32,
    /// The execution at its end.
    pub end: Option<Execution>,
}

impl Ledger {
    /// Records one event.
    ///
    /// # Panics
    /// If it does not follow the previous events.
    pub fn take(&mut self, event: v1::Event) {
        assert!(self.end.is_none(), "an event followed the end");
        assert!(event.cursor.len() <= 64, "a cursor has at most 64 bytes");
        match event.event.expect("an event is never empty") {
            // The header of a view, and a message outside the history.
            Kind::Opened(_) | Kind::Progress(_) => {}
            Kind::StateChanged(change) => {
                assert_eq!(change.version, self.version() + 1, "a change was lost or repeated: {change:?}");
                self.steps.push((change.version, change.state, change.link));
            }
            Kind::Output(output) => self.stream(output.stream()).piece(output.offset, &output.data),
            Kind::Gap(gap) => self.stream(gap.stream()).gap(gap.from, gap.to),
            Kind::Finished(finished) => {
                let end = finished.execution.expect("an end contains its execution");
                assert_eq!(
                    end.version,
                    self.version() + 1,
                    "a change before the end was lost: {:?}",
                    self.steps
                );
                self.end = Some(end);
            }
            // The event also represents its state change.
            Kind::Backgrounded(_) => {
                let (version, state, link) = *self.steps.last().expect("it was running before");
                self.steps.push((version + 1, state, link));
                self.backgrounded += 1;
            }
        }
    }

    /// Checks that two readers received the same, in pieces of any size.
    ///
    /// # Panics
    /// If they did not.
    pub fn assert_same(&self, other: &Self, what: &str) {
        assert_eq!(self.steps, other.steps, "{what}: the same changes of state");
        for (mine, others, name) in
            [(&self.stdout, &other.stdout, "stdout"), (&self.stderr, &other.stderr, "stderr")]
        {
            assert_eq!(mine.gaps, others.gaps, "{what}: the same gaps in {name}");
            assert!(mine.bytes == others.bytes, "{what}: the same bytes in {name}");
        }
        let result = |ledger: &Self| ledger.end.as_ref().map(|end| (end.version, end.result.clone()));
        assert_eq!(result(self), result(other), "{what}: the same end");
    }

    fn version(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.0)
    }

    fn stream(&mut self, stream: v1::OutputStream) -> &mut Told {
        match stream {
            v1::OutputStream::Stderr => &mut self.stderr,
            _ => &mut self.stdout,
        }
    }
}
