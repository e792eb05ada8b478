//! The question that follows a refusal of a runner.

use airlock_domain::Cause;
use airlock_lifecycle::{Question, Redecision};
use airlock_store::{StoreError, record::ExecutionRecord};

use super::{Approvals, files::as_found};
use crate::{control::micros, decision};

impl Approvals {
    /// Returns the question to a person after the runner found that programs or paths differ from the
    /// decision. Returns `None` if the request does not wait for an answer or a person cannot lift the
    /// refusal.
    pub(crate) async fn question_of_refusal(
        &self,
        record: &ExecutionRecord,
        refusal: &Cause,
    ) -> Result<Option<Question>, StoreError> {
        let Cause::Refused { reason, message, files } = refusal else { return Ok(None) };
        let known = [decision::UNTRUSTED_PATH, decision::FILES_CHANGED, decision::NAMES_A_PROGRAM];
        let Some(code) = known.into_iter().find(|code| code == reason) else { return Ok(None) };
        let session = self.store.session(record.session_id).await?;
        let Some(session) = session.filter(|_| record.spec.wait_for_approval) else { return Ok(None) };
        let Some(profile) = self.profiles.get(&session.profile) else { return Ok(None) };
        let profile = self.decisions.with_remembered(profile, &session.tenant, session.id).await?;
        let encode = self.decisions.encode;
        let decided = self
            .decisions
            .decide_stored(profile.clone(), &session, record, &record.spec.command.directory)
            .await?;
        let Some(question) = decided.question(code, message, profile.name(), encode) else { return Ok(None) };
        let mut asked = record.clone();
        let files = as_found(&question.grant.decided.files, files);
        asked.decision = question.record;
        let approval = self.new_approval(&asked, decision::asked(&question.grant, files));
        Ok(Some(Question {
            decision: Redecision { record: asked.decision, directory: asked.spec.command.directory },
            approval,
            valid_micros: micros(self.valid_for(&session)),
        }))
    }
}
