//! The endpoint of a server. It follows changes of the files with the runner's certificate, key and CA. The next
//! connection uses the current contents. Open connections stay.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tonic::transport::Endpoint;

use super::{dial, end::LinkEnd};
use crate::config::ServerConfig;

/// The interval between checks of the files.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// The endpoint of one server, for one link.
pub(super) struct EndpointSource {
    server: ServerConfig,
    timeout: Duration,
    current: Mutex<Current>,
}

struct Current {
    endpoint: Endpoint,
    material: dial::Material,
    /// Incremented with each change.
    version: u64,
    checked: Instant,
    /// The problem with the current files, so that it is logged once.
    problem: Option<String>,
}

impl EndpointSource {
    /// Reads the files. Blocks briefly.
    ///
    /// # Errors
    /// [`LinkEnd::Lost`] if they cannot be used.
    pub(super) fn new(server: &ServerConfig, timeout: Duration) -> Result<Self, LinkEnd> {
        let material = dial::Material::read(server)?;
        let endpoint = dial::endpoint(server, &material, timeout)?;
        let current = Current { endpoint, material, version: 0, checked: Instant::now(), problem: None };
        Ok(Self { server: server.clone(), timeout, current: Mutex::new(current) })
    }

    /// Returns the endpoint for the next connection, and its version. Checks the files at most once a second. While
    /// they are invalid, the last valid endpoint stays in use.
    pub(super) fn endpoint(&self) -> (Endpoint, u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.checked.elapsed() >= CHECK_PERIOD {
            current.checked = Instant::now();
            current.reload(&self.server, self.timeout);
        }
        (current.endpoint.clone(), current.version)
    }
}

impl Current {
    fn reload(&mut self, server: &ServerConfig, timeout: Duration) {
        let read = dial::Material::read(server);
        let made = read.and_then(|material| {
            let is_new = material != self.material;
            let endpoint = is_new.then(|| dial::endpoint(server, &material, timeout)).transpose()?;
            Ok(endpoint.map(|endpoint| (endpoint, material)))
        });
        self.problem = match made {
            Ok(None) => None,
            Ok(Some((endpoint, material))) => {
                tracing::info!(server = server.endpoint, "new certificates loaded; new connections use them");
                (self.endpoint, self.material) = (endpoint, material);
                self.version += 1;
                None
            }
            Err(end) => {
                let problem = end.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::error!(
                        server = server.endpoint,
                        problem,
                        "cannot load new certificates; the previous ones stay in use"
                    );
                }
                Some(problem)
            }
        };
    }
}
