//! The contract of every output storage, as tests that compare it with a plain model of a stream. Each kind
//! of storage runs all of them with [`contract_tests!`].

use std::ops::Range;

use airlock_domain::{ExecutionId, OutputStream, limits::CHUNK_BYTES};
use futures::{TryStreamExt as _, future::join_all};
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutPayload};
use sha2::{Digest as _, Sha256};

use super::{manifest::directory, *};
use crate::stream::{GAPS_MOST, OutputShelf, Piece, ShelfError, Shelved};
use OutputStream::{Stderr, Stdout};

/// The size of the pieces that readers return in these tests. It is small, so that short streams span many
/// pieces.
pub(super) const PIECE: usize = 5;

/// An empty storage under test.
pub(super) struct Fixture {
    /// The storage with small pieces.
    pub(super) outputs: Outputs,
    /// The storage with its production sizes.
    pub(super) whole: Outputs,
    /// The step between the offsets that are read from. It is larger for slow storages.
    pub(super) stride: usize,
    /// Keeps the temporary directory for the lifetime of the storage.
    pub(super) _directory: Option<tempfile::TempDir>,
}

impl Fixture {
    /// Creates a storage with pieces of [`PIECE`] bytes, and with requests that are not a multiple of a
    /// piece.
    pub(super) fn of(whole: Outputs, stride: usize, directory: Option<tempfile::TempDir>) -> Self {
        let outputs = Outputs { read_bytes: PIECE, fetch_bytes: PIECE + 2, ..whole.clone() };
        Self { outputs, whole, stride, _directory: directory }
    }
}

/// Generates one test per function of the contract. `$fresh` is an async function that returns an empty
/// [`Fixture`].
macro_rules! contract_tests {
    ($fresh:path) => {
        $crate::storage::contract::contract_tests! { @each $fresh;
            every_range_of_every_shape_reads_back,
            the_two_streams_are_apart,
            a_full_spool_with_its_middle_cut_goes_through_in_bounded_pieces,
            a_stretch_out_of_place_is_refused,
            the_first_of_two_writers_is_what_is_stored,
            many_writers_at_once_store_one_output,
            what_a_dead_writer_left_goes_with_the_next,
            a_dropped_writer_leaves_nothing_to_read,
            an_empty_output_is_stored_too,
            deleting_leaves_nothing_and_can_be_repeated,
            damage_is_said_and_never_served,
            the_streams_see_pieces_and_ends,
        }
    };
    (@each $fresh:path; $($name:ident),+ $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                $crate::storage::contract::$name(&$fresh().await).await;
            }
        )+
    };
}

pub(super) use contract_tests;

pub(super) fn bytes(range: Range<u64>) -> bytes::Bytes {
    range.map(|offset| (offset % 251) as u8).collect()
}

/// Writes a stream of `length` bytes, except `gaps`, in appends of `step` bytes.
pub(super) async fn write(
    writer: &mut OutputWriter,
    stream: OutputStream,
    length: u64,
    gaps: &[(u64, u64)],
    step: usize,
) {
    let mut offset = 0;
    for (start, to) in gaps.iter().copied().chain([(length, length)]) {
        while offset < start {
            let end = start.min(offset + step as u64);
            writer.append(stream, offset, bytes(offset..end)).await.unwrap();
            offset = end;
        }
        if start < to {
            writer.gap(stream, start, to).unwrap();
            offset = to;
        }
    }
}

/// Reads from `from` to the end of the stream.
pub(super) async fn read(outputs: &Outputs, id: ExecutionId, stream: OutputStream, from: u64) -> Vec<Piece> {
    let (mut reader, mut offset) = (outputs.open(id, stream).await.unwrap(), from);
    let mut pieces = Vec::new();
    while let Some(piece) = reader.read(offset).await.unwrap() {
        offset = end_of(&piece);
        pieces.push(piece);
    }
    assert_eq!(offset, reader.length());
    pieces
}

fn end_of(piece: &Piece) -> u64 {
    match piece {
        Piece::Data { offset, data } => offset + data.len() as u64,
        Piece::Gap { to, .. } => *to,
    }
}

/// Checks every byte of a read: each kept offset occurs once, and each gap begins at the offset where it is
/// met.
pub(super) fn check(pieces: &[Piece], length: u64, gaps: &[(u64, u64)], from: u64, most: usize) {
    let mut offset = from;
    for piece in pieces {
        match piece {
            Piece::Data { offset: at, data } => {
                assert!(*at == offset && !data.is_empty() && data.len() <= most);
                let end = offset + data.len() as u64;
                assert!(gaps.iter().all(|gap| end <= gap.0 || gap.1 <= offset));
                assert_eq!(*data, bytes(offset..end));
                offset = end;
            }
            Piece::Gap { from: at, to } => {
                assert!(*at == offset && gaps.iter().any(|gap| (gap.0..gap.1).contains(at) && gap.1 == *to));
                offset = *to;
            }
        }
    }
    assert_eq!(offset, length);
}

