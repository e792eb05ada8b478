//! The rows of deliveries to hooks.

use super::{
    row::row,
    rows::{count, id},
};
use crate::{Delivery, StoreError, record::Micros};

row! {
    /// A row of `hook_deliveries`.
    pub(crate) struct DeliveryRow {
        execution_id: String,
        hook: String,
        tenant: String,
        attempt: i64,
        created: i64,
    }
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = StoreError;

    fn try_from(row: DeliveryRow) -> Result<Self, StoreError> {
        Ok(Self {
            execution_id: id("execution_id", &row.execution_id)?,
            hook: row.hook,
            tenant: row.tenant,
            attempt: count("attempt", row.attempt)?,
            created: Micros(row.created),
        })
    }
}
