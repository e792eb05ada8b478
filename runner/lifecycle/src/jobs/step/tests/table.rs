//! Every event in every phase of a job.

use airlock_domain::{Cause, Started};

use crate::{
    jobs::{Effect, Event, History, Known, OfferKey, Phase, Reason, Record, Room, State, Terms, step},
    samples::{epoch, exited, id, lost, refused, session},
};

const ROOM: Room = Room { slots: 2, jobs_kept: 3, disk_short: None };

fn key(attempt: u32) -> OfferKey {
    OfferKey { id: id(1), attempt }
}

fn terms() -> Terms {
    Terms { epoch: epoch(1), not_after_ms: 100, now_ms: 100, draining: false }
}

fn offered(attempt: u32, terms: Option<Terms>) -> Event {
    Event::Offered { offer: key(attempt), epoch: epoch(1), terms }
}

fn checked(attempt: u32, room: Room) -> Event {
    Event::Checked { offer: key(attempt), epoch: epoch(1), session: session(), room }
}

fn accepted(number: u8, attempt: u32) -> Record {
    Record::Accepted { id: id(number), attempt, epoch: epoch(1), session: Some(session()) }
}

fn refusal(number: u8, attempt: u32) -> Record {
    Record::Refused { id: id(number), attempt, epoch: epoch(1), result: refused() }
}

fn running() -> Record {
    Record::Running { id: id(1) }
}

fn ended(with_epoch: bool) -> Record {
    Record::Ended { id: id(1), lost: with_epoch, result: if with_epoch { lost() } else { exited() } }
}

fn forgotten(number: u8) -> Record {
    Record::Forgotten { ids: vec![id(number)] }
}

fn boot(intact: bool) -> Record {
    Record::Boot { boot_id: "boot".to_owned(), epoch: epoch(1), intact, vouched: Vec::new() }
}

fn of(records: impl IntoIterator<Item = Record>) -> State {
    let mut history = History::new(2);
    records.into_iter().for_each(|record| history.apply(record));
    State::of(history, true, "boot")
}

