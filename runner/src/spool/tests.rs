//! Tests of the spool against a naive model, and after the death of its process.

use std::io::{self, Write as _};

use proptest::prelude::*;

use super::*;

const BIG: u64 = 1 << 40;

/// Returns the byte for an offset.
fn byte(offset: u64) -> u8 {
    (offset % 251) as u8
}

fn bytes(from: u64, len: usize) -> Vec<u8> {
    (from..).take(len).map(byte).collect()
}

type Bytes = Vec<(u64, u8)>;
type Gaps = Vec<(u64, u64)>;

/// Reads a stream from `from` to its end. Returns the bytes with their offsets, and the gaps.
fn read_all(stream: &StreamSpool, from: u64, max: usize) -> (Bytes, Gaps) {
    let (mut at, mut data, mut gaps) = (from, Vec::new(), Vec::new());
    loop {
        match stream.read(at, max).unwrap() {
            Piece::Data(piece) => {
                assert!(!piece.is_empty() && piece.len() <= max);
                data.extend((at..).zip(piece.iter().copied()));
                at += piece.len() as u64;
            }
            Piece::Gap { to } => {
                assert!(to > at);
                gaps.push((at, to));
                at = to;
            }
            Piece::End(_) => return (data, gaps),
        }
    }
}

/// The naive model: the kept offsets of a stream of `total` bytes, and the number of cut bytes.
fn kept(total: u64, cap: u64) -> (Vec<u64>, u64) {
    let (head, tail) = (cap / 2, cap - cap / 2);
    let kept: Vec<u64> = (0..total).filter(|at| *at < head || *at >= total.saturating_sub(tail)).collect();
    let cut = total - kept.len() as u64;
    (kept, cut)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn it_keeps_what_the_model_keeps(
        cap in 1_u64..120_000,
        writes in proptest::collection::vec(1_usize..40_000, 0..12),
        from in 0_u64..250_000,
        max in 1_usize..40_000,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let spools = Spools::open(dir.path(), BIG).unwrap();
        let id = ExecutionId::new();
        let (spool, mut writers) = spools.create(id, cap, false, 30_000).unwrap();
        let mut total = 0;
        for len in writes {
            writers.stdout.write(&bytes(total, len)).unwrap();
            total += len as u64;
            // Check after each write, not only at the end.
            let (expected, cut) = kept(total, cap);
            let (data, gaps) = read_all(&spool.stdout, 0, 32 << 10);
            prop_assert_eq!(&data, &expected.iter().map(|at| (*at, byte(*at))).collect::<Vec<_>>());
            prop_assert_eq!(gaps.iter().map(|(from, to)| to - from).sum::<u64>(), cut);
            prop_assert_eq!(spool.stdout.cut_bytes(), cut);
            prop_assert!(gaps.len() <= 1);
        }
        drop(writers);
        prop_assert_eq!(spool.stdout.state(), StreamState { total, complete: true });
        // A restart gives the same result, from any offset in pieces of any size.
        let again = Spools::open(dir.path(), BIG).unwrap();
        let loaded = again.find(&id).unwrap();
        prop_assert_eq!(loaded.stdout.state(), StreamState { total, complete: true });
        prop_assert_eq!(read_all(&loaded.stdout, from, max), read_all(&spool.stdout, from, max));
        prop_assert_eq!(again.budget.used(), spools.budget.used());
        // The disk holds the cap and little more.
        let layout = Layout::for_cap(cap);
        prop_assert!(again.budget.used() <= cap + 3 * layout.segment);
        again.remove(&id).unwrap();
        prop_assert_eq!(again.budget.used(), 0);
        prop_assert!(again.find(&id).is_none());
    }
}

#[test]
fn two_streams_have_offsets_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), BIG).unwrap();
    let (spool, mut writers) = spools.create(ExecutionId::new(), 1 << 20, true, 30_000).unwrap();
    writers.stdout.write(b"out").unwrap();
    writers.stderr.as_mut().unwrap().write(b"error").unwrap();
    let read = |stream| spool.stream(stream).unwrap().read(0, 100).unwrap();
    assert_eq!(read(OutputStream::Stdout), Piece::Data(b"out".to_vec()));
    assert_eq!(read(OutputStream::Stderr), Piece::Data(b"error".to_vec()));
}

#[test]
fn the_limit_of_all_spools_stops_one_and_spares_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), 64 << 10).unwrap();
    let (first, mut one) = spools.create(ExecutionId::new(), 64 << 10, false, 30_000).unwrap();
    let (second, mut two) = spools.create(ExecutionId::new(), 64 << 10, false, 30_000).unwrap();
    two.stdout.write(b"safe").unwrap();
    let error = one.stdout.write(&bytes(0, 64 << 10)).unwrap_err();
    assert!(matches!(error, SpoolError::Full { limit: 65_536 }));
    assert_eq!(first.stdout.state().total, 60 << 10);
    assert_eq!(read_all(&first.stdout, 0, 4096).0.len(), 60 << 10);
    assert_eq!(second.stdout.read(0, 9).unwrap(), Piece::Data(b"safe".to_vec()));
}

