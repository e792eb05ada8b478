//! Tests that the journal keeps its records through every interruption.

use airlock_domain::{Cause, ExecutionId, ExecutionResult, SessionId, Started, limits::VOUCHED_EPOCHS};
use airlock_runner_lifecycle::jobs::{OfferKey, Phase, Room};

use proptest::prelude::*;

use super::*;

const BOOT: &str = "boot-1";

fn open(dir: &Path) -> Journal {
    Journal::open(dir, BOOT, 100).unwrap()
}

/// The changes that services make, as single events.
trait Changes {
    fn accept(
        &mut self,
        id: ExecutionId,
        attempt: u32,
        epoch: Epoch,
        session: SessionId,
    ) -> Result<(), JournalError>;
    fn refuse(
        &mut self,
        id: ExecutionId,
        attempt: u32,
        epoch: Epoch,
        result: &ExecutionResult,
    ) -> Result<(), JournalError>;
    fn running(&mut self, id: ExecutionId) -> Result<(), JournalError>;
    fn end(&mut self, id: ExecutionId, result: &ExecutionResult) -> Result<(), JournalError>;
    fn forget(&mut self, id: ExecutionId) -> Result<(), JournalError>;
}

impl Changes for Journal {
    fn accept(
        &mut self,
        id: ExecutionId,
        attempt: u32,
        epoch: Epoch,
        session: SessionId,
    ) -> Result<(), JournalError> {
        let room = Room { slots: usize::MAX, jobs_kept: usize::MAX, disk_short: None };
        self.step(Event::Checked { offer: OfferKey { id, attempt }, epoch, session, room }).written
    }

    fn refuse(
        &mut self,
        id: ExecutionId,
        attempt: u32,
        epoch: Epoch,
        result: &ExecutionResult,
    ) -> Result<(), JournalError> {
        let (offer, result) = (OfferKey { id, attempt }, result.clone());
        self.step(Event::Rejected { offer, epoch, reason: "floor", result }).written
    }

    fn running(&mut self, id: ExecutionId) -> Result<(), JournalError> {
        self.step(Event::Started { id }).written
    }

    fn end(&mut self, id: ExecutionId, result: &ExecutionResult) -> Result<(), JournalError> {
        self.step(Event::Ended { id, result: result.clone(), keep_until_ms: 0 }).written
    }

    fn forget(&mut self, id: ExecutionId) -> Result<(), JournalError> {
        self.step(Event::Forget { id }).written
    }
}

fn refused(reason: &str) -> ExecutionResult {
    ExecutionResult::not_started(Cause::refused(reason, String::new()))
}

fn ended() -> ExecutionResult {
    let mut result = ExecutionResult::not_started(Cause::Exited { code: 7 });
    result.started = Started::Yes;
    result.stdout_bytes = 12;
    result
}

/// Creates a journal with one job in each phase. Returns their IDs in order.
fn one_of_each(dir: &Path) -> [ExecutionId; 5] {
    let mut journal = open(dir);
    let epoch = Epoch::new();
    journal.begin(epoch).unwrap();
    journal.told().unwrap();
    let ids = [(); 5].map(|()| ExecutionId::new());
    let session = SessionId::new();
    for id in &ids[1..] {
        journal.accept(*id, 1, epoch, session).unwrap();
    }
    journal.refuse(ids[0], 2, epoch, &refused("floor")).unwrap();
    journal.running(ids[2]).unwrap();
    journal.end(ids[3], &ended()).unwrap();
    journal.end(ids[4], &ended()).unwrap();
    journal.forget(ids[4]).unwrap();
    ids
}

#[test]
fn everything_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let ids = one_of_each(dir.path());
    let journal = open(dir.path());
    assert!(journal.state().intact());
    assert_eq!(journal.state().job(&ids[0]).unwrap().phase, Phase::Refused(refused("floor")));
    assert_eq!(journal.state().job(&ids[0]).unwrap().attempt, 2);
    assert_eq!(journal.state().job(&ids[1]).unwrap().phase, Phase::Accepted);
    assert_eq!(journal.state().job(&ids[2]).unwrap().phase, Phase::Running);
    assert_eq!(journal.state().job(&ids[3]).unwrap().phase, Phase::Ended(ended()));
    assert!(journal.state().job(&ids[4]).is_none());
    assert!(journal.state().was_forgotten(&ids[4]));
    assert_eq!(journal.state().jobs().count(), 4);
}

#[test]
fn a_journal_cut_at_any_byte_holds_a_prefix_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    one_of_each(dir.path());
    let whole = std::fs::read(dir.path().join("journal")).unwrap();
    let mut most = 0;
    for cut in 0..=whole.len() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("journal"), &whole[..cut]).unwrap();
        let jobs = {
            let mut journal = open(dir.path());
            let before = journal.state().jobs().count();
            assert_eq!(
                journal.state().intact(),
                journal.state().history().boot().is_some_and(|boot| boot.intact)
            );
            journal.accept(ExecutionId::new(), 1, Epoch::new(), SessionId::new()).unwrap();
            before
        };
        assert_eq!(open(dir.path()).state().jobs().count(), jobs + 1, "cut at {cut}");
        most = most.max(jobs);
    }
    // Before the last record, which forgets a job, there are five.
    assert_eq!(most, 5);
}

