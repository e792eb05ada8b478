//! The contract on a local directory, on a bucket and with very small parts. Also tests what applies to
//! directories only: temporary files of a dead process, and permissions.

mod bucket;
mod middle;
mod retention;

use std::{os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use airlock_domain::{ExecutionId, OutputStream, limits::CHUNK_BYTES};
use airlock_store::testing::until;
use object_store::memory::InMemory;
use tempfile::TempDir;

use super::{
    contract::{Fixture, check, contract_tests, is_missing, read, write},
    outputs::OWNER_ONLY,
    *,
};
use OutputStream::{Stderr, Stdout};

mod small_parts {
    use super::*;

    async fn fresh() -> Fixture {
        let (objects, bytes) = (Arc::new(InMemory::new()), CHUNK_BYTES);
        let whole = Outputs { objects, files: None, part_bytes: 7, read_bytes: bytes, fetch_bytes: bytes };
        Fixture { whole: Outputs { part_bytes: 1 << 20, ..whole.clone() }, ..Fixture::of(whole, 1, None) }
    }

    contract_tests!(fresh);
}

mod folder {
    use super::*;

    async fn fresh() -> Fixture {
        let (outputs, directory) = local();
        Fixture::of(outputs, 1, Some(directory))
    }

    contract_tests!(fresh);
}

fn local() -> (Outputs, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (Outputs::local(&directory.path().join("outputs")).unwrap(), directory)
}

/// Lists every file below the output directory.
fn files(directory: &TempDir) -> Vec<String> {
    let mut found = Vec::new();
    for execution in std::fs::read_dir(directory.path().join("outputs")).unwrap() {
        for file in std::fs::read_dir(execution.unwrap().path()).unwrap() {
            found.push(file.unwrap().file_name().into_string().unwrap());
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn what_a_dead_writer_leaves_is_never_there_and_goes_with_the_next() {
    let (outputs, directory) = local();
    let id = ExecutionId::new();
    // The writer died while it wrote data, between data and manifest, or while it wrote the manifest.
    let place = directory.path().join("outputs").join(id.to_string());
    std::fs::create_dir(&place).unwrap();
    for leftover in ["stdout-1.data#1", "stdout-0.data", "stderr-0.data", "manifest.json#1"] {
        std::fs::write(place.join(leftover), "left over").unwrap();
        is_missing(&outputs, id).await;
    }
    let mut writer = outputs.writer(id).await.unwrap();
    write(&mut writer, Stdout, 3_000_000, &[], 100_000).await;
    is_missing(&outputs, id).await;
    writer.finish().await.unwrap();
    check(&read(&outputs, id, Stdout, 0).await, 3_000_000, &[], 0, CHUNK_BYTES);
    let left = files(&directory);
    assert!(left.len() == 2 && left[0] == "manifest.json" && left[1].starts_with("stdout-"), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_at_once_clean_up_the_same_directory() {
    let (outputs, directory) = local();
    let id = ExecutionId::new();
    let place = directory.path().join("outputs").join(id.to_string());
    std::fs::create_dir(&place).unwrap();
    for number in 0..500 {
        std::fs::write(place.join(format!("stdout-{number}.data#1")), "left over").unwrap();
    }
    let calls = [(); 4].map(|()| {
        let outputs = outputs.clone();
        tokio::spawn(async move { outputs.writer(id).await.map(drop) })
    });
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert!(files(&directory).is_empty());
}

#[tokio::test]
async fn a_writer_that_is_dropped_or_aborted_leaves_nothing() {
    let (outputs, directory) = local();
    let id = ExecutionId::new();
    let mut aborted = outputs.writer(id).await.unwrap();
    write(&mut aborted, Stdout, 3_000_000, &[], 500_000).await;
    assert_eq!(files(&directory).len(), 1);
    aborted.abort().await.unwrap();
    assert_eq!(files(&directory).len(), 0);

    let mut dropped = outputs.writer(id).await.unwrap();
    write(&mut dropped, Stdout, 3_000_000, &[], 500_000).await;
    drop(dropped);
    until("a dropped upload is removed", async || files(&directory).is_empty()).await;
    is_missing(&outputs, id).await;
}

#[tokio::test]
async fn deleting_takes_along_what_no_listing_shows() {
    let (outputs, directory) = local();
    let id = ExecutionId::new();
    let mut writer = outputs.writer(id).await.unwrap();
    write(&mut writer, Stderr, 10, &[(3, 7)], 10).await;
    writer.finish().await.unwrap();
    let place = directory.path().join("outputs").join(id.to_string());
    std::fs::write(place.join("stdout-1.data#1"), "left over").unwrap();
    outputs.delete(id).await.unwrap();
    assert!(!place.exists());
}

#[tokio::test]
async fn the_folder_is_its_owners_alone() {
    let (_outputs, directory) = local();
    let mode = std::fs::metadata(directory.path().join("outputs")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, OWNER_ONLY);
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(Outputs::local(&file), Err(OutputError::Unavailable { .. })));
}