pub(super) async fn is_missing(outputs: &Outputs, id: ExecutionId) {
    assert_eq!(outputs.stored(id).await.unwrap(), None);
    let read = outputs.open(id, Stdout).await;
    assert!(matches!(read.err(), Some(OutputError::Missing(_))));
}

pub(super) async fn every_range_of_every_shape_reads_back(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let shapes: [(u64, &[(u64, u64)]); 7] = [
        (0, &[]),
        (1, &[]),
        (35, &[]),
        (40, &[(13, 29)]),
        (40, &[(0, 29)]),
        (40, &[(13, 40)]),
        (50, &[(0, 1), (7, 8), (14, 30), (49, 50)]),
    ];
    for (length, gaps) in shapes {
        for step in [1, 5, 7, 50] {
            let id = ExecutionId::new();
            let mut writer = outputs.writer(id).await.unwrap();
            write(&mut writer, Stdout, length, gaps, step).await;
            let stored = writer.finish().await.unwrap();
            assert_eq!(outputs.stored(id).await.unwrap(), Some(stored.clone()));
            let stored_gaps: Vec<_> = stored.stdout.gaps.iter().map(|gap| (gap.start, gap.end)).collect();
            assert_eq!((stored.stdout.length, &stored_gaps[..]), (length, gaps));
            let cut: u64 = gaps.iter().map(|gap| gap.1 - gap.0).sum();
            assert_eq!((stored.stdout.cut(), stored.stdout.kept()), (cut, length - cut));
            for from in (0..=length).step_by(fixture.stride) {
                let pieces = read(outputs, id, Stdout, from).await;
                check(&pieces, length, gaps, from, PIECE);
            }
            let past = outputs.open(id, Stdout).await.unwrap().read(length + 1).await.err();
            assert!(
                matches!(past, Some(OutputError::PastEnd { asked, end }) if (asked, end) == (length + 1, length))
            );
        }
    }
}

pub(super) async fn the_two_streams_are_apart(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let id = ExecutionId::new();
    let mut writer = outputs.writer(id).await.unwrap();
    for round in 0..10 {
        let at = round * 3;
        writer.append(Stdout, at, bytes(at..at + 3)).await.unwrap();
        writer.append(Stderr, round, bytes::Bytes::from_static(b"e")).await.unwrap();
    }
    writer.finish().await.unwrap();
    check(&read(outputs, id, Stdout, 0).await, 30, &[], 0, PIECE);
    let stderr = read(outputs, id, Stderr, 8).await;
    assert_eq!(stderr, [Piece::Data { offset: 8, data: bytes::Bytes::from_static(b"ee") }]);
}

pub(super) async fn a_full_spool_with_its_middle_cut_goes_through_in_bounded_pieces(fixture: &Fixture) {
    const HALF: u64 = 32 << 20;
    const GAP: Range<u64> = HALF..HALF + 1_000_000_007;
    let outputs = &fixture.whole;
    let id = ExecutionId::new();
    let mut writer = outputs.writer(id).await.unwrap();
    let block: bytes::Bytes = (0..CHUNK_BYTES).map(|byte| (byte * 31 % 256) as u8).collect();
    let mut written = Sha256::new();
    for (start, end) in [(0, GAP.start), (GAP.end, GAP.end + HALF)] {
        if start > 0 {
            writer.gap(Stdout, GAP.start, GAP.end).unwrap();
        }
        for offset in (start..end).step_by(CHUNK_BYTES) {
            writer.append(Stdout, offset, block.clone()).await.unwrap();
            written.update(&block);
        }
    }
    writer.finish().await.unwrap();

    let mut reader = outputs.open(id, Stdout).await.unwrap();
    let mut read = Sha256::new();
    let mut gaps = Vec::new();
    let mut at = 0;
    while let Some(piece) = reader.read(at).await.unwrap() {
        match piece {
            Piece::Data { offset, data } => {
                assert!(offset == at && data.len() <= CHUNK_BYTES);
                at += data.len() as u64;
                read.update(&data);
            }
            Piece::Gap { from, to } => {
                gaps.push(from..to);
                at = to;
            }
        }
    }
    assert_eq!((at, gaps), (GAP.end + HALF, vec![GAP]));
    assert_eq!(read.finalize(), written.finalize());
}