/// Returns each phase of job 1, attempt 2.
fn phases() -> [(&'static str, State); 7] {
    [
        ("none", of([])),
        ("accepted", of([accepted(1, 2)])),
        ("refused", of([refusal(1, 2)])),
        ("running", of([accepted(1, 2), running()])),
        ("ended", of([accepted(1, 2), running(), ended(false)])),
        ("lost", of([accepted(1, 2), running(), ended(true)])),
        ("forgotten", of([accepted(1, 2), forgotten(1)])),
    ]
}

/// Describes an effect in a few words.
fn words_of(effect: &Effect) -> String {
    match effect {
        Effect::Append(record) => {
            let text = format!("{record:?}");
            format!("append {}", text.split([' ', '{']).next().unwrap().to_lowercase())
        }
        Effect::Check(_) => "check".to_owned(),
        Effect::Start(_) => "start".to_owned(),
        Effect::Refuse { reason, .. } => format!("refuse {reason}"),
        Effect::Report(_) => "report".to_owned(),
        Effect::Answer(report) => {
            let Some(Cause::Refused { reason, .. }) = report.result.as_ref().map(|result| &result.cause)
            else {
                panic!("it is a refusal: {report:?}");
            };
            format!("answer {reason}")
        }
        Effect::DeleteOutput(_) => "delete".to_owned(),
    }
}

fn words(state: &State, event: Event) -> String {
    let (_, effects) = step(state.clone(), event);
    effects.iter().map(words_of).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_event_in_every_phase() {
    let rejected = Event::Rejected { offer: key(2), epoch: epoch(1), reason: "floor", result: refused() };
    let end = Event::Ended { id: id(1), result: exited(), keep_until_ms: 9 };
    let (ran, told) = ("answer already_accepted", "report");
    // The columns are the phases in the order of `phases`.
    let table: [(&str, Event, [&str; 7]); 9] = [
        ("offer 1", offered(1, Some(terms())), ["check", ran, "answer stale_attempt", ran, ran, ran, ran]),
        ("offer 2", offered(2, Some(terms())), ["check", told, told, told, told, told, ran]),
        ("offer 3", offered(3, Some(terms())), ["check", ran, "check", ran, ran, ran, ran]),
        ("checked", checked(2, ROOM), ["append accepted", told, told, told, told, told, ran]),
        ("rejected", rejected, ["refuse floor, append refused", told, told, told, told, told, ran]),
        ("started", Event::Started { id: id(1) }, ["", "append running", "", "", "", "", ""]),
        ("ended", end, ["", "append ended", "", "append ended", "", "", ""]),
        ("kept", Event::Kept { id: id(1), until_ms: 9 }, [""; 7]),
        (
            "forget",
            Event::Forget { id: id(1) },
            ["", "", "append forgotten", "", "append forgotten", "append forgotten", ""],
        ),
    ];
    for (name, event, expected) in table {
        for ((phase, state), expected) in phases().into_iter().zip(expected) {
            assert_eq!(words(&state, event.clone()), expected, "{name} in phase {phase}");
        }
    }
}

#[test]
fn a_record_has_these_effects_when_it_is_written_and_when_it_is_not() {
    let table = [
        (of([]), boot(false), "", ""),
        (of([]), Record::Told, "", ""),
        (of([]), accepted(1, 2), "report, start", "refuse journal, append refused"),
        (of([]), refusal(1, 2), "report", "report"),
        (of([accepted(1, 2)]), running(), "report", "report"),
        (of([accepted(1, 2)]), ended(false), "report", "report"),
        (of([accepted(1, 2), ended(false)]), forgotten(1), "delete", "delete"),
        (of([refusal(1, 2)]), forgotten(1), "", ""),
    ];
    for (state, record, written, not_written) in table {
        assert_eq!(words(&state, Event::Written(record.clone())), written, "{record:?} was written");
        let failed = Event::NotWritten { record: record.clone(), problem: "full".to_owned() };
        assert_eq!(words(&state, failed), not_written, "{record:?} was not written");
    }
}

#[test]
fn a_fact_that_is_not_written_holds_and_an_acceptance_does_not() {
    let fail = |state, record| step(state, Event::NotWritten { record, problem: "full".to_owned() }).0;
    assert!(fail(of([]), accepted(1, 2)).job(&id(1)).is_none());
    assert!(!fail(of([]), Record::Told).intact());
    let runs = fail(of([accepted(1, 2)]), running());
    assert_eq!(runs.job(&id(1)).unwrap().phase, Phase::Running);
    assert_eq!(fail(runs, ended(false)).job(&id(1)).unwrap().phase, Phase::Ended(exited()));
}

#[test]
fn an_offer_is_refused_before_its_contents_are_checked() {
    let with = |terms| words(&of([]), offered(2, terms));
    assert_eq!(with(None), "check");
    assert_eq!(with(Some(terms())), "check");
    let stale = Terms { epoch: epoch(2), now_ms: 101, draining: true, ..terms() };
    assert_eq!(with(Some(stale)), "refuse stale_epoch, append refused");
    let late = Terms { now_ms: 101, draining: true, ..terms() };
    assert_eq!(with(Some(late)), "refuse past_not_after, append refused");
    assert_eq!(with(Some(Terms { draining: true, ..terms() })), "refuse draining, append refused");
}

#[test]
fn a_full_runner_refuses_and_gives_up_the_oldest_refusal_first() {
    let both = of([accepted(2, 1), accepted(3, 1)]);
    assert_eq!(words(&both, checked(2, ROOM)), "refuse no_slots, append refused");
    let room = Room { slots: 9, jobs_kept: 2, disk_short: None };
    assert_eq!(words(&both, checked(2, room)), "refuse jobs_kept, append refused");
    let disk = Room { disk_short: Some("short"), ..ROOM };
    assert_eq!(words(&of([]), checked(2, disk)), "refuse disk, append refused");

    let refusals = of([refusal(4, 1), refusal(3, 1)]);
    let (_, effects) = step(refusals, checked(2, room));
    assert_eq!(effects, [Effect::Append(forgotten(3)), Effect::Append(accepted(1, 2))]);
    // A refusal of the same execution is replaced. If it were forgotten, the repeated offer would be refused.
    let own = of([refusal(1, 1), accepted(2, 1)]);
    assert_eq!(words(&own, checked(2, room)), "append accepted");
}

#[test]
fn a_job_that_is_recorded_after_it_was_forgotten_is_known() {
    // As after a restart, if other forgotten jobs were not written.
    for record in [refusal(1, 2), accepted(1, 2)] {
        let state = of([forgotten(1), record]);
        assert_eq!(state.known(key(2)), Known::Answered);
        assert_eq!(of(state.records()), state);
    }
}

#[test]
fn a_refusal_names_its_reason() {
    assert_eq!(Reason::Disk("short").result().cause, Cause::refused("disk", "short".to_owned()));
    assert_eq!(Reason::Journal("full".to_owned()).name(), "journal");
}

#[test]
fn a_result_is_kept_until_its_time_and_not_after_it_was_fetched() {
    let end = Event::Ended { id: id(1), result: exited(), keep_until_ms: 9 };
    let (state, _) = step(of([accepted(1, 2)]), end);
    let (state, _) = step(state, Event::Kept { id: id(2), until_ms: 7 });
    assert_eq!(state.expired(6), []);
    assert_eq!(state.expired(9), [id(1), id(2)]);
    let (state, _) = step(state, Event::Written(forgotten(1)));
    assert_eq!(state.expired(9), [id(2)]);
}

#[test]
fn a_job_of_an_ended_process_was_started_or_not_or_may_have_been() {
    let old = || Record::Accepted { id: id(1), attempt: 1, epoch: epoch(9), session: None };
    let after = |records: Vec<Record>, has_spool| of(records).started_before_loss(&id(1), has_spool);
    assert_eq!(after(vec![boot(true), old()], false), Some(Started::No));
    assert_eq!(after(vec![boot(true), old()], true), Some(Started::Unknown));
    assert_eq!(after(vec![boot(false), old()], false), Some(Started::Unknown), "records may be missing");
    assert_eq!(after(vec![boot(false), accepted(1, 1)], false), Some(Started::No), "this epoch is complete");
    assert_eq!(after(vec![old(), running()], false), Some(Started::Yes));
    assert_eq!(after(vec![old(), ended(true)], false), None);
    assert_eq!(after(vec![], false), None);
}
