//! Converts OTLP metrics to OpenMetrics with timestamps, with the names that the OpenTelemetry Collector uses
//! for Prometheus.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use airlock_telemetry::{Description, Kind, series_of};
use airlock_tests::collector::Measured;
use opentelemetry_proto::tonic::{
    common::v1::{KeyValue, any_value::Value},
    metrics::v1::{HistogramDataPoint, NumberDataPoint, metric::Data, number_data_point},
};

/// The values of one series by time (in milliseconds).
type Samples = BTreeMap<u64, f64>;

/// All series by name, and by labels.
#[derive(Default)]
struct Series(BTreeMap<String, BTreeMap<String, Samples>>);

/// Returns the measurements of every metric in the tables.
pub(crate) fn of(measured: &[Measured]) -> String {
    let tables = airlock_server::telemetry::metrics::TABLE.iter().chain(airlock_runner::METRICS);
    let known: BTreeMap<&str, &Description> = tables.map(|metric| (metric.name, metric)).collect();
    let mut series = Series::default();
    for one in measured {
        if let Some(description) = known.get(one.metric.name.as_str()) {
            series.add(one, description);
        }
    }
    series.text()
}

impl Series {
    fn add(&mut self, measured: &Measured, description: &Description) {
        let names: Vec<String> = series_of(description).into_iter().map(|series| series.name).collect();
        let common = vec![
            ("job".to_owned(), measured.job.clone()),
            ("instance".to_owned(), measured.instance.clone()),
        ];
        match &measured.metric.data {
            Some(Data::Gauge(gauge)) => self.numbers(&names, &gauge.data_points, &common),
            Some(Data::Sum(sum)) => self.numbers(&names, &sum.data_points, &common),
            Some(Data::Histogram(all)) => {
                assert_eq!(description.kind, Kind::Histogram);
                for point in &all.data_points {
                    self.histogram(&names, point, &common);
                }
            }
            Some(Data::ExponentialHistogram(_) | Data::Summary(_)) | None => {}
        }
    }

    fn numbers(&mut self, names: &[String], points: &[NumberDataPoint], common: &[(String, String)]) {
        for point in points {
            let value = match point.value {
                #[expect(clippy::cast_precision_loss, reason = "pictures need no higher precision")]
                Some(number_data_point::Value::AsInt(value)) => value as f64,
                Some(number_data_point::Value::AsDouble(value)) => value,
                None => continue,
            };
            let labels = labels(&point.attributes, common, None);
            self.put(names.first().unwrap(), labels, point.time_unix_nano, value);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "pictures need no higher precision")]
    fn histogram(&mut self, names: &[String], point: &HistogramDataPoint, common: &[(String, String)]) {
        let [bucket, sum, count] = names else { return };
        let mut below = 0;
        let bounds = point.explicit_bounds.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        for (bound, inside) in bounds.zip(&point.bucket_counts) {
            below += inside;
            let labels = labels(&point.attributes, common, Some(bound));
            self.put(bucket, labels, point.time_unix_nano, below as f64);
        }
        let labels = labels(&point.attributes, common, None);
        self.put(sum, labels.clone(), point.time_unix_nano, point.sum.unwrap_or_default());
        self.put(count, labels, point.time_unix_nano, point.count as f64);
    }

    fn put(&mut self, name: &str, labels: String, nanos: u64, value: f64) {
        self.0
            .entry(name.to_owned())
            .or_default()
            .entry(labels)
            .or_default()
            .insert(nanos / 1_000_000, value);
    }

    /// Formats the series. Each one is a family, so that all its samples are adjacent.
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, all) in &self.0 {
            writeln!(text, "# TYPE {name} unknown").unwrap();
            for (labels, samples) in all {
                for (millis, value) in samples {
                    writeln!(text, "{name}{{{labels}}} {value} {}.{:03}", millis / 1000, millis % 1000)
                        .unwrap();
                }
            }
        }
        text + "# EOF\n"
    }
}

fn labels(attributes: &[KeyValue], common: &[(String, String)], bound: Option<String>) -> String {
    let own = attributes.iter().filter_map(|attribute| match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some((attribute.key.replace('.', "_"), text.clone())),
        _ => None,
    });
    let bound = bound.map(|bound| ("le".to_owned(), bound));
    let all: BTreeSet<(String, String)> = own.chain(common.iter().cloned()).chain(bound).collect();
    let all: Vec<String> = all.into_iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    all.join(",")
}