pub(super) async fn a_stretch_out_of_place_is_refused(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let mut writer = outputs.writer(ExecutionId::new()).await.unwrap();
    writer.append(Stdout, 0, bytes(0..3)).await.unwrap();
    for (from, to) in [(0, 1), (4, 9), (3, 3), (3, 2)] {
        assert!(matches!(writer.gap(Stdout, from, to), Err(OutputError::Misplaced { position: 3, .. })));
    }
    writer.gap(Stdout, 3, 5).unwrap();
    writer.gap(Stdout, 5, 8).unwrap();
    for number in 1..GAPS_MOST as u64 {
        let offset = 8 + (number - 1) * 2;
        writer.append(Stdout, offset, bytes(offset..offset + 1)).await.unwrap();
        writer.gap(Stdout, offset + 1, offset + 2).unwrap();
    }
    let end = 8 + (GAPS_MOST as u64 - 1) * 2;
    writer.append(Stdout, end, bytes(end..end + 1)).await.unwrap();
    assert!(matches!(writer.gap(Stdout, end + 1, end + 2), Err(OutputError::TooManyGaps)));
    let error = writer.append(Stdout, 0, bytes(0..1)).await.unwrap_err();
    assert!(matches!(error, OutputError::Misplaced { .. }));
    let error = writer.append(Stdout, end + 1, bytes(0..1)).await.unwrap_err();
    assert!(matches!(error, OutputError::Broken));
    assert!(matches!(writer.finish().await, Err(OutputError::Broken)));
}

pub(super) async fn the_first_of_two_writers_is_what_is_stored(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let id = ExecutionId::new();
    let mut first = outputs.writer(id).await.unwrap();
    let mut second = outputs.writer(id).await.unwrap();
    write(&mut first, Stdout, 100, &[], 100).await;
    write(&mut second, Stdout, 60, &[(0, 50)], 10).await;
    let stored = first.finish().await.unwrap();
    assert_eq!(second.finish().await.unwrap(), stored);
    check(&read(outputs, id, Stdout, 0).await, 100, &[], 0, PIECE);
    assert_eq!(names(outputs, id).await.len(), 2);
}

pub(super) async fn an_empty_output_is_stored_too(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let id = ExecutionId::new();
    outputs.writer(id).await.unwrap().finish().await.unwrap();
    assert_eq!(names(outputs, id).await, ["manifest.json"]);
    assert_eq!(read(outputs, id, Stdout, 0).await, []);
    assert_eq!(read(outputs, id, Stderr, 0).await, []);
}

