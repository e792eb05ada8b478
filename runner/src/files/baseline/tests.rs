//! Tests of layers against a map, and of the files that a dying process leaves.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{recorder::LAYERS, *};

const LIMITS: BaselineLimits = BaselineLimits { bytes: 100, file_bytes: 20 };

fn file(path: &str, content: &[u8]) -> Record {
    let kind = RecordKind::File {
        size: content.len() as u64,
        sha256: Some([content.len() as u8; 32]),
        stamp: None,
        content: Content::NotKept,
    };
    Record { path: path.as_bytes().to_vec(), kind, mode: 0o644, modified_micros: 0 }
}

fn all(baseline: &Baseline) -> Vec<(String, u64, Content, Vec<u8>)> {
    let mut merged = baseline.read().unwrap();
    let mut found = Vec::new();
    while let Some(record) = merged.next().unwrap() {
        let RecordKind::File { size, content, .. } = record.kind else { panic!("{record:?}") };
        let bytes = if content == Content::Kept { merged.content().unwrap().0 } else { Vec::new() };
        found.push((String::from_utf8(record.path).unwrap(), size, content, bytes));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn layers_are_as_a_map_whose_newest_entry_counts(
        layers in prop::collection::vec(prop::collection::vec(("[a-c/]{1,3}", 0usize..25), 0..12), 1..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let baseline = Baseline::new(dir.path());
        let mut model = BTreeMap::new();
        for layer in &layers {
            let mut recorder = baseline.recorder(LIMITS).unwrap();
            for (path, length) in layer {
                let content = vec![b'x'; *length];
                recorder.put(file(path, &content), Some(content)).unwrap();
                model.insert(path.clone(), *length as u64);
            }
            baseline.add(recorder).unwrap();
            prop_assert!(baseline.layers().unwrap().len() < LAYERS);
        }
        let found = all(&baseline);
        let seen: BTreeMap<_, _> = found.iter().map(|(path, size, ..)| (path.clone(), *size)).collect();
        prop_assert_eq!(found.len(), model.len());
        prop_assert_eq!(seen, model);
        for (_, size, content, bytes) in &found {
            match content {
                Content::Kept => prop_assert_eq!(bytes.len() as u64, *size),
                Content::TooLarge => prop_assert!(*size > 20),
                other => prop_assert_eq!(*other, Content::NotKept),
            }
        }
        let kept: u64 = found.iter().map(|(.., bytes)| bytes.len() as u64).sum();
        prop_assert!(kept <= LIMITS.bytes);
        prop_assert!(baseline.named(RUN_PREFIX).unwrap().is_empty());
    }
}

#[test]
fn what_does_not_fit_in_memory_is_sorted_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let baseline = Baseline::new(dir.path());
    let limits = BaselineLimits { bytes: 1 << 40, file_bytes: 1 << 20 };
    let mut recorder = baseline.recorder(limits).unwrap();
    // More runs than are merged at once: each record has half the size of the memory limit.
    for index in (0..80).rev() {
        let content = vec![b'x'; 1 << 20];
        for half in 0..4 {
            recorder.put(file(&format!("{index:03}-{half}"), &content), Some(content.clone())).unwrap();
        }
        recorder.put(file("again", b""), Some(Vec::new())).unwrap();
    }
    recorder.put(file("again", b"last"), Some(b"last".to_vec())).unwrap();
    baseline.add(recorder).unwrap();
    let found = all(&baseline);
    assert_eq!(found.len(), 321);
    assert!(found.is_sorted_by(|one, other| one.0 < other.0));
    assert!(found.contains(&("again".to_owned(), 4, Content::Kept, b"last".to_vec())));
    assert_eq!(fs::read_dir(dir.path().join(DIRECTORY)).unwrap().count(), 1);
}

#[test]
fn a_stamp_that_a_change_could_still_match_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "content").unwrap();
    let stamped = || {
        let stat = rustix::fs::stat(&path).unwrap();
        let kind = RecordKind::File {
            size: 7,
            sha256: None,
            stamp: Some(Stamp::of(&stat)),
            content: Content::NotKept,
        };
        Record::new(b"file".to_vec(), kind, &stat)
    };
    let kept = |closed| {
        let target = dir.path().join("layer");
        let source = dir.path().join("source");
        let mut writer = layer::LayerWriter::create(&source).unwrap();
        writer.put(&stamped(), b"").unwrap();
        drop(writer.finish().unwrap());
        drop(layer::rewrite(Merged::open(&[source]).unwrap(), &target, 1, 0, closed).unwrap());
        let record = Merged::open(&[target]).unwrap().next().unwrap().unwrap();
        matches!(record.kind, RecordKind::File { stamp: Some(_), .. })
    };
    let stat = rustix::fs::stat(&path).unwrap();
    assert!(!kept((stat.st_ctime, stat.st_ctime_nsec)), "a change in the same tick has the same time");
    assert!(kept((stat.st_ctime, stat.st_ctime_nsec + 1)));
}

#[test]
fn a_process_that_dies_leaves_the_layers_that_were_whole() {
    let dir = tempfile::tempdir().unwrap();
    let baseline = Baseline::new(dir.path());
    let mut recorder = baseline.recorder(LIMITS).unwrap();
    recorder.put(file("kept", b"text"), Some(b"text".to_vec())).unwrap();
    baseline.add(recorder).unwrap();
    let before = all(&baseline);
    for (name, content) in [("run-0000000000000000", &b"half a run"[..]), ("run-00000000000000ff", b"")] {
        fs::write(dir.path().join(DIRECTORY).join(name), content).unwrap();
    }
    let baseline = Baseline::new(dir.path());
    baseline.remove_unfinished().unwrap();
    assert_eq!(all(&baseline), before);
    assert_eq!(fs::read_dir(dir.path().join(DIRECTORY)).unwrap().count(), 1);
    let layer = &baseline.layers().unwrap()[0];
    let whole = fs::read(layer).unwrap();
    for cut in 0..whole.len() {
        fs::write(layer, &whole[..cut]).unwrap();
        let read = || -> io::Result<()> {
            let mut merged = baseline.read()?;
            while merged.next()?.is_some() {
                merged.content()?;
            }
            Ok(())
        };
        assert!(read().is_err() || cut == 16, "cut at {cut}: a damaged layer is an error, no panic");
    }
}
