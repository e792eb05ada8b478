//! Tests of segments and the budget, against the sum over all streams.

use proptest::prelude::*;

use super::*;

const CAP: u64 = 64 << 10;

#[derive(Debug, Clone, Copy)]
enum Move {
    Take(usize),
    Grow(usize, u64),
    Release(usize),
}

fn any_move() -> impl Strategy<Value = Move> {
    let stream = 0_usize..3;
    prop_oneof![
        5 => stream.clone().prop_map(Move::Take),
        5 => (stream.clone(), 0_u64..40_000).prop_map(|(stream, bytes)| Move::Grow(stream, bytes)),
        1 => stream.prop_map(Move::Release),
    ]
}

proptest! {
    #[test]
    fn the_budget_is_the_sum_of_the_segments_and_is_never_exceeded(
        segments in 0_u64..40,
        moves in proptest::collection::vec(any_move(), 0..200),
    ) {
        let layout = Layout::for_cap(CAP);
        let limit = segments * layout.segment;
        let mut budget = Budget::new(limit);
        let mut streams = vec![(Segments::new(layout), 0_u64); 3];
        for next in moves {
            match next {
                Move::Take(stream) => {
                    let before = streams.clone();
                    let (segments, _) = &mut streams[stream];
                    let taken = segments.take(&mut budget);
                    if taken == Err(NoSegment::Full(Full { limit })) {
                        prop_assert!(budget.used() + layout.segment > limit);
                    }
                    prop_assert!(taken.is_ok() || streams == before, "a refusal has no effect");
                }
                Move::Grow(stream, bytes) => {
                    let (segments, total) = &mut streams[stream];
                    *total += bytes;
                    let dead = segments.to_delete(*total);
                    prop_assert!(segments.to_delete(*total).is_empty(), "each segment is deleted once");
                    let cut = layout.cut(*total).unwrap_or_default();
                    for index in dead {
                        let bytes = index * layout.segment..(index + 1) * layout.segment;
                        prop_assert!(cut.start <= bytes.start && bytes.end <= cut.end, "only cut bytes");
                        segments.deleted(&mut budget);
                    }
                }
                Move::Release(stream) => {
                    let (segments, _) = &mut streams[stream];
                    segments.release(&mut budget);
                    prop_assert_eq!(segments.take(&mut budget), Err(NoSegment::Removed));
                }
            }
            let held: u64 = streams.iter().map(|(segments, _)| segments.held).sum();
            prop_assert_eq!(budget.used(), held * layout.segment);
            prop_assert!(budget.used() <= limit);
        }
    }
}

#[test]
fn the_segments_of_an_earlier_process_count_even_beyond_the_limit() {
    let layout = Layout::for_cap(CAP);
    let mut budget = Budget::new(layout.segment);
    let mut found = Segments::found(layout, 3, &mut budget);
    assert_eq!(budget.used(), 3 * layout.segment);
    assert_eq!(found.take(&mut budget), Err(NoSegment::Full(Full { limit: layout.segment })));
    found.release(&mut budget);
    assert_eq!(budget.used(), 0);
}
