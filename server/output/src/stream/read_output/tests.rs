//! Compares the search with a simple implementation on complete lines, for any chunking of the input.

use airlock_domain::{OutputStream::Stdout, limits::LINE_BYTES};
use bytes::Bytes;
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use super::{
    OutputLine, Pattern, ReadDone, ReadPart, Search,
    grep::{Feed, Grep},
    source::Extent,
};

fn wanted(pattern: &str, invert: bool, context: (u32, u32), max_matches: u32) -> Search {
    let pattern = Pattern::new(pattern, false, false).unwrap();
    Search { pattern, invert, before: context.0, after: context.1, max_matches, offset: 0 }
}

/// Runs a search over `text` in chunks of these lengths, which are used cyclically.
fn run(search: Search, text: &[u8], chunks: &[usize]) -> (Vec<OutputLine>, ReadDone) {
    let cancel = CancellationToken::new();
    let mut offset = search.offset;
    let mut grep = Grep::new(Stdout, search);
    let mut parts = Vec::new();
    let mut lengths = chunks.iter().copied().cycle();
    let total = text.len() as u64;
    while offset < total && !grep.stopped() {
        let end = (offset as usize + lengths.next().unwrap()).min(text.len());
        let data = Bytes::copy_from_slice(&text[offset as usize..end]);
        let mut feed = Feed::Data { offset, data };
        while !matches!(feed, Feed::Empty) {
            parts.extend(grep.work(&mut feed, &cancel));
        }
        offset = end as u64;
    }
    let extent = Extent { total, complete: true };
    parts.extend(grep.work(&mut Feed::End { at: offset, extent }, &cancel));
    let Some(ReadPart::Done(done)) = parts.pop() else { panic!("{parts:?}") };
    let line = |part| if let ReadPart::Line(line) = part { line } else { panic!("{part:?}") };
    (parts.into_iter().map(line).collect(), done)
}

/// Returns offset, number and context flag of the lines that the simple search shows.
fn plain(
    text: &[u8],
    found: impl Fn(&[u8]) -> bool,
    context: (u32, u32),
    most: u32,
) -> Vec<(u64, u64, bool)> {
    let mut lines = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        lines.push((offset, line.strip_suffix(b"\n").unwrap_or(line)));
        offset += line.len() as u64;
    }
    let matching: Vec<usize> = (0..lines.len()).filter(|index| found(lines[*index].1)).collect();
    let shown = &matching[..matching.len().min(most as usize)];
    let end = matching.get(most as usize).copied().unwrap_or(lines.len());
    let near = |index: usize| {
        shown.iter().any(|at| {
            (index <= *at && at - index <= context.0 as usize)
                || (index > *at && index - at <= context.1 as usize && index < end)
        })
    };
    (0..lines.len())
        .filter(|index| near(*index))
        .map(|index| (lines[index].0, index as u64 + 1, !shown.contains(&index)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn it_shows_what_a_plain_search_shows(
        text in prop::collection::vec(prop::sample::select(b"ab\n\n\r\0\xff".to_vec()), 0..200),
        chunks in prop::collection::vec(1..30_usize, 1..6),
        invert: bool,
        before in 0..4_u32,
        after in 0..4_u32,
        most in 1..6_u32,
    ) {
        let (lines, done) = run(wanted("ab|^b", invert, (before, after), most), &text, &chunks);
        let found = |line: &[u8]| (line.starts_with(b"b") || line.windows(2).any(|two| two == b"ab")) != invert;
        let seen: Vec<_> = lines.iter().map(|line| (line.offset, line.number, line.context)).collect();
        prop_assert_eq!(&seen, &plain(&text, found, (before, after), most));
        for line in &lines {
            let at = line.offset as usize;
            prop_assert_eq!(&line.data[..], &text[at..at + line.data.len()]);
            prop_assert!(!line.truncated && text.get(at + line.data.len()).is_none_or(|byte| *byte == b'\n'));
            prop_assert_eq!(line.matches.is_empty(), line.context || invert);
        }
        let matches = seen.iter().filter(|line| !line.2).count() as u64;
        prop_assert_eq!(done.matches, matches);
        prop_assert_eq!(done.more, matches == u64::from(most) && done.next_offset < text.len() as u64);
    }
}

#[test]
fn lines_of_any_length_are_matched_and_shown_up_to_the_limit() {
    for (length, cut) in [(LINE_BYTES, false), (LINE_BYTES + 1, true), (10 * LINE_BYTES, true)] {
        let mut text = vec![b'x'; length - 1];
        text.extend_from_slice(b"y\nnext y\n");
        for chunks in [&[32 * 1024][..], &[1_000_000], &[7]] {
            let (lines, _) = run(wanted("y", false, (0, 0), 10), &text, chunks);
            let offsets: Vec<u64> = lines.iter().map(|line| line.offset).collect();
            let next = length as u64 + 1;
            assert_eq!(
                offsets,
                if cut { vec![next] } else { vec![0, next] },
                "a truncated line does not match"
            );
            let (lines, _) = run(wanted("^x", false, (0, 0), 10), &text, chunks);
            assert_eq!((lines[0].data.len(), lines[0].truncated), (LINE_BYTES, cut));
        }
    }
}

#[test]
fn many_places_in_a_line_are_bounded() {
    let (lines, _) = run(wanted("a", false, (0, 0), 10), &b"a".repeat(1000), &[100]);
    assert_eq!(lines[0].matches.len(), 64);
}

#[test]
fn what_is_held_for_a_match_to_come_is_bounded_and_says_that_it_is_cut() {
    let mut text = Vec::new();
    for _ in 0..150 {
        text.extend_from_slice(&b"x".repeat(LINE_BYTES));
        text.push(b'\n');
    }
    text.extend_from_slice(b"match\n");
    let (lines, _) = run(wanted("match", false, (100, 0), 10), &text, &[32 * 1024]);
    assert_eq!(lines.len(), 101);
    let bytes: usize = lines.iter().map(|line| line.data.len()).sum();
    assert!(bytes < 270_000 && lines[..100].iter().all(|line| line.truncated && line.context));
    let (lines, _) = run(wanted("match", false, (4, 0), 10), &text, &[32 * 1024]);
    assert!(lines[..4].iter().all(|line| line.data.len() == LINE_BYTES && !line.truncated));
}
