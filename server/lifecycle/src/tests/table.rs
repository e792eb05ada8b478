//! The table of all states and events.

use airlock_domain::{
    ApprovalId, BackgroundedBy, CancelledBy, Cause, DeniedBy,
    ExecutionState::{self, Finished, PendingApproval, Queued, Running, Starting},
    JobPhase, LinkState,
};

use crate::{
    event::{Answer, Event},
    machine::step,
    output::OutputEvent,
    owner::OwnerEvent,
    record::{ExecutionRecord, Verdict},
    report::Reported,
    testing::{NOW, lease, offered, question, record, redecision, refused, reported, result},
};

/// The states after each event, from the states in the order of [`ExecutionState::ALL`]. A dot: the record is
/// unchanged. An equals sign: the record changes, and not its state.
const TABLE: [(&str, &str); 33] = [
    ("cancelled", "F F = = ."),
    ("cancelled by the end of its stream", "F F = = ."),
    ("allowed", "Q . . . ."),
    ("denied", "F . . . ."),
    ("approval expired", "F . . . ."),
    ("another approval was answered", ". . . . ."),
    ("session failed", "F F F F ."),
    ("session closed", "F F . . ."),
    ("session lost", "F F . . ."),
    ("not placed", ". F . . ."),
    ("decided again", ". = . . ."),
    ("asked again", ". P . . ."),
    ("denied again", ". F . . ."),
    ("offered", ". S . . ."),
    ("taken back", ". . Q . ."),
    ("accepted", ". . = = ."),
    ("runs", ". . R = ."),
    ("refused, passing", ". . Q . ."),
    ("refused, full", ". . Q . ."),
    ("refused for good", ". . F . ."),
    ("refused, a person can lift it", ". . P . ."),
    ("ended", ". . F F ."),
    ("ended without a result", ". . F F ."),
    ("reported as lost", ". . F F ."),
    ("runner connected", ". . = = ."),
    ("lost, runner back", ". . F F ."),
    ("lost, runner away", ". . F F ."),
    ("backgrounded", ". . . = ."),
    ("seen after its lease", "= = = = ="),
    ("linked elsewhere", ". . = = ."),
    ("taken from the queue", ". = . . ."),
    ("output claimed", ". . . . ="),
    ("output kept", ". . . . ="),
];

