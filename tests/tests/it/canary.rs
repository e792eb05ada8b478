//! Telemetry contains no part of the commands. Commands, arguments, paths, values of variables, output and metadata
//! contain a canary. The test searches all exported data for it. Another canary is only in requests to other hosts. It is
//! in no row of the store, either.

use std::collections::BTreeSet;

use airlock_tests::{
    collector::{Collector, points},
    cutter::Cutter,
    engines::{Bucket, Database},
    exercise::{CANARY, Exercise, SENT, TRACE},
    process::until,
    site::PATIENCE,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;

fn holds(everything: &[u8], text: &str) -> bool {
    everything.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Returns the values of all metric attributes, each with the names of its metric and attribute.
fn values(collector: &Collector) -> BTreeSet<(String, String, String)> {
    let metrics = collector.metrics();
    let all = metrics.iter().flat_map(|metric| {
        points(metric).into_iter().flatten().map(|attribute| (metric.name.clone(), attribute))
    });
    all.map(|(metric, attribute)| match attribute.value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => (metric, attribute.key, text),
        other => (metric, attribute.key, format!("not a text: {other:?}")),
    })
    .collect()
}

/// Returns how often the runner has sent its metrics.
fn sent(collector: &Collector) -> usize {
    collector.metrics().iter().filter(|metric| metric.name == "airlock.runner.jobs").count()
}

/// Waits until spans of all operations, log records and metrics have arrived.
fn wait_for_all(collector: &Collector) {
    until("all telemetry has arrived", PATIENCE, || {
        let of_trace = |span: &airlock_tests::collector::Seen| hex::encode(&span.span.trace_id) == TRACE;
        let names: BTreeSet<String> =
            collector.spans().into_iter().filter(of_trace).map(|span| span.span.name).collect();
        let records = collector.records();
        ["run", "spool", "sandbox start", "stream", "decide"].iter().all(|name| names.contains(*name))
            && !records.is_empty()
            && collector.metrics().iter().any(|metric| metric.name == "airlock.runner.jobs")
    });
}

/// Searches the collector's data and the log lines for the canary.
fn assert_nothing_is_told(collector: &Collector, lines: &str) {
    let everything = collector.everything();
    assert!(
        holds(&everything, "sandbox start") && holds(&everything, "a job ended"),
        "the marker can be found"
    );
    if holds(&everything, CANARY) {
        let spans: Vec<_> =
            collector.spans().into_iter().filter(|span| format!("{span:?}").contains(CANARY)).collect();
        let records: Vec<_> =
            collector.records().into_iter().filter(|one| format!("{one:?}").contains(CANARY)).collect();
        unreachable!("in spans: {spans:#?}\nin records: {records:#?}");
    }
    assert!(!holds(&everything, SENT), "a request to another host was exported");
    assert!(!lines.contains(SENT), "a request to another host was logged: {lines}");
    let told: Vec<&str> = lines.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(told.is_empty(), "in the log lines: {told:#?}");
    assert!(lines.contains("a job ended") && lines.contains("\"trace_id\""), "lines were written: {lines}");

    let values = values(collector);
    let odd: Vec<_> = values
        .iter()
        .filter(|(_, _, value)| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "._/-".contains(letter);
            value.len() > 80 || !value.chars().all(plain) || uuid::Uuid::try_parse(value).is_ok()
        })
        .collect();
    assert!(odd.is_empty(), "values of closed sets are plain words: {odd:#?}");
    assert!(values.len() < 400, "and few: {}", values.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_canary_leaves_by_traces_metrics_or_logs() {
    let collector = Collector::listen().await;
    let mut exercise = Exercise::start(collector.endpoint()).await;
    exercise.everything(&|| sent(&collector)).await;
    let rows = exercise.rows();
    // Programs that stop in order send all remaining data.
    let lines = exercise.stop();
    wait_for_all(&collector);
    assert_nothing_is_told(&collector, &lines);
    assert_no_request_is_stored(&rows);
}

/// Searches all rows of the store for the contents of requests to other hosts. Texts are shown as they are, and bytes in
/// hexadecimal digits.
fn assert_no_request_is_stored(rows: &str) {
    let lower = rows.to_lowercase();
    let told: Vec<&str> =
        lower.lines().filter(|row| row.contains(SENT) || row.contains(&hex::encode(SENT))).collect();
    assert!(told.is_empty(), "{told:#?}");
    assert!(rows.contains(CANARY), "the control: commands are stored");
    let audited = |row: &&str| row.contains("refused.example") && row.starts_with("INSERT INTO");
    assert!(rows.lines().any(|row| audited(&row)), "the control: connections are stored");
}

/// Trigger bodies that refuse a new row, and the code of PostgreSQL's error, which quotes values of the row.
const REFUSALS: [(&str, &str); 2] = [
    ("PERFORM NEW.labels::text::int", "22P02"),
    ("RAISE unique_violation USING DETAIL = NEW.labels, HINT = NEW.labels", "23505"),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_canary_leaves_by_what_postgresql_and_s3_say_of_their_troubles() {
    let (database, bucket) = (Database::new(), Bucket::new());
    let (to_database, to_bucket) = (Cutter::still(database.address()), Cutter::still(bucket.address()));
    let state = database.table(to_database.address.port(), true) + &bucket.table(to_bucket.address.port());
    let collector = Collector::listen().await;
    let mut exercise = Exercise::start_on(collector.endpoint(), state, &Bucket::KEYS).await;
    exercise.everything(&|| sent(&collector)).await;

    let mut said = Vec::new();
    let each = |statement: &str| {
        for table in ["executions", "sessions"] {
            database.ask(&statement.replace("{}", table));
        }
    };
    // The error quotes the row: "Failing row contains".
    each("ALTER TABLE {} ADD CONSTRAINT none CHECK (tenant = '') NOT VALID");
    said.extend(exercise.untaken().await);
    each("ALTER TABLE {} DROP CONSTRAINT none");
    for (body, _) in REFUSALS {
        database.ask(&format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {body}; RETURN NEW; END'"
        ));
        each("CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION refuse()");
        said.extend(exercise.untaken().await);
    }
    database.ask("DROP FUNCTION refuse CASCADE");
    to_database.set_down(true);
    said.extend(exercise.untaken().await);
    to_database.set_down(false);
    to_bucket.set_down(true);
    let waiting = exercise.unstored().await;
    to_bucket.set_down(false);
    exercise.stored(&waiting).await;
    let lines = exercise.stop();
    wait_for_all(&collector);

    for code in REFUSALS.map(|(_, code)| code).into_iter().chain(["23514"]) {
        assert!(lines.contains(code), "the log names PostgreSQL's code {code}: {lines}");
    }
    assert_nothing_is_told(&collector, &lines);
    let told: Vec<&String> = said.iter().filter(|error| error.contains(CANARY)).collect();
    assert!(told.is_empty(), "in messages to the caller: {told:#?}");
}
