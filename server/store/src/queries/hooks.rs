//! The starts whose hooks are being asked, the questions to hooks with their answers, and the audit of the answers. Rows
//! of the audit are added and never changed; triggers refuse changes.

use airlock_domain::{ExecutionId, HookAnswer, HookOutcome, SessionId};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Pool, Tx, clock},
    executions, pace,
};
use crate::{
    Created, HookQuestion, HookQuestionState, StartClaim, StoreError,
    record::{ExecutionRecord, HookRecord, Micros},
    sql::{
        hooks::{ClaimRow, HookRow},
        json,
        rows::id,
    },
};

/// The time after which the rows of a start that was not stored, or has ended, are removed.
const KEPT_MICROS: i64 = 3_600_000_000;

/// Returns the IDs of a start with a client's key: those of an earlier request with the same key, or the given ones.
pub(crate) async fn claim(
    mut tx: Tx,
    claim: &StartClaim,
) -> Result<Result<(ExecutionId, SessionId), Created<ExecutionRecord>>, StoreError> {
    let StartClaim { tenant, principal, request_id, .. } = claim;
    engine::one_at_a_time(&mut tx, engine::Turn::Creations, tenant).await?;
    let now = clock(&mut tx).await?;
    if let Some(key) = request_id {
        if let Some(before) = executions::by_request(&mut tx, tenant, principal, key).await? {
            let is_same = before.request_hash == claim.request_hash;
            return Ok(Err(Created::again(before, is_same)));
        }
        if let Some(before) = claimed(&mut tx, claim, key).await? {
            let is_same = before.request_hash == claim.request_hash;
            let ids = (id("execution_id", &before.execution_id)?, id("session_id", &before.session_id)?);
            return Ok(if is_same { Ok(ids) } else { Err(Created::Conflict) });
        }
    }
    // No hook is asked about a start that would be refused afterwards.
    if let Some((limit, value)) = executions::full(&mut tx, tenant, claim.session_id, &claim.room).await? {
        return Ok(Err(Created::Full { limit, value }));
    }
    if let Err(later) = pace::pace(&mut tx, tenant, pace::Pace::Starts, &claim.room, now).await? {
        return Ok(Err(later));
    }
    if let Some(key) = request_id {
        sqlx::query(
            "INSERT INTO hook_starts (tenant, principal, request_id, request_hash, execution_id, session_id, made) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(tenant)
        .bind(principal)
        .bind(key)
        .bind(&claim.request_hash[..])
        .bind(claim.execution_id.to_string())
        .bind(claim.session_id.to_string())
        .bind(now.0)
        .execute(&mut *tx)
        .await?;
    }
    prune(&mut tx, now).await?;
    engine::commit(tx).await?;
    Ok(Ok((claim.execution_id, claim.session_id)))
}

async fn claimed(
    connection: &mut Connection,
    claim: &StartClaim,
    key: &str,
) -> Result<Option<ClaimRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT request_hash, execution_id, session_id FROM hook_starts \
         WHERE tenant = $1 AND principal = $2 AND request_id = $3",
    )
    .bind(&claim.tenant)
    .bind(&claim.principal)
    .bind(key)
    .fetch_optional(connection)
    .await?)
}