pub(super) async fn damage_is_said_and_never_served(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let id = ExecutionId::new();
    let mut writer = outputs.writer(id).await.unwrap();
    write(&mut writer, Stdout, 20, &[(5, 9)], 20).await;
    writer.finish().await.unwrap();
    let good = outputs.objects.get(&manifest::path(id)).await.unwrap().bytes().await.unwrap();
    let good = String::from_utf8(good.to_vec()).unwrap();
    for (from, to) in [
        ("\"version\":1", "\"version\":2"),
        ("\"start\":5,\"end\":9", "\"start\":9,\"end\":5"),
        ("\"start\":5,\"end\":9", "\"start\":5,\"end\":21"),
        ("\"data\":\"stdout-", "\"data\":\"../stdout-"),
        ("\"length\":20", "\"length\":4"),
        ("{", "["),
        ("\"version\":1", "\"version\":1,\"more\":1"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        outputs.objects.put(&manifest::path(id), PutPayload::from(bad)).await.unwrap();
        let read = outputs.open(id, Stdout).await;
        assert!(matches!(read.err(), Some(OutputError::Corrupt { .. })), "{to}");
    }
    outputs.objects.put(&manifest::path(id), PutPayload::from(vec![b' '; 100_000])).await.unwrap();
    assert!(matches!(outputs.stored(id).await, Err(OutputError::Corrupt { .. })));

    let longer = good.replacen("\"length\":20", "\"length\":25", 1);
    outputs.objects.put(&manifest::path(id), PutPayload::from(longer)).await.unwrap();
    let mut reader = outputs.open(id, Stdout).await.unwrap();
    assert!(reader.read(9).await.is_ok());
    assert!(matches!(
        reader.read(20).await,
        Err(OutputError::Corrupt { .. } | OutputError::Unavailable { .. })
    ));
}

pub(super) async fn the_streams_see_pieces_and_ends(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let id = ExecutionId::new();
    let mut writer = outputs.begin(id).await.unwrap();
    writer.write(Stdout, Piece::Data { offset: 0, data: bytes(0..8) }).await.unwrap();
    writer.write(Stdout, Piece::Gap { from: 8, to: 12 }).await.unwrap();
    writer.finish().await.unwrap();
    let see = async |offset| {
        let mut reader = OutputShelf::open(outputs, id, Stdout).await.unwrap();
        assert_eq!(reader.length(), 12);
        reader.read(offset).await.unwrap()
    };
    assert_eq!(see(0).await, Shelved::Piece(Piece::Data { offset: 0, data: bytes(0..5) }));
    assert_eq!(see(5).await, Shelved::Piece(Piece::Data { offset: 5, data: bytes(5..8) }));
    assert_eq!(see(10).await, Shelved::Piece(Piece::Gap { from: 10, to: 12 }));
    assert_eq!(see(12).await, Shelved::End);
    assert_eq!(see(13).await, Shelved::PastEnd(12));
    let other = OutputShelf::open(outputs, ExecutionId::new(), Stdout).await;
    assert!(matches!(other.err(), Some(ShelfError::Corrupt(_))));
}

/// Returns the sorted names of an output's objects.
async fn names(outputs: &Outputs, id: ExecutionId) -> Vec<String> {
    let listed: Vec<_> = outputs.objects.list(Some(&directory(id))).try_collect().await.unwrap();
    let mut names: Vec<_> =
        listed.iter().map(|object| object.location.filename().unwrap().to_owned()).collect();
    names.sort();
    names
}

pub(super) async fn many_writers_at_once_store_one_output(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let id = ExecutionId::new();
    // Every writer is opened before the first one writes, because opening one replaces an unfinished attempt.
    let opened = join_all((1..=4).map(|_| outputs.writer(id))).await;
    let writes = opened.into_iter().zip(1..).map(|(writer, length)| async move {
        let mut writer = writer.unwrap();
        write(&mut writer, Stdout, length * 10, &[], 3).await;
        writer.finish().await.unwrap()
    });
    let stored = join_all(writes).await;
    assert!(stored.iter().all(|one| *one == stored[0]), "{stored:?}");
    check(&read(outputs, id, Stdout, 0).await, stored[0].stdout.length, &[], 0, PIECE);
}

pub(super) async fn what_a_dead_writer_left_goes_with_the_next(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let id = ExecutionId::new();
    // An earlier writer died between the data and the manifest.
    for left in ["stdout-0.data", "stderr-0.data"] {
        outputs.objects.put(&directory(id).join(left), PutPayload::from("left over")).await.unwrap();
        is_missing(outputs, id).await;
    }
    let mut writer = outputs.writer(id).await.unwrap();
    write(&mut writer, Stdout, 100, &[], 100).await;
    is_missing(outputs, id).await;
    writer.finish().await.unwrap();
    check(&read(outputs, id, Stdout, 0).await, 100, &[], 0, PIECE);
    let names = names(outputs, id).await;
    assert!(names.len() == 2 && names[0] == "manifest.json" && names[1] != "stdout-0.data", "{names:?}");
}

pub(super) async fn a_dropped_writer_leaves_nothing_to_read(fixture: &Fixture) {
    let outputs = &fixture.whole;
    let id = ExecutionId::new();
    let mut writer = outputs.writer(id).await.unwrap();
    // Write more than one part, so that an upload is open.
    write(&mut writer, Stdout, outputs.part_bytes as u64 + 10, &[], 500_000).await;
    drop(writer);
    is_missing(outputs, id).await;
    let mut aborted = outputs.writer(id).await.unwrap();
    write(&mut aborted, Stdout, outputs.part_bytes as u64 + 10, &[], 500_000).await;
    aborted.abort().await.unwrap();
    is_missing(outputs, id).await;
    assert!(names(outputs, id).await.is_empty());
}

pub(super) async fn deleting_leaves_nothing_and_can_be_repeated(fixture: &Fixture) {
    let outputs = &fixture.outputs;
    let [id, other] = [ExecutionId::new(), ExecutionId::new()];
    for id in [id, other] {
        let mut writer = outputs.writer(id).await.unwrap();
        write(&mut writer, Stdout, 10, &[], 10).await;
        write(&mut writer, Stderr, 10, &[(3, 7)], 10).await;
        writer.finish().await.unwrap();
    }
    outputs.delete(id).await.unwrap();
    assert!(names(outputs, id).await.is_empty());
    is_missing(outputs, id).await;
    outputs.delete(id).await.unwrap();
    outputs.delete(ExecutionId::new()).await.unwrap();
    assert!(outputs.stored(other).await.unwrap().is_some());
}