#[test]
fn a_changed_byte_is_damage_and_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    one_of_each(dir.path());
    let path = dir.path().join("journal");
    let whole = std::fs::read(&path).unwrap();
    for at in [0, 3, 5, 20, whole.len() / 2] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&path, &bytes).unwrap();
        let journal = open(dir.path());
        assert!(!journal.state().intact(), "byte {at}");
        assert!(journal.state().jobs().count() < 5);
    }
}

#[test]
fn another_boot_or_a_new_journal_cannot_vouch_until_all_were_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut new = open(dir.path());
    assert!(!new.state().intact());
    new.begin(Epoch::new()).unwrap();
    drop(new);

    let mut untold = open(dir.path());
    assert!(!untold.state().intact(), "no server has received a report yet");
    untold.begin(Epoch::new()).unwrap();
    untold.told().unwrap();
    drop(untold);

    assert!(open(dir.path()).state().intact());
    let mut other = Journal::open(dir.path(), "boot-2", 100).unwrap();
    assert!(!other.state().intact());
    other.begin(Epoch::new()).unwrap();
    drop(other);
    assert!(!Journal::open(dir.path(), "boot-2", 100).unwrap().state().intact());
}

#[test]
fn a_new_journal_vouches_for_the_epochs_since_it_began_while_its_host_stays_up() {
    let dir = tempfile::tempdir().unwrap();
    let epochs: Vec<Epoch> = (0..20).map(|_| Epoch::new()).collect();
    let mut first = open(dir.path());
    first.begin(epochs[0]).unwrap();
    first.begin(epochs[1]).unwrap();
    assert_eq!(first.state().vouched(), &epochs[..1], "the current epoch is not listed");
    drop(first);
    for before in 2..epochs.len() {
        let mut next = open(dir.path());
        next.begin(epochs[before]).unwrap();
        let known = before.saturating_sub(VOUCHED_EPOCHS);
        assert_eq!(next.state().vouched(), &epochs[known..before]);
        assert!(next.state().vouches_for(epochs[before - 1]) && !next.state().vouches_for(Epoch::new()));
    }
    let other = Journal::open(dir.path(), "boot-2", 100).unwrap();
    assert!(other.state().vouched().is_empty(), "its tail may be missing");
}

#[test]
fn a_damaged_journal_vouches_for_nothing_before_it_not_even_later() {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = (Epoch::new(), Epoch::new());
    let mut journal = open(dir.path());
    journal.begin(before).unwrap();
    let at = usize::try_from(journal.file.len()).unwrap();
    journal.accept(ExecutionId::new(), 1, before, SessionId::new()).unwrap();
    drop(journal);
    let mut bytes = std::fs::read(dir.path().join("journal")).unwrap();
    bytes[at + 12] ^= 0x40;
    std::fs::write(dir.path().join("journal"), bytes).unwrap();
    let mut damaged = open(dir.path());
    assert!(damaged.state().vouched().is_empty());
    damaged.begin(after).unwrap();
    drop(damaged);
    let next = open(dir.path());
    assert_eq!(next.state().vouched(), [after], "the cut records may belong to the previous epoch");
}

#[test]
fn rewriting_keeps_the_state_and_bounds_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let ids = one_of_each(dir.path());
    let mut journal = open(dir.path());
    let epoch = Epoch::new();
    let mut last = None;
    for _ in 0..20_000 {
        let id = ExecutionId::new();
        journal.accept(id, 1, epoch, SessionId::new()).unwrap();
        journal.running(id).unwrap();
        journal.end(id, &ended()).unwrap();
        journal.forget(id).unwrap();
        last = Some(id);
    }
    assert!(journal.file.len() <= COMPACT_AFTER_BYTES + 4096);
    let before: Vec<_> = journal.state().jobs().map(|(id, job)| (*id, job.clone())).collect();
    drop(journal);
    let journal = open(dir.path());
    assert_eq!(journal.state().jobs().map(|(id, job)| (*id, job.clone())).collect::<Vec<_>>(), before);
    assert!(journal.state().intact());
    assert!(journal.state().was_forgotten(&last.unwrap()));
    assert!(!journal.state().was_forgotten(&ids[4]), "only the latest hundred IDs are remembered");
    assert!(!dir.path().join("journal.new").exists());
}

proptest! {
    #[test]
    fn any_bytes_are_opened_and_nothing_is_made_of_them(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("journal"), bytes).unwrap();
        let mut journal = open(dir.path());
        prop_assert_eq!(journal.state().job_count(), 0);
        prop_assert!(!journal.state().intact());
        journal.accept(ExecutionId::new(), 1, Epoch::new(), SessionId::new()).unwrap();
        drop(journal);
        prop_assert_eq!(open(dir.path()).state().job_count(), 1);
    }
}

#[test]
fn a_journal_that_cannot_be_rewritten_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    // A directory blocks the path of the new file.
    std::fs::create_dir(dir.path().join("journal.new")).unwrap();
    let (epoch, session) = (Epoch::new(), SessionId::new());
    let ids: Vec<_> = (0..30_000).map(|_| ExecutionId::new()).collect();
    for id in &ids {
        journal.accept(*id, 1, epoch, session).unwrap();
    }
    assert!(journal.file.len() > COMPACT_AFTER_BYTES);
    drop(journal);
    assert_eq!(open(dir.path()).state().job_count(), ids.len());
}
