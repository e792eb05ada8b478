//! Tests of output, input and watches.

mod fake;

use std::{sync::Arc, time::Duration};

use tokio::{io::AsyncWriteExt as _, task::JoinSet};

use self::fake::{Fake, serve, text};
use crate::{
    Client, OutputPiece, Patience, Selection,
    testing::{Direction, Rng, client, quick, relay},
    v1::{OutputDone, OutputLine, OutputSearch, OutputStream},
};

/// The data that a reader received.
#[derive(Debug, Default, PartialEq)]
struct Read {
    bytes: Vec<u8>,
    first: Option<u64>,
    lines: Vec<OutputLine>,
    done: OutputDone,
}

async fn read(client: &Client, selection: Selection) -> Read {
    let mut reader = client.read_output("e", OutputStream::Stdout, selection);
    let mut read = Read::default();
    while let Some(piece) = reader.next().await.unwrap() {
        match piece {
            OutputPiece::Bytes { offset, data } => {
                let at = *read.first.get_or_insert(offset) + read.bytes.len() as u64;
                assert_eq!(offset, at, "a byte is missing or repeated");
                read.bytes.extend_from_slice(&data);
            }
            OutputPiece::Gap { .. } => panic!("there is none"),
            OutputPiece::Line(line) => read.lines.push(line),
            OutputPiece::Done(done) => read.done = done,
        }
    }
    assert!(reader.next().await.unwrap().is_none());
    read
}

async fn both(seed: u64, tasks: &mut JoinSet<()>) -> (Client, Client, Arc<Fake>) {
    let fake = Fake::new(seed);
    let server = serve(fake.clone(), tasks).await;
    let bad = relay(server, Direction::Down, 12, Rng::new(seed), tasks).await;
    (client(server, quick()), client(bad, quick()), fake)
}

#[tokio::test]
async fn every_part_of_an_output_is_the_same_through_every_cut() {
    let all = text();
    for (selection, expected) in [
        (Selection::All, &all[..]),
        (Selection::Range { offset: 1000, length: 0 }, &all[1000..]),
        (Selection::Range { offset: 1000, length: 20_000 }, &all[1000..21_000]),
        (Selection::HeadBytes(30_000), &all[..30_000]),
        (Selection::HeadLines(2000), &all[..at_line(2000)]),
        (Selection::TailBytes(30_000), &all[all.len() - 30_000..]),
        (Selection::TailLines(3000), &all[at_line(fake::LINES - 3000)..]),
    ] {
        for seed in 0..5 {
            let mut tasks = JoinSet::new();
            let (good, bad, fake) = both(seed, &mut tasks).await;
            let whole = read(&good, selection.clone()).await;
            assert!(whole.bytes == expected, "{selection:?}");
            assert_eq!(whole.done.total, all.len() as u64);
            fake.break_views(8);
            let cut = read(&bad, selection.clone()).await;
            assert!(cut == whole, "{selection:?}, seed {seed}: {:?} and {:?}", cut.done, whole.done);
        }
    }
}

fn at_line(count: usize) -> usize {
    text().split_inclusive(|byte| *byte == b'\n').take(count).map(<[u8]>::len).sum()
}

#[tokio::test]
async fn every_line_of_a_search_comes_once_through_every_cut() {
    for (before, after, most) in [(0, 0, 0), (2, 3, 0), (0, 2, 40), (1, 0, 1)] {
        let search =
            OutputSearch { pattern: "7 ".to_owned(), before, after, max_matches: most, ..Default::default() };
        for seed in 0..5 {
            let mut tasks = JoinSet::new();
            let (good, bad, fake) = both(seed, &mut tasks).await;
            let whole = read(&good, Selection::Search(search.clone())).await;
            assert!(!whole.lines.is_empty());
            fake.break_views(8);
            let mut cut = read(&bad, Selection::Search(search.clone())).await;
            // If connections break repeatedly at once, line numbers may be unknown.
            for (cut, whole) in cut.lines.iter_mut().zip(&whole.lines) {
                if cut.number == 0 {
                    cut.number = whole.number;
                }
            }
            assert!(cut == whole, "{search:?}, seed {seed}: {:?} and {:?}", cut.done, whole.done);
        }
    }
}

#[tokio::test]
async fn a_search_gets_on_where_no_connection_lasts() {
    let search = OutputSearch { pattern: "77 ".to_owned(), after: 1, ..Default::default() };
    let mut tasks = JoinSet::new();
    let (good, _, fake) = both(1, &mut tasks).await;
    let mut whole = read(&good, Selection::Search(search.clone())).await;
    // Every view delivers three pieces.
    fake.shorten_views(3);
    let mut short = read(&good, Selection::Search(search)).await;
    for line in short.lines.iter_mut().chain(&mut whole.lines) {
        line.number = 0;
    }
    assert!(short == whole, "{:?} and {:?}", short.done, whole.done);
}

