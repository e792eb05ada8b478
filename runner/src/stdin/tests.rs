//! Tests of a job's input: accepted bytes, the order of writers, and that the job's end releases all of them.

use std::{fs::File, io::Read, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::mpsc;

use super::*;

const TURN: Duration = Duration::from_secs(120);

async fn open() -> (Arc<Input>, File) {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let input = Input::new(TURN);
    input.open(write).await.unwrap();
    (Arc::new(input), File::from(read))
}

fn chunk(offset: u64, data: &'static [u8]) -> ExchangeToRunner {
    ExchangeToRunner::Chunk { offset, data: Bytes::from_static(data) }
}

/// Sends these messages as a writer that then disconnects. Returns the answers.
async fn sent(
    input: &Input,
    messages: Vec<ExchangeToRunner>,
) -> (Vec<ExchangeFromRunner>, Result<(), ExchangeFailed>) {
    let (outgoing, mut answers) = mpsc::channel(16);
    let done = input.serve(stream::iter(messages).boxed(), &outgoing, false).await;
    drop(outgoing);
    let mut said = Vec::new();
    while let Some(answer) = answers.recv().await {
        said.push(answer);
    }
    (said, done)
}

fn reason(done: Result<(), ExchangeFailed>) -> String {
    done.unwrap_err().reason
}

#[tokio::test]
async fn bytes_count_once_wherever_a_writer_begins() {
    let (input, mut pipe) = open().await;
    let ready = |offset| ExchangeFromRunner::Ready { offset };
    let (said, done) = sent(&input, vec![chunk(0, b"abc"), chunk(3, b"de")]).await;
    assert_eq!((said, done), (vec![ready(0)], Ok(())));
    let messages =
        vec![chunk(1, b"bc"), chunk(3, b"def"), chunk(6, b""), ExchangeToRunner::End { close: true }];
    let (said, done) = sent(&input, messages).await;
    assert_eq!(said, [ready(5), ExchangeFromRunner::Written { accepted: 6, ended: true }]);
    assert_eq!(done, Ok(()));
    let mut text = String::new();
    pipe.read_to_string(&mut text).unwrap();
    assert_eq!(text, "abcdef");
}

#[tokio::test]
async fn a_gap_is_told_with_where_to_go_on() {
    let (input, _pipe) = open().await;
    sent(&input, vec![chunk(0, b"abc")]).await.1.unwrap();
    let (_, done) = sent(&input, vec![chunk(4, b"e")]).await;
    assert_eq!(done.unwrap_err().failure, ExchangeFailure::OutOfRange { end: 3 });
    // The largest offset gives the same error.
    let (_, done) = sent(&input, vec![chunk(u64::MAX, b"")]).await;
    assert_eq!(done.unwrap_err().failure, ExchangeFailure::OutOfRange { end: 3 });
}

#[tokio::test]
async fn each_state_has_its_answer() {
    let waiting = Input::new(TURN);
    assert_eq!(reason(sent(&waiting, Vec::new()).await.1), "NOT_RUNNING");
    let (input, pipe) = open().await;
    drop(pipe);
    let (said, done) = sent(&input, vec![chunk(0, b"x")]).await;
    assert_eq!(reason(done), "STDIN_CLOSED");
    let none = ExchangeFromRunner::Written { accepted: 0, ended: false };
    assert_eq!(said, [ExchangeFromRunner::Ready { offset: 0 }, none]);
    assert_eq!(reason(sent(&input, Vec::new()).await.1), "STDIN_CLOSED");
    let (input, _pipe) = open().await;
    input.close().await;
    assert_eq!(reason(sent(&input, Vec::new()).await.1), "NOT_RUNNING");
}

#[tokio::test(start_paused = true)]
async fn a_writer_does_not_wait_for_its_turn_for_ever() {
    let (input, _pipe) = open().await;
    let (outgoing, _answers) = mpsc::channel(16);
    let first = Arc::clone(&input);
    let first = tokio::spawn(async move { first.serve(stream::pending().boxed(), &outgoing, false).await });
    tokio::task::yield_now().await;
    assert_eq!(reason(sent(&input, Vec::new()).await.1), "STDIN_BUSY");
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(sent(&input, Vec::new()).await.1, Ok(()), "an interrupted writer has released its turn");
}

#[tokio::test]
async fn who_takes_over_ends_who_writes_and_who_waits_and_goes_on_there() {
    let (input, mut pipe) = open().await;
    let mut others = Vec::new();
    for first in [vec![chunk(0, b"ab")], Vec::new()] {
        let input = Arc::clone(&input);
        others.push(tokio::spawn(async move {
            let (outgoing, _answers) = mpsc::channel(16);
            let endless = stream::iter(first).chain(stream::pending()).boxed();
            reason(input.serve(endless, &outgoing, false).await)
        }));
        tokio::task::yield_now().await;
    }
    pipe.read_exact(&mut [0; 2]).unwrap();
    let (outgoing, mut answers) = mpsc::channel(16);
    let taker = stream::iter([chunk(2, b"c"), ExchangeToRunner::End { close: true }]).boxed();
    assert_eq!(input.serve(taker, &outgoing, true).await, Ok(()));
    assert_eq!(answers.recv().await, Some(ExchangeFromRunner::Ready { offset: 2 }));
    for other in others {
        assert_eq!(other.await.unwrap(), "STDIN_TAKEN");
    }
    let mut rest = String::new();
    pipe.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "c");
}