/// Returns the event of a row, for this record.
fn event(name: &str, record: &ExecutionRecord) -> Event {
    let report = |reported| Event::Reported(Box::new(reported));
    let phase = |phase| report(reported(record, phase, None));
    let answered =
        |answer| Event::Answered { approval: record.approval_id.unwrap_or_else(ApprovalId::new), answer };
    let attempt = record.attempt;
    match name {
        "cancelled" => Event::CancelRequested { by: CancelledBy::Client },
        "cancelled by the end of its stream" => Event::CancelRequested { by: CancelledBy::Disconnect },
        "allowed" => answered(Answer::Allowed),
        "denied" => answered(Answer::Denied { reason: "no".to_owned() }),
        "approval expired" => answered(Answer::Expired),
        "another approval was answered" => {
            Event::Answered { approval: ApprovalId::new(), answer: Answer::Allowed }
        }
        "session failed" => Event::SessionFailed { cause: Cause::refused("no_base", String::new()) },
        "session closed" => Event::SessionEnded { lost: false },
        "session lost" => Event::SessionEnded { lost: true },
        "not placed" => Event::NotPlaced { cause: Cause::QueueExpired },
        "decided again" => Event::DecidedAgain { decision: redecision(Verdict::Allow) },
        "asked again" => Event::AskedAgain(Box::new(question(record))),
        "denied again" => Event::DeniedAgain { decision: redecision(Verdict::Deny), by: DeniedBy::Policy },
        "offered" => offered("r"),
        "taken back" => Event::TakenBack { attempt, by: CancelledBy::Client },
        "accepted" => phase(JobPhase::Accepted),
        "runs" => phase(JobPhase::Running),
        "refused, passing" => report(refused(record, "stale_epoch")),
        "refused, full" => report(refused(record, "no_slots")),
        "refused for good" => report(refused(record, "beyond_floor")),
        "refused, a person can lift it" => {
            report(Reported { question: Some(question(record)), ..refused(record, "files_changed") })
        }
        "ended" => {
            let ended = Some(result(Cause::Exited { code: 0 }));
            report(reported(record, JobPhase::Ended, ended))
        }
        "ended without a result" => phase(JobPhase::Ended),
        "reported as lost" => phase(JobPhase::Lost),
        "runner connected" => Event::LinkSeen(LinkState::Connected),
        "lost, runner back" => Event::Lost { attempt, is_back: true },
        "lost, runner away" => Event::Lost { attempt, is_back: false },
        "backgrounded" => Event::Backgrounded { by: BackgroundedBy::Client },
        "seen after its lease" => {
            Event::Owner(OwnerEvent::Seen { lease: lease("two"), now: NOW, is_linked_elsewhere: false })
        }
        "linked elsewhere" => Event::Owner(OwnerEvent::LinkedElsewhere { lease: lease("two") }),
        "taken from the queue" => Event::Owner(OwnerEvent::TakenFromQueue { lease: lease("two") }),
        "output claimed" => Event::Output(OutputEvent::Claimed { lease: lease("two") }),
        "output kept" => Event::Output(OutputEvent::Kept {
            server: "one".to_owned(),
            output: airlock_domain::OutputState::Stored,
        }),
        _ => panic!("no event for `{name}`"),
    }
}

fn mark(before: &ExecutionRecord, after: &ExecutionRecord) -> &'static str {
    match after.state {
        _ if before == after => ".",
        state if state == before.state => "=",
        PendingApproval => "P",
        Queued => "Q",
        Starting => "S",
        Running => "R",
        Finished => "F",
    }
}

#[test]
fn every_event_in_every_state_leads_where_the_table_says() {
    for (name, expected) in TABLE {
        let found = ExecutionState::ALL.map(|state| {
            let before = record(state);
            let (after, _) = step(&before, &event(name, &before), NOW).expect("a permitted transition");
            mark(&before, &after)
        });
        assert_eq!(found.join(" "), expected, "{name}");
    }
}

#[test]
fn the_end_of_its_stream_does_not_end_what_runs_in_the_background() {
    for state in [Starting, Running] {
        let before = ExecutionRecord { backgrounded: Some(BackgroundedBy::Request), ..record(state) };
        let (after, effects) =
            step(&before, &Event::CancelRequested { by: CancelledBy::Disconnect }, NOW).expect("a step");
        assert_eq!(after, before);
        assert!(effects.server.is_empty());
    }
}

#[test]
fn a_refusal_or_a_withdrawn_offer_ends_what_was_cancelled_meanwhile() {
    let before = ExecutionRecord { cancel_requested: true, ..record(Starting) };
    let taken_back = Event::TakenBack { attempt: 1, by: CancelledBy::Session };
    let refusal = Event::Reported(Box::new(refused(&before, "no_slots")));
    for (event, by) in [(taken_back, CancelledBy::Session), (refusal, CancelledBy::Client)] {
        let (after, _) = step(&before, &event, NOW).expect("a step");
        assert_eq!(after.result.expect("a result").cause, Cause::Cancelled(by));
    }
}

#[test]
fn refusals_that_pass_are_offered_again_only_so_often() {
    let before = ExecutionRecord { attempt: 3, ..record(Starting) };
    let (passing, _) = step(&before, &event("refused, passing", &before), NOW).expect("a step");
    assert_eq!(passing.state, Finished);
    let (full, _) = step(&before, &event("refused, full", &before), NOW).expect("a step");
    assert_eq!(full.state, Queued, "a runner can be full any number of times");
}
