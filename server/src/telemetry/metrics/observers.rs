//! The events of services, streams and exchanges as metrics.

use std::time::Duration;

use airlock_control::{
    Levels, Observer,
    exchange::{ExchangeKind, ExchangeObserver, ExchangeOutcome},
};
use airlock_domain::{Cause, HookOutcome};
use airlock_hooks::{BreakerState, HookObserver, Method};
use airlock_output::stream::StreamObserver;
use airlock_store::record::SessionLevels;
use opentelemetry::KeyValue;

use super::Metrics;

impl ExchangeObserver for Metrics {
    fn exchange_opened(&self, kind: ExchangeKind) {
        self.exchanges.add(1, &[KeyValue::new("kind", kind.name())]);
    }

    fn exchange_bytes(&self, kind: ExchangeKind, bytes: u64) {
        self.transfer_bytes.add(bytes, &[KeyValue::new("kind", kind.name())]);
    }

    fn exchange_ended(&self, kind: ExchangeKind, outcome: ExchangeOutcome) {
        let kind = KeyValue::new("kind", kind.name());
        self.exchanges.add(-1, std::slice::from_ref(&kind));
        self.exchanges_ended.add(1, &[kind, KeyValue::new("outcome", outcome.name())]);
    }
}

impl Observer for Metrics {
    fn profiles_refused(&self, count: u64) {
        self.profiles_refused.record(count, &[]);
    }

    fn decided(&self, verdict: &'static str, reason_code: &str) {
        let attributes = [KeyValue::new("verdict", verdict), KeyValue::new("reason", reason_code.to_owned())];
        self.verdicts.add(1, &attributes);
    }

    fn placed(&self, queued: Duration) {
        self.queue_time.record(queued.as_secs_f64(), &[]);
    }

    fn started(&self, starting: Duration) {
        self.start_time.record(starting.as_secs_f64(), &[]);
    }

    fn finished(&self, cause: &Cause, run: Duration) {
        self.executions.add(1, &[KeyValue::new("cause", cause.name())]);
        if !run.is_zero() {
            self.run_time.record(run.as_secs_f64(), &[]);
        }
    }

    fn approval_answered(&self, answer: &'static str, open: Duration) {
        self.approval_time.record(open.as_secs_f64(), &[KeyValue::new("answer", answer)]);
    }

    fn outputs_lost(&self, count: u64) {
        self.output_lost.add(count, &[]);
    }

    fn result_delivered(&self, hook: &str, outcome: &'static str) {
        let attributes = [KeyValue::new("hook", hook.to_owned()), KeyValue::new("outcome", outcome)];
        self.hook_deliveries.add(1, &attributes);
    }

    fn deliveries_age(&self, hook: &str, age: Duration) {
        self.hook_deliveries_age.record(age.as_secs_f64(), &[KeyValue::new("hook", hook.to_owned())]);
    }

    fn levels(&self, levels: &Levels) {
        self.active.record(levels.active, &[]);
        self.queued.record(levels.queued, &[]);
        self.queue_age.record(levels.queue_age.as_secs_f64(), &[]);
        self.approvals_open.record(levels.pending_approval, &[]);
        self.approval_age.record(levels.approval_age.as_secs_f64(), &[]);
        self.runners.record(levels.runners.saturating_sub(levels.draining), &[state("connected")]);
        self.runners.record(levels.draining, &[state("draining")]);
        self.slots.record(levels.slots_taken, &[state("taken")]);
        self.slots.record(levels.slots.saturating_sub(levels.slots_taken), &[state("free")]);
    }

    fn sessions(&self, levels: &SessionLevels) {
        self.sessions.record(levels.opening, &[state("opening")]);
        self.sessions.record(levels.open, &[state("open")]);
        self.sessions.record(levels.closing, &[state("closing")]);
    }
}

fn state(name: &'static str) -> KeyValue {
    KeyValue::new("state", name)
}

impl StreamObserver for Metrics {
    fn reader_opened(&self) {
        self.readers.add(1, &[]);
    }

    fn reader_closed(&self) {
        self.readers.add(-1, &[]);
    }

    fn bytes_out(&self, bytes: u64) {
        self.output_bytes.add(bytes, &[]);
    }

    fn bytes_missing(&self, bytes: u64) {
        self.output_missing.add(bytes, &[]);
    }

    fn caught_up(&self) {
        self.catch_ups.add(1, &[]);
    }

    fn push_opened(&self) {
        self.pushes.add(1, &[KeyValue::new("outcome", "opened")]);
    }

    fn push_misbehaved(&self) {
        self.pushes.add(1, &[KeyValue::new("outcome", "misbehaved")]);
    }

    fn stored(&self, bytes: u64) {
        self.output_stored.add(bytes, &[]);
    }

    fn lost(&self) {
        self.output_lost.add(1, &[]);
    }

    fn storing_began(&self) {
        self.outputs_storing.add(1, &[]);
    }

    fn storing_ended(&self) {
        self.outputs_storing.add(-1, &[]);
    }
}

impl HookObserver for Metrics {
    fn called(&self, hook: &str, method: Method, outcome: HookOutcome, time: Duration) {
        let [hook, method] = of_hook(hook, method);
        self.hook_time.record(time.as_secs_f64(), &[hook.clone(), method.clone()]);
        self.hook_calls.add(1, &[hook, method, KeyValue::new("outcome", outcome.name())]);
    }

    fn breaker(&self, hook: &str, method: Method, state: BreakerState) {
        let state = match state {
            BreakerState::Closed => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Open => 2,
        };
        self.hook_breaker.record(state, &of_hook(hook, method));
    }
}

fn of_hook(hook: &str, method: Method) -> [KeyValue; 2] {
    [KeyValue::new("hook", hook.to_owned()), KeyValue::new("method", method.name())]
}
