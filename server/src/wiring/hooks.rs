//! The clients of the hooks in the configuration.

use std::sync::Arc;

use airlock_hooks::{HookClients, HookError, HookObserver, HookOptions, TlsFiles};

use crate::{
    config::{Config, Hook},
    grpc,
    telemetry::Metrics,
};

/// Creates the clients, and reads their files. Connections are opened by the first calls. Blocks. Requires a runtime.
pub(super) fn clients(config: &Config, metrics: &Metrics) -> Result<HookClients, HookError> {
    let observer: Arc<dyn HookObserver> = Arc::new(metrics.clone());
    let options = config.hooks.iter().map(|(name, hook)| (name.clone(), options(hook))).collect();
    // A hook gets the same result as clients.
    HookClients::new(options, &observer).map(|clients| clients.explaining(grpc::explain))
}

fn options(hook: &Hook) -> HookOptions {
    // Without an authority, the checks of the configuration permit only plain text on a loopback address.
    let tls = hook.ca.clone().map(|ca| TlsFiles {
        ca,
        identity: hook.certificate.clone().zip(hook.key.clone()),
        server_name: hook.server_name.clone(),
    });
    HookOptions {
        address: hook.address.clone(),
        tls,
        timeout: hook.timeout,
        in_flight: hook.in_flight,
        breaker_failures: hook.breaker_failures,
        breaker_wait: hook.breaker_wait,
    }
}
