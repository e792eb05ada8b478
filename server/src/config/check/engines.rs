//! Checks of the store and the output storage: each has exactly one location, with matching keys.

use std::path::Path;

use airlock_store::postgres::TlsMode;
use url::Url;

use super::findings::Findings;
use crate::config::{Config, DatabaseUrl, Postgres, S3};

/// Reports all problems except those of files.
pub(super) fn check(config: &Config, found: &mut Findings) {
    let (store, outputs) = (&config.store, &config.outputs);
    one_of(found, "store", ("path", store.path.is_some()), ("store.postgres", store.postgres.is_some()));
    one_of(
        found,
        "outputs",
        ("directory", outputs.directory.is_some()),
        ("outputs.s3", outputs.s3.is_some()),
    );
    found.require(
        store.postgres.is_none() || store.durability == Default::default(),
        "store.durability",
        "it applies to SQLite only",
        "remove it; in PostgreSQL, set synchronous_commit",
    );
    if let Some(postgres) = &store.postgres {
        postgres_problems(postgres, found);
    }
    if let Some(s3) = &outputs.s3 {
        s3_problems(s3, found);
    }
}

/// Reports problems of the files that the sections name.
pub(super) fn check_files(config: &Config, found: &mut Findings) {
    if let Some(postgres) = &config.store.postgres {
        files(
            found,
            "store.postgres",
            &[
                ("password_file", postgres.password_file.as_deref()),
                ("ca", postgres.ca.as_deref()),
                ("certificate", postgres.certificate.as_deref()),
                ("key", postgres.key.as_deref()),
            ],
        );
    }
    if let Some(s3) = &config.outputs.s3 {
        files(
            found,
            "outputs.s3",
            &[
                ("ca", s3.ca.as_deref()),
                ("access_key_id_file", s3.access_key_id_file.as_deref()),
                ("secret_access_key_file", s3.secret_access_key_file.as_deref()),
            ],
        );
    }
}

fn files(found: &mut Findings, section: &str, named: &[(&str, Option<&Path>)]) {
    for (key, file) in named {
        if let Some(file) = file {
            found.readable(&format!("{section}.{key}"), file);
        }
    }
}

/// Requires exactly one of two locations.
fn one_of(found: &mut Findings, section: &str, here: (&str, bool), there: (&str, bool)) {
    let ((key, has_key), (table, has_table)) = (here, there);
    found.require(
        has_key || has_table,
        section,
        "no location is configured",
        format!("set {key}, or add a table [{table}]"),
    );
    found.require(
        !(has_key && has_table),
        &format!("{section}.{key}"),
        format!("it conflicts with [{table}]"),
        "remove one of the two",
    );
}

fn postgres_problems(postgres: &Postgres, found: &mut Findings) {
    if let Err(what) = postgres.url.parse::<DatabaseUrl>() {
        found.require(
            false,
            "store.postgres.url",
            what,
            "write postgres://USER@HOST:PORT/DATABASE, and set password_file to a file that contains the password",
        );
    }
    found.require(
        postgres.certificate.is_some() == postgres.key.is_some(),
        "store.postgres.certificate",
        "only one of certificate and key is set",
        "set both, or neither",
    );
    let checks = matches!(postgres.sslmode, TlsMode::VerifyCa | TlsMode::VerifyFull);
    found.require(
        checks || postgres.ca.is_none(),
        "store.postgres.ca",
        "this sslmode does not verify certificates",
        "set sslmode to verify-full, or remove ca",
    );
    found.require(
        postgres.lock_timeout <= postgres.statement_timeout,
        "store.postgres.lock_timeout",
        format!("{:?} is longer than statement_timeout", postgres.lock_timeout),
        "lower it, or raise statement_timeout",
    );
}

fn s3_problems(s3: &S3, found: &mut Findings) {
    found.require(
        s3.access_key_id_file.is_some() == s3.secret_access_key_file.is_some(),
        "outputs.s3.access_key_id_file",
        "only one of access_key_id_file and secret_access_key_file is set",
        "set both, or neither to use AWS's environment variables",
    );
    found.require(
        object_store::path::Path::parse(&s3.prefix).is_ok(),
        "outputs.s3.prefix",
        "it is not a valid prefix of an object's name",
        "use parts of letters, digits, `-`, `_` and `.`, separated by one `/`",
    );
    let Some(endpoint) = &s3.endpoint else { return };
    let scheme = Url::parse(endpoint).ok().filter(Url::has_host).map(|url| url.scheme().to_owned());
    match scheme.as_deref() {
        Some("https") => {}
        Some("http") => found.require(
            s3.insecure_http,
            "outputs.s3.endpoint",
            "it is not encrypted",
            "use https://, or set insecure_http = true on a trusted network",
        ),
        _ => found.require(
            false,
            "outputs.s3.endpoint",
            "it is not the address of an S3 storage",
            "use an address such as https://s3.example.org, or remove it to use AWS",
        ),
    }
}
