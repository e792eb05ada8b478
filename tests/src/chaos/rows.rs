//! The rows of the fault table: the injections of each row, and its checks in addition to the consistency check.

mod away;
mod client;
mod clients;
mod disk;
mod points;
mod readers;
mod row;
mod states;
mod stops;
mod store;

pub use points::accepted_and_no_more;
pub use row::Row;

use super::plan::Plan;

impl Row {
    /// Runs the plan's injections in sequence.
    ///
    /// # Panics
    /// At the first violated guarantee.
    pub async fn run(self, plan: &Plan) {
        match self {
            Self::StreamCut => Box::pin(client::over(plan)).await,
            Self::LiveStreamCut => Box::pin(client::live(plan)).await,
            Self::SlowReader => readers::slow(plan).await,
            Self::ServerPoint => points::server(plan).await,
            Self::RunnerPoint => points::runner(plan).await,
            Self::NewRunner => points::new_runner(plan).await,
            Self::ServerMoment => away::server_moment(plan).await,
            Self::RunnerMoment => away::runner_moment(plan).await,
            Self::Away => away::short(plan).await,
            Self::AwayForGood => away::long(plan).await,
            Self::HeldState => states::held(plan).await,
            Self::StoreGone => store::gone(plan).await,
            Self::DiskFull => Box::pin(disk::full(plan)).await,
            Self::RunnerStops => stops::runner(plan).await,
            Self::ServerStops => stops::server(plan).await,
        }
    }
}