/// Removes some of the rows that are no longer needed. Each start adds fewer rows than this can remove.
async fn prune(connection: &mut Connection, now: Micros) -> Result<(), StoreError> {
    let before = now.0.saturating_sub(KEPT_MICROS);
    let mut starts = QueryBuilder::<Db>::new(
        "DELETE FROM hook_starts WHERE (tenant, principal, request_id) IN \
         (SELECT e.tenant, e.principal, e.request_id FROM hook_starts e WHERE e.made < ",
    );
    starts.push_bind(before).push(" ORDER BY e.made LIMIT 100");
    let mut questions = QueryBuilder::<Db>::new(
        "DELETE FROM hook_questions WHERE (execution_id, hook, binding) IN \
         (SELECT e.execution_id, e.hook, e.binding FROM hook_questions e WHERE e.until < ",
    );
    questions.push_bind(before).push(
        " AND NOT EXISTS (SELECT 1 FROM executions l WHERE l.id = e.execution_id AND l.ended IS NULL) \
         ORDER BY e.until LIMIT 100",
    );
    for mut sql in [starts, questions] {
        // Skips rows that another transaction removes.
        sql.push(engine::TO_TAKE).push(")");
        sql.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// Records that a question is asked, or returns the state of the same question.
pub(crate) async fn ask(mut tx: Tx, question: &HookQuestion) -> Result<HookQuestionState, StoreError> {
    let now = clock(&mut tx).await?;
    let until = now.0.saturating_add(question.wait_micros);
    let added = sqlx::query(
        "INSERT INTO hook_questions (execution_id, hook, binding, until) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (execution_id, hook, binding) DO NOTHING",
    )
    .bind(question.execution_id.to_string())
    .bind(&question.hook)
    .bind(&question.binding.0[..])
    .bind(until)
    .execute(&mut *tx)
    .await?
    .rows_affected();
    if added > 0 {
        engine::commit(tx).await?;
        return Ok(HookQuestionState::New);
    }
    let (until, answer): (i64, Option<String>) = sqlx::query_as(
        "SELECT until, answer FROM hook_questions WHERE execution_id = $1 AND hook = $2 AND binding = $3",
    )
    .bind(question.execution_id.to_string())
    .bind(&question.hook)
    .bind(&question.binding.0[..])
    .fetch_one(&mut *tx)
    .await?;
    if let Some(answer) = answer {
        return Ok(HookQuestionState::Answered(json::read("answer", &answer)?));
    }
    if until > now.0 {
        return Ok(HookQuestionState::Asked { wait_micros: until - now.0 });
    }
    let lost = HookAnswer {
        hook: question.hook.clone(),
        binding: question.binding,
        outcome: HookOutcome::Unavailable,
        reason: "the server that asked the hook stopped before it stored an answer".to_owned(),
        required: question.required,
        in_effect: question.required,
    };
    Ok(HookQuestionState::Answered(write(tx, question, &lost, now).await?))
}

/// Stores the answer to a question. Returns the answer that counts, which is the first that was stored.
pub(crate) async fn answer(
    mut tx: Tx,
    question: &HookQuestion,
    answer: &HookAnswer,
) -> Result<HookAnswer, StoreError> {
    let now = clock(&mut tx).await?;
    write(tx, question, answer, now).await
}

async fn write(
    mut tx: Tx,
    question: &HookQuestion,
    answer: &HookAnswer,
    now: Micros,
) -> Result<HookAnswer, StoreError> {
    let encoded = json::write(answer)?;
    let written = sqlx::query(
        "UPDATE hook_questions SET answer = $1 \
         WHERE execution_id = $2 AND hook = $3 AND binding = $4 AND answer IS NULL",
    )
    .bind(&encoded)
    .bind(question.execution_id.to_string())
    .bind(&question.hook)
    .bind(&question.binding.0[..])
    .execute(&mut *tx)
    .await?
    .rows_affected();
    if written == 0 {
        let stored: Option<String> = sqlx::query_scalar(
            "SELECT answer FROM hook_questions WHERE execution_id = $1 AND hook = $2 AND binding = $3",
        )
        .bind(question.execution_id.to_string())
        .bind(&question.hook)
        .bind(&question.binding.0[..])
        .fetch_optional(&mut *tx)
        .await?
        .flatten();
        let stored = stored.ok_or_else(|| StoreError::Refused("the question was not asked".to_owned()))?;
        return json::read("answer", &stored);
    }
    sqlx::query(
        "INSERT INTO audit_hooks (execution_id, session_id, tenant, principal, answer, at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(question.execution_id.to_string())
    .bind(question.session_id.to_string())
    .bind(&question.tenant)
    .bind(&question.principal)
    .bind(&encoded)
    .bind(now.0)
    .execute(&mut *tx)
    .await?;
    engine::commit(tx).await?;
    Ok(answer.clone())
}

/// Returns the stored answers about an execution, for all bindings.
pub(crate) async fn of_execution(pool: &Pool, id: ExecutionId) -> Result<Vec<HookAnswer>, StoreError> {
    let answers: Vec<String> = sqlx::query_scalar(
        "SELECT answer FROM hook_questions WHERE execution_id = $1 AND answer IS NOT NULL ORDER BY until, hook",
    )
    .bind(id.to_string())
    .fetch_all(pool)
    .await?;
    answers.iter().map(|answer| json::read("answer", answer)).collect()
}

/// Lists the audit entries in the order in which they were written.
pub(crate) async fn list(pool: &Pool, at_most: u32) -> Result<Vec<HookRecord>, StoreError> {
    let rows: Vec<HookRow> = sqlx::query_as(
        "SELECT execution_id, session_id, tenant, principal, answer, at FROM audit_hooks ORDER BY sequence LIMIT $1",
    )
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
