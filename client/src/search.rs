//! The position of a reader in a search. Each line is returned once, although the search can be requested again.
//!
//! A search that was cut is requested again from its beginning, and known lines are skipped, so line numbers
//! stay known. If connections break too early for progress, the search continues from the last match
//! instead, without line numbers.

use airlock_domain::limits::MATCHES_DEFAULT;

use super::{
    OutputPiece,
    v1::{OutputSearch, execution_service_read_output_response::Part},
};

/// The number of consecutive views without new data after which line numbers are no longer returned.
const VAIN: u32 = 2;

#[derive(Debug)]
pub(super) struct SearchPosition {
    search: OutputSearch,
    /// The offset of the last line that was returned.
    last_line: Option<u64>,
    last_match: Option<u64>,
    /// The number of matches that were returned.
    matches: u64,
    /// The number of those matches that the open view does not count.
    before_view: u64,
    gap_to: u64,
    brought: bool,
    vain: u32,
    /// Whether line numbers are no longer returned.
    by_offset: bool,
}

impl SearchPosition {
    pub(super) fn new(search: OutputSearch) -> Self {
        Self {
            search,
            last_line: None,
            last_match: None,
            matches: 0,
            before_view: 0,
            gap_to: 0,
            brought: false,
            vain: 0,
            by_offset: false,
        }
    }

    pub(super) fn request(&mut self) -> OutputSearch {
        self.brought = false;
        self.before_view = 0;
        let mut search = self.search.clone();
        if let Some(offset) = self.last_match.filter(|_| self.by_offset) {
            // The search starts at the last match, which is found again, so that the context lines after it
            // are shown.
            self.before_view = self.matches.saturating_sub(1);
            let most = match search.max_matches {
                0 => MATCHES_DEFAULT,
                most => most,
            };
            let found = u32::try_from(self.before_view).unwrap_or(u32::MAX);
            search.max_matches = most.saturating_sub(found).max(1);
            search.offset = offset;
        }
        search
    }

    /// Records that the view broke.
    pub(super) fn cut(&mut self) {
        self.vain = if self.brought { 0 } else { self.vain.saturating_add(1) };
        self.by_offset |= self.vain >= VAIN;
    }

    pub(super) fn admit(&mut self, part: Part) -> Result<Option<OutputPiece>, &'static str> {
        match part {
            Part::Output(_) => Err("it sent bytes where lines were requested"),
            Part::Gap(gap) => {
                let from = gap.from.max(self.gap_to);
                self.gap_to = self.gap_to.max(gap.to);
                Ok((gap.to > from).then_some(OutputPiece::Gap { from, to: gap.to }))
            }
            Part::Line(line) => {
                if self.last_line.is_some_and(|last| line.offset <= last) {
                    return Ok(None);
                }
                self.brought = true;
                self.last_line = Some(line.offset);
                if !line.context {
                    self.last_match = Some(line.offset);
                    self.matches += 1;
                }
                Ok(Some(OutputPiece::Line(line)))
            }
            Part::Done(mut done) => {
                done.matches = done.matches.saturating_add(self.before_view);
                Ok(Some(OutputPiece::Done(done)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::Gap;

    #[test]
    fn a_gap_that_has_grown_is_given_once() {
        let mut position = SearchPosition::new(OutputSearch::default());
        let gap = |from, to| Part::Gap(Gap { from, to, ..Default::default() });
        assert_eq!(position.admit(gap(100, 200)), Ok(Some(OutputPiece::Gap { from: 100, to: 200 })));
        position.cut();
        assert_eq!(position.admit(gap(100, 200)), Ok(None));
        assert_eq!(position.admit(gap(100, 300)), Ok(Some(OutputPiece::Gap { from: 200, to: 300 })));
    }
}
