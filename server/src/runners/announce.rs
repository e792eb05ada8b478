//! The data that this server announces to the other servers of the store.

use airlock_domain::{Epoch, RunnerId};
use airlock_store::{StoreError, record::ServerRecord};

use super::Runners;
use crate::control::micros;

/// The links that this server announced last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced(Option<Vec<(RunnerId, Epoch)>>);

impl Runners {
    /// Announces this server and its links, if they have changed or `due` is set.
    pub(crate) async fn announce(&self, last: &mut Announced, due: bool) -> Result<(), StoreError> {
        let mut links: Vec<(RunnerId, Epoch)> = self
            .links
            .all()
            .iter()
            .filter(|link| link.is_reconciled() && !link.has_ended())
            .map(|link| (link.hello.runner_id.clone(), link.hello.epoch))
            .collect();
        links.sort_by(|one, other| one.0.cmp(&other.0));
        if due || last.0.as_ref() != Some(&links) {
            let record = ServerRecord { links: links.clone(), ..self.server_record() };
            self.store.announce(&record, micros(self.limits.lease)).await?;
            last.0 = Some(links);
        }
        Ok(())
    }

    /// Announces that this server is stopping.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        self.store.announce(&self.server_record(), 0).await
    }

    fn server_record(&self) -> ServerRecord {
        let (id, address) = (self.server_id.clone(), self.advertise.clone());
        ServerRecord { id, address, links: Vec::new() }
    }

    /// Returns how many of the runners with a link to any other server have a link to this one, and their total
    /// number.
    #[must_use]
    pub fn coverage(&self) -> (usize, usize) {
        let live = self.fleet.runners();
        let is_linked = |runner: &&RunnerId| self.links.get(runner).is_some_and(|link| link.is_reconciled());
        (live.iter().filter(is_linked).count(), live.len())
    }
}
