//! The limits of the parts, from the configuration.

use airlock_control::{
    exchange::ExchangeLimits,
    limits::{ServiceLimits, TenantLimits},
};
use airlock_output::stream::StreamLimits;

use crate::{
    config::{Config, Tenant},
    grpc::interceptor::calls::CallLimits,
};

pub(super) fn service_limits(config: &Config) -> ServiceLimits {
    let (limits, link) = (&config.limits, &config.link);
    ServiceLimits {
        sessions_per_tenant: limits.sessions_per_tenant,
        executions_per_tenant: limits.executions_per_tenant,
        executions_per_session: limits.executions_per_session,
        queue_per_tenant: limits.queue_per_tenant,
        queue: limits.queue,
        starts_per_second: limits.starts_per_second,
        denials_per_second: limits.denials_per_second,
        output_bytes_per_day: limits.output_bytes_per_day,
        tenants: config.tenants.iter().map(tenant_limits).collect(),
        runners: limits.runners,
        watches: limits.watches,
        watches_per_tenant: limits.watches_per_tenant,
        rules_per_session: limits.rules_per_session,
        rules_per_tenant: limits.rules_per_tenant,
        connection_approvals_per_tenant: limits.connection_approvals_per_tenant,
        queue_wait: limits.queue_wait,
        approval_valid: limits.approval_valid,
        hook_delivery: limits.hook_delivery,
        heartbeat_interval: link.heartbeat_interval,
        heartbeat_timeout: link.heartbeat_timeout,
        link_grace: link.link_grace,
        lost_after: link.lost_after,
        outputs_lost_after: config.outputs.lost_after,
        start_window: link.start_window,
        lease: link.lease,
        open_wait: limits.open_wait,
        close_wait: limits.close_wait,
        ..ServiceLimits::default()
    }
}

fn tenant_limits(tenant: &Tenant) -> (String, TenantLimits) {
    let own = TenantLimits {
        weight: tenant.weight,
        executions: tenant.executions,
        queue: tenant.queue,
        sessions: tenant.sessions,
        starts_per_second: tenant.starts_per_second,
        denials_per_second: tenant.denials_per_second,
        output_bytes_per_day: tenant.output_bytes_per_day,
    };
    (tenant.name.clone(), own)
}

pub(super) fn stream_limits(config: &Config) -> StreamLimits {
    let ring_bytes = config.limits.ring_bytes;
    StreamLimits {
        readers_per_execution: config.limits.readers_per_execution,
        readers: config.limits.readers,
        readers_per_tenant: config.limits.readers_per_tenant,
        ring_bytes,
        ahead_bytes: ring_bytes as u64 / 2,
        storing_lease: config.link.lease,
        ..StreamLimits::default()
    }
}

pub(super) fn call_limits(config: &Config) -> CallLimits {
    let limits = &config.limits;
    CallLimits {
        waits: limits.waits,
        waits_per_tenant: limits.waits_per_tenant,
        lists: limits.lists,
        lists_per_tenant: limits.lists_per_tenant,
        checks: limits.checks,
        checks_per_tenant: limits.checks_per_tenant,
        timeout: limits.call_timeout,
    }
}

pub(super) fn exchange_limits(config: &Config) -> ExchangeLimits {
    let limits = &config.limits;
    ExchangeLimits {
        exchanges_per_tenant: limits.exchanges_per_tenant,
        exchanges: limits.exchanges,
        exchange_open_wait: limits.exchange_open_wait,
        exchange_answer_wait: limits.exchange_answer_wait,
        transfer_idle: limits.transfer_idle,
        forwards_per_session: limits.forwards_per_session,
        forwards_per_tenant: limits.forwards_per_tenant,
        forwards: limits.forwards,
        forward_idle: limits.forward_idle,
    }
}
