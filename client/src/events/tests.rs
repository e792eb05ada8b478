//! Tests with views that break at any event and any byte: the reader receives everything once.

mod fake;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::task::JoinSet;

use self::fake::{Fake, cursor, serve};
use super::*;
use crate::{
    Patience,
    testing::{Direction, Rng, client, quick, relay},
};

/// Returns a script: states, output of both streams, a gap, and the closing event.
fn script(rng: &mut Rng) -> Vec<Event> {
    let mut offsets = [0_u64, 0];
    let mut kinds = vec![Kind::StateChanged(v1::StateChanged {
        version: 1,
        state: v1::ExecutionState::Queued.into(),
        ..Default::default()
    })];
    for number in 0..60_u64 {
        let which = rng.below(2);
        let stream = [v1::OutputStream::Stdout, v1::OutputStream::Stderr][which];
        let from = offsets[which];
        let length = 1 + rng.below(300);
        offsets[which] += length as u64;
        kinds.push(match rng.below(12) {
            0 => Kind::Gap(v1::Gap { stream: stream.into(), from, to: offsets[which] }),
            1 => {
                offsets[which] = from;
                Kind::StateChanged(v1::StateChanged { version: 2 + number, ..Default::default() })
            }
            _ => Kind::Output(v1::Output {
                stream: stream.into(),
                offset: from,
                data: (0..length).map(|i| (number as usize * 7 + i) as u8).collect(),
            }),
        });
    }
    kinds.push(Kind::Finished(v1::Finished::default()));
    let numbered = kinds.into_iter().enumerate();
    numbered.map(|(index, kind)| Event { cursor: cursor(index + 1), event: Some(kind) }).collect()
}

/// Returns the bytes of both streams, with gaps as zeros, and the versions of the states.
fn digest(events: &[Event]) -> (Vec<u8>, Vec<u8>, Vec<u64>) {
    let (mut stdout, mut stderr, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        let mut put = |stream: i32, from: u64, data: &[u8]| {
            let bytes = match v1::OutputStream::try_from(stream).unwrap() {
                v1::OutputStream::Stderr => &mut stderr,
                _ => &mut stdout,
            };
            assert_eq!(bytes.len() as u64, from, "a byte is missing or repeated");
            bytes.extend_from_slice(data);
        };
        match event.event.as_ref().unwrap() {
            Kind::Output(output) => put(output.stream, output.offset, &output.data),
            Kind::Gap(gap) => put(gap.stream, gap.from, &vec![0; (gap.to - gap.from) as usize]),
            Kind::StateChanged(change) => versions.push(change.version),
            Kind::Opened(_) | Kind::Finished(_) | Kind::Backgrounded(_) | Kind::Progress(_) => {}
        }
    }
    (stdout, stderr, versions)
}

async fn collect(mut events: Events) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(event) = events.next().await.unwrap() {
        all.push(event);
    }
    assert!(events.next().await.unwrap().is_none());
    all
}

#[tokio::test]
async fn every_byte_and_state_comes_once_through_every_cut() {
    for seed in 0..12 {
        let mut tasks = JoinSet::new();
        let mut rng = Rng::new(seed);
        let script = script(&mut rng);
        let fake = Arc::new(Fake {
            events: script.clone(),
            rng: Mutex::new(rng.clone()),
            request_ids: Mutex::new(HashSet::new()),
            views: Mutex::new(0),
            faults: 25,
        });
        let server = serve(Arc::clone(&fake), &mut tasks).await;
        let address = relay(server, Direction::Down, 10, rng, &mut tasks).await;
        let events = collect(client(address, quick()).run(ExecutionSpec::default())).await;
        assert!(matches!(events[0].event, Some(Kind::Opened(_))), "seed {seed}");
        let opened = |event: &&Event| matches!(event.event, Some(Kind::Opened(_)));
        assert_eq!(events.iter().filter(opened).count(), 1, "seed {seed}");
        assert!(matches!(events.last().unwrap().event, Some(Kind::Finished(_))));
        assert_eq!(digest(&events), digest(&script), "seed {seed}");
        assert_eq!(fake.request_ids.lock().unwrap().len(), 1, "started exactly once, seed {seed}");
        let from = From::Cursor(cursor(20));
        let tail = collect(client(address, quick()).attach("the-one", from)).await;
        let kinds = |events: &[Event]| events.iter().map(|e| e.event.clone()).collect::<Vec<_>>();
        assert_eq!(kinds(&tail[1..]), kinds(&script[20..]), "seed {seed}");
    }
}

#[tokio::test]
async fn a_view_without_a_closing_event_is_an_error() {
    let mut tasks = JoinSet::new();
    let fake = Arc::new(Fake {
        events: script(&mut Rng::new(1)),
        rng: Mutex::new(Rng::new(1)),
        request_ids: Mutex::new(HashSet::new()),
        views: Mutex::new(0),
        faults: usize::MAX,
    });
    let address = serve(fake, &mut tasks).await;
    let patience = Patience { call: Duration::from_millis(50), view: Duration::from_millis(50), ..quick() };
    let client = client(address, patience);
    let mut events = client.attach("the-one", From::Cursor(cursor(61)));
    let error = loop {
        match events.next().await {
            Ok(Some(event)) => assert!(!matches!(event.event, Some(Kind::Finished(_)))),
            Ok(None) => panic!("ended without a closing event"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ClientError::ViewLost { .. }), "{error:?}");
    let error = client.start(ExecutionSpec::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::StartUnknown { .. }), "{error:?}");
    let error = client.wait("the-one", Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, ClientError::Contract { .. }), "{error:?}");
}