#[tokio::test]
async fn the_end_of_the_job_ends_who_writes_who_waits_and_the_pipe() {
    let (input, pipe) = open().await;
    let endless = || stream::unfold(0, async |at: u64| Some((chunk(at * 4096, &[7; 4096]), at + 1)));
    let mut writers = Vec::new();
    for _ in 0..3 {
        let input = Arc::clone(&input);
        writers.push(tokio::spawn(async move {
            let (outgoing, mut answers) = mpsc::channel(16);
            let done = input.serve(endless().boxed(), &outgoing, false).await;
            (reason(done), std::iter::from_fn(|| answers.try_recv().ok()).collect::<Vec<_>>())
        }));
    }
    // The pipe has no reader: the first writer fills it and waits, and the others wait for the first.
    let full = async {
        while rustix::io::ioctl_fionread(&pipe).unwrap() < 65_536 {
            tokio::task::yield_now().await;
        }
    };
    full.await;
    assert!(writers.iter().all(|writer| !writer.is_finished()));
    input.close().await;
    let written = ExchangeFromRunner::Written { accepted: 65_536, ended: false };
    let mut told = Vec::new();
    for writer in writers {
        let (reason, said) = writer.await.unwrap();
        assert_eq!(reason, "NOT_RUNNING");
        assert!(said.is_empty() || said.last() == Some(&written), "{said:?}");
        told.push(said);
    }
    assert_eq!(told[0], [ExchangeFromRunner::Ready { offset: 0 }, written]);
    let mut rest = Vec::new();
    (&pipe).read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 65_536, "the end follows the written bytes");
}

#[tokio::test]
async fn a_cut_in_the_middle_of_a_chunk_counts_what_is_in_the_pipe() {
    let (input, mut pipe) = open().await;
    static LARGE: [u8; 200_000] = [5; 200_000];
    let (outgoing, _answers) = mpsc::channel(16);
    let cut = async {
        while rustix::io::ioctl_fionread(&pipe).unwrap() < 65_536 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = input.serve(stream::iter([chunk(0, &LARGE)]).boxed(), &outgoing, false) => unreachable!("{done:?}"),
        () = cut => {}
    }
    pipe.read_exact(&mut [0; 65_536]).unwrap();
    let (said, _) = sent(&input, vec![chunk(0, &LARGE[..65_540])]).await;
    assert_eq!(said, [ExchangeFromRunner::Ready { offset: 65_536 }]);
    let mut four = [0; 4];
    pipe.read_exact(&mut four).unwrap();
    assert_eq!(four, [5; 4]);
}