#[tokio::test]
async fn input_arrives_once_and_in_order_through_every_cut() {
    for seed in 0..5 {
        let mut tasks = JoinSet::new();
        let fake = Fake::new(seed);
        let server = serve(fake.clone(), &mut tasks).await;
        let address = relay(server, Direction::Up, 10, Rng::new(seed), &mut tasks).await;
        let sent: Vec<u8> =
            (0..2_500_000 + 100_000 * seed as usize).map(|index| (index % 253) as u8).collect();
        let written = client(address, quick()).write_stdin("e", 0, &mut sent.as_slice()).await.unwrap();
        assert_eq!(written.accepted, sent.len() as u64, "seed {seed}");
        let input = fake.input.lock().unwrap();
        assert!(input.bytes == sent && input.ended, "seed {seed}");
    }
}

#[tokio::test]
async fn keys_arrive_once_and_in_order_through_every_cut_and_end_nothing() {
    for seed in 0..5 {
        let mut tasks = JoinSet::new();
        let fake = Fake::new(seed);
        let server = serve(fake.clone(), &mut tasks).await;
        let address = relay(server, Direction::Up, 10, Rng::new(seed), &mut tasks).await;
        // Input from an earlier client.
        fake.input.lock().unwrap().bytes = b"before".to_vec();
        let sent: Vec<u8> = (0..2_500_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let typed = client(address, quick()).type_into("e", None, &mut sent.as_slice()).await.unwrap();
        assert_eq!(typed.accepted, 6 + sent.len() as u64);
        let input = fake.input.lock().unwrap();
        assert!(input.bytes[6..] == sent && !input.ended, "seed {seed}");
    }
}

#[tokio::test]
async fn input_is_forwarded_as_it_comes_and_its_end_too() {
    let mut tasks = JoinSet::new();
    let fake = Fake::new(1);
    let address = serve(fake.clone(), &mut tasks).await;
    let (mut keyboard, mut source) = tokio::io::duplex(64);
    let client = client(address, quick());
    let writing = tokio::spawn(async move { client.write_stdin("e", 0, &mut source).await });
    for line in ["first\n", "second\n"] {
        keyboard.write_all(line.as_bytes()).await.unwrap();
        while !fake.input.lock().unwrap().bytes.ends_with(line.as_bytes()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert!(!fake.input.lock().unwrap().ended);
    drop(keyboard);
    assert_eq!(writing.await.unwrap().unwrap().accepted, 13);
    assert!(fake.input.lock().unwrap().ended);
}

#[tokio::test]
async fn an_end_whose_confirmation_is_lost_is_one_and_a_command_that_ended_before_is_an_error() {
    let mut tasks = JoinSet::new();
    let fake = Fake::new(1);
    fake.lose_the_end();
    let address = serve(fake.clone(), &mut tasks).await;
    let client = client(address, quick());
    let write = async |offset| client.write_stdin("e", offset, &mut tokio::io::empty()).await;
    fake.input.lock().unwrap().bytes = b"before".to_vec();
    assert_eq!(write(6).await.unwrap().accepted, 6);
    let late = write(6).await.unwrap_err();
    assert_eq!(late.rejection().unwrap().reason, "NOT_RUNNING");
}

#[tokio::test]
async fn every_event_of_a_watch_comes_once_through_every_cut() {
    for seed in 0..5 {
        let mut tasks = JoinSet::new();
        let (_, bad, fake) = both(seed, &mut tasks).await;
        fake.break_views(8);
        let mut watch = bad.watch("", bytes::Bytes::new());
        let header = watch.next().await.unwrap();
        assert!(header.execution.is_none(), "the first response confirms the watch");
        for number in 1..=fake::EVENTS {
            let event = watch.next().await.unwrap();
            assert_eq!(event.execution.unwrap().execution_id, number.to_string(), "seed {seed}");
        }
    }
}

#[tokio::test]
async fn what_never_comes_is_an_error_once_patience_ends() {
    let mut tasks = JoinSet::new();
    let fake = Fake::new(1);
    fake.break_views(usize::MAX);
    fake.shorten_views(0);
    let address = serve(fake, &mut tasks).await;
    let short = Duration::from_millis(50);
    let client = client(address, Patience { call: short, view: short, ..quick() });
    let mut reader = client.read_output("e", OutputStream::Stdout, Selection::All);
    assert!(reader.next().await.unwrap_err().is_passing());
    assert!(client.watch("", bytes::Bytes::new()).next().await.unwrap_err().is_passing());
}