#[test]
fn bytes_lost_with_the_host_are_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let id = ExecutionId::new();
    {
        let spools = Spools::open(dir.path(), BIG).unwrap();
        let (_, mut writers) = spools.create(id, 1 << 20, false, 30_000).unwrap();
        writers.stdout.write(&bytes(0, 100_000)).unwrap();
    }
    let directory = dir.path().join("spool").join(id.to_string());
    let segment = Layout::for_cap(1 << 20).segment;
    fs::remove_file(directory.join("stdout.0000000001")).unwrap();
    let short = OpenOptions::new().write(true).open(directory.join("stdout.0000000002")).unwrap();
    short.set_len(10).unwrap();
    let spools = Spools::open(dir.path(), BIG).unwrap();
    let (data, gaps) = read_all(&spools.find(&id).unwrap().stdout, 0, 1 << 20);
    assert_eq!(gaps, [(segment, 2 * segment), (2 * segment + 10, 3 * segment)]);
    assert!(data.iter().all(|(at, found)| *found == byte(*at)));
    assert_eq!(data.len() as u64, 100_000 - 2 * segment + 10);
}

#[test]
fn a_spool_that_is_being_deleted_is_not_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), BIG).unwrap();
    for _ in 0..100 {
        let id = ExecutionId::new();
        let (spool, mut writers) = spools.create(id, 1 << 20, false, 30_000).unwrap();
        writers.stdout.write(&bytes(0, 300_000)).unwrap();
        drop(writers);
        std::thread::scope(|scope| {
            let removing = scope.spawn(|| spools.remove(&id).unwrap());
            while !removing.is_finished() {
                let found = spools.find(&id);
                assert!(found.is_none_or(|found| Arc::ptr_eq(&found, &spool)), "it has lost bytes already");
            }
        });
        assert!(spools.find(&id).is_none() && spools.lock().is_empty());
    }
    assert_eq!((spools.used(), spools.stored().unwrap()), (0, vec![]));
}

#[test]
fn the_rest_of_a_deletion_that_was_interrupted_is_deleted_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), BIG).unwrap();
    let (_, mut writers) = spools.create(ExecutionId::new(), 1 << 20, false, 30_000).unwrap();
    writers.stdout.write(b"out").unwrap();
    let directory = dir.path().join("spool");
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        fs::rename(&path, path.with_extension("deleted")).unwrap();
    }
    Spools::open(dir.path(), BIG).unwrap();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn a_reader_beside_a_fast_writer_sees_only_true_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), BIG).unwrap();
    let (spool, writers) = spools.create(ExecutionId::new(), 256 << 10, false, 30_000).unwrap();
    let writer = std::thread::spawn(move || {
        let mut writers = writers;
        for step in 0..400_u64 {
            writers.stdout.write(&bytes(step * 10_007, 10_007)).unwrap();
        }
    });
    let mut at = 0;
    let mut seen = 0_u64;
    loop {
        match spool.stdout.read(at, 20_000).unwrap() {
            Piece::Data(piece) => {
                assert_eq!(piece, bytes(at, piece.len()), "at {at}");
                at += piece.len() as u64;
                seen += piece.len() as u64;
            }
            Piece::Gap { to } => at = to,
            Piece::End(state) if state.complete => break,
            Piece::End(_) => std::thread::yield_now(),
        }
    }
    writer.join().unwrap();
    assert_eq!(at, 400 * 10_007);
    assert!(seen >= 128 << 10);
}

#[test]
fn a_drain_takes_all_and_ends_with_its_writers_or_its_sandbox() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), BIG).unwrap();
    let (closed, writers) = spools.create(ExecutionId::new(), 1 << 20, false, 30_000).unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    let stop = Stop::new().unwrap();
    let drain = Drain { pipe: reader.into(), writer: writers.stdout, stop: stop.clone(), redactor: None };
    let thread = std::thread::spawn(move || drain.run(|error| panic!("{error}")));
    writer.write_all(&bytes(0, 300_000)).unwrap();
    drop(writer);
    thread.join().unwrap();
    assert_eq!(closed.stdout.state(), StreamState { total: 300_000, complete: true });

    // Another process still holds the pipe after the sandbox has ended.
    let (held, writers) = spools.create(ExecutionId::new(), 1 << 20, false, 30_000).unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(b"last words").unwrap();
    stop.signal();
    Drain { pipe: reader.into(), writer: writers.stdout, stop, redactor: None }
        .run(|error| panic!("{error}"));
    assert_eq!(held.stdout.state(), StreamState { total: 10, complete: true });
}
