//! Attempts to get a secret: in requests beyond its binding, in answers, and in reports. The control of each is the same
//! request within the binding, or the same answer without the search.

use std::{io::Write as _, sync::Arc};

use airlock_egress::{AwsKey, HeaderName, Inspection, Secret, SecretUse, SecretValue};
use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    fixture::{Execution, Fixture, allow, status},
    site::{Reply, Site, ask, request_rules},
    target::Target,
};

/// The secret. Its Base64 form has characters at each position.
const VALUE: &str = "s3cret/Value+0123456789";
const VARIABLE: &str = "TOKEN";

fn secret(bound: &[&str], narrowed: &[&str], port: u16) -> Secret {
    Secret {
        kind: SecretUse::Header {
            header: HeaderName::from_static("authorization"),
            variable: VARIABLE.to_owned(),
            value: SecretValue::new(VALUE.as_bytes().to_vec()),
        },
        bound: request_rules(bound, port),
        narrowed: request_rules(narrowed, port),
    }
}

/// An execution with a secret for `GET` and `POST` requests below `/allowed` of `web.test`.
struct World {
    fixture: Fixture,
    site: Site,
    execution: Execution,
    inspection: Arc<Inspection>,
    placeholder: String,
}

impl World {
    async fn new(reply: Reply) -> Self {
        Self::with(reply, &["GET,POST,TRACE web.test:PORT/allowed"], &[], &["other.test:PORT"]).await
    }

    async fn with(reply: Reply, bound: &[&str], narrowed: &[&str], rules: &[&str]) -> Self {
        let (fixture, site) = (Fixture::new(), Site::start(reply).await);
        let secrets = vec![secret(bound, narrowed, site.port)];
        let made = Inspection::new(site.trust(), request_rules(rules, site.port), secrets);
        let inspection = Arc::new(made.unwrap());
        let names = allow(&["web.test", "other.test"], site.port);
        let execution = fixture.inspect(&names, &inspection).await;
        let (variable, placeholder) = inspection.variables().remove(0);
        assert_eq!(variable, VARIABLE);
        Self { fixture, site, execution, inspection, placeholder }
    }

    fn target(&self) -> String {
        format!("web.test:{}", self.site.port)
    }

    /// Sends a request with these headers, in which `PLACEHOLDER` is replaced, and returns the answer.
    async fn send(&self, target: &str, line: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {target}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"
        );
        let request = request.replace("PLACEHOLDER", &self.placeholder);
        ask(&self.execution, &self.inspection, target, &request).await
    }

    async fn bearer(&self) -> String {
        self.send(&self.target(), "GET /allowed", "Authorization: Bearer PLACEHOLDER\r\n", "").await
    }
}

#[tokio::test]
async fn a_request_within_the_binding_carries_the_secret() {
    let it = World::new(Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..].into())).await;
    let basic = |credential: String| format!("Basic {}", BASE64_STANDARD.encode(credential));
    let placed = |text: &str| text.replace("PLACEHOLDER", &it.placeholder);
    for (line, header, expected) in [
        ("GET /allowed", "Authorization: Bearer PLACEHOLDER".to_owned(), format!("Bearer {VALUE}")),
        ("POST /allowed/x?y", "authorization: token PLACEHOLDER".to_owned(), format!("token {VALUE}")),
        ("GET /allowed/", "AUTHORIZATION: PLACEHOLDER".to_owned(), VALUE.to_owned()),
        (
            "GET /allowed",
            format!("Authorization: {}", basic(placed("x-token:PLACEHOLDER"))),
            basic(format!("x-token:{VALUE}")),
        ),
    ] {
        let answer = it.send(&it.target(), line, &format!("{header}\r\n"), "").await;
        assert!(answer.ends_with("ok\r\n0\r\n\r\n"), "{answer}");
        let seen = it.site.take();
        assert!(seen.contains(&format!("authorization: {expected}\r\n")), "{line} {header}: {seen}");
        assert!(!seen.contains(&it.placeholder), "{seen}");
    }
}

#[tokio::test]
async fn no_request_beyond_the_binding_carries_the_secret() {
    let it = World::new(Reply::Reflect).await;
    let bearer = "Authorization: Bearer PLACEHOLDER\r\n";
    let (web, other) = (it.target(), format!("other.test:{}", it.site.port));
    for (label, target, line, headers, body) in [
        ("another host", &other, "GET /allowed", bearer, ""),
        ("another method", &web, "PUT /allowed", bearer, ""),
        ("a method in lower case", &web, "get /allowed", bearer, ""),
        ("another path", &web, "GET /", bearer, ""),
        ("a longer segment", &web, "GET /allowedx", bearer, ""),
        ("another case of the path", &web, "GET /Allowed", bearer, ""),
        ("dots", &web, "GET /allowed/../other", bearer, ""),
        ("encoded dots", &web, "GET /allowed/%2e%2e/other", bearer, ""),
        ("half encoded dots", &web, "GET /allowed/.%2E/other", bearer, ""),
        ("an encoded slash", &web, "GET /allowed/..%2fother", bearer, ""),
        ("twice encoded dots", &web, "GET /allowed/%252e%252e/other", bearer, ""),
        ("a backslash", &web, "GET /allowed/..%5cother", bearer, ""),
        ("a path parameter", &web, "GET /allowed/..;/other", bearer, ""),
        ("two slashes", &web, "GET /allowed//other", bearer, ""),
        ("the query", &web, "GET /?/allowed", bearer, ""),
        ("another header", &web, "GET /allowed", "X-Token: PLACEHOLDER\r\n", ""),
        ("a longer name of the header", &web, "GET /allowed", "Authorization-X: PLACEHOLDER\r\n", ""),
        ("a repeated header", &web, "GET /allowed", "Authorization: a\r\nAuthorization: PLACEHOLDER\r\n", ""),
        ("the header of the proxy", &web, "GET /allowed", "Proxy-Authorization: PLACEHOLDER\r\n", ""),
        (
            "a header of one hop",
            &web,
            "GET /allowed",
            "Connection: authorization\r\nAuthorization: PLACEHOLDER\r\n",
            "",
        ),
        ("the body", &web, "POST /allowed", "", "PLACEHOLDER"),
        ("the URL", &web, "GET /allowed/PLACEHOLDER", "", ""),
        ("the query with the placeholder", &web, "GET /allowed?PLACEHOLDER", "", ""),
        ("a part of the placeholder", &web, "GET /allowed", "Authorization: airlock_placeholder_\r\n", ""),
        (
            "another placeholder",
            &web,
            "GET /allowed",
            "Authorization: airlock_placeholder_0000000000\r\n",
            "",
        ),
        (
            "overridden",
            &web,
            "GET /allowed",
            "X-HTTP-Method-Override: PUT\r\nAuthorization: PLACEHOLDER\r\n",
            "",
        ),
    ] {
        let answer = it.send(target, line, headers, body).await;
        let seen = it.site.take();
        assert!(!seen.contains(VALUE), "{label}: {seen}");
        assert!(!answer.contains(VALUE), "{label}: {answer}");
        // The control.
        it.bearer().await;
        assert!(it.site.take().contains(VALUE), "{label}: the control");
    }
}

#[tokio::test]
async fn plain_http_and_other_ports_carry_no_secret() {
    let it = World::new(Reply::Reflect).await;
    // The same host, without TLS. The rule of the secret names this port.
    let plain = Target::web().await;
    let bound = [secret(&["web.test:PORT"], &[], plain.port)];
    let inspection = Inspection::new(it.site.trust(), Vec::new(), bound.to_vec());
    let inspection = Arc::new(inspection.unwrap());
    let execution = it.fixture.inspect(&allow(&["web.test"], plain.port), &inspection).await;
    let placeholder = inspection.variables().remove(0).1;
    let url = format!("http://web.test:{}/", plain.port);
    let head = format!(
        "GET {url} HTTP/1.1\r\nHost: web.test:{}\r\n{}Authorization: {placeholder}\r\nConnection: close\r\n\r\n",
        plain.port,
        execution.header()
    );
    execution.send(head).await;
    let (mut tunnel, _) = execution.tunnel(&format!("web.test:{}", plain.port)).await;
    let inside = format!(
        "GET / HTTP/1.1\r\nHost: web.test:{}\r\nAuthorization: {placeholder}\r\nConnection: close\r\n\r\n",
        plain.port
    );
    tokio::io::AsyncWriteExt::write_all(&mut tunnel, inside.as_bytes()).await.unwrap();
    crate::fixture::rest(&mut tunnel).await;
    assert!(!plain.received().contains(VALUE) && plain.received().matches(&placeholder).count() == 2);

    // The same name at another port, with TLS.
    let second = Site::start(Reply::Reflect).await;
    let trust = airlock_egress::Trust::new(&[it.site.authority.clone(), second.authority.clone()]);
    let rules = request_rules(&["web.test:PORT"], second.port);
    let made =
        Inspection::new(Arc::new(trust.unwrap()), rules, vec![secret(&["web.test:PORT"], &[], it.site.port)]);
    let inspection = Arc::new(made.unwrap());
    let placeholder = inspection.variables().remove(0).1;
    for (site, carries) in [(&second, false), (&it.site, true)] {
        let execution = it.fixture.inspect(&allow(&["web.test"], site.port), &inspection).await;
        let target = format!("web.test:{}", site.port);
        let request = format!(
            "GET / HTTP/1.1\r\nHost: {target}\r\nAuthorization: {placeholder}\r\nConnection: close\r\n\r\n"
        );
        ask(&execution, &inspection, &target, &request).await;
        assert_eq!(site.take().contains(VALUE), carries);
    }
}

#[tokio::test]
async fn a_neighbour_does_not_share_the_secret() {
    let it = World::new(Reply::Reflect).await;
    let port = it.site.port;
    let secrets = vec![secret(&["GET web.test:PORT/allowed"], &[], port)];
    let other = Arc::new(Inspection::new(it.site.trust(), Vec::new(), secrets).unwrap());
    let neighbour = it.fixture.inspect(&allow(&["web.test"], port), &other).await;
    let own = other.variables().remove(0).1;
    assert_ne!(own, it.placeholder);
    for (carries, placeholder) in [(false, &it.placeholder), (true, &own)] {
        let target = it.target();
        let request = format!(
            "GET /allowed HTTP/1.1\r\nHost: {target}\r\nAuthorization: {placeholder}\r\nConnection: close\r\n\r\n"
        );
        ask(&neighbour, &other, &target, &request).await;
        assert_eq!(it.site.take().contains(VALUE), carries);
    }
}

#[tokio::test]
async fn a_profile_can_only_narrow_the_binding() {
    let bound = &["GET web.test:PORT/allowed"];
    let narrowed = &["web.test:PORT/allowed/part", "other.test:PORT", "DELETE web.test:PORT"];
    let it = World::with(Reply::Reflect, bound, narrowed, &["other.test:PORT", "web.test:PORT"]).await;
    let (web, other) = (it.target(), format!("other.test:{}", it.site.port));
    for (carries, target, line) in [
        (true, &web, "GET /allowed/part"),
        (false, &web, "GET /allowed"),
        (false, &web, "DELETE /allowed/part"),
        (false, &other, "GET /allowed/part"),
    ] {
        it.send(target, line, "Authorization: PLACEHOLDER\r\n", "").await;
        assert_eq!(it.site.take().contains(VALUE), carries, "{line} {target}");
    }
}

/// Returns an answer with a secret that a site puts instead of `VALUE`.
async fn around(text: &str) -> (World, String) {
    let it = World::new(Reply::Around(text.into())).await;
    let answer = it.bearer().await;
    assert!(it.site.take().contains(VALUE), "the site got the secret: {text}");
    (it, answer)
}

#[tokio::test]
async fn an_answer_contains_the_placeholder_instead_of_the_secret() {
    for reply in [Reply::Reflect, Reply::ReflectSplit] {
        let it = World::new(reply).await;
        for line in ["GET /allowed", "POST /allowed", "TRACE /allowed"] {
            let answer = it.send(&it.target(), line, "Authorization: Bearer PLACEHOLDER\r\n", "").await;
            assert!(it.site.take().contains(VALUE));
            let bytes: String = answer.lines().filter(|line| line.len() != 1).collect();
            assert!(!answer.contains(VALUE) && !bytes.contains(VALUE), "{line}: {answer}");
            assert!(bytes.contains(&it.placeholder), "{line}: {answer}");
        }
    }
    for text in [
        "HTTP/1.1 200 OK\r\nX-Token: VALUE\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=VALUE\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: https://other.test/?VALUE\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK VALUE\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 404 VALUE\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n1\r\na\r\n0\r\nx: VALUE\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nVALUE until the end VALUE",
    ] {
        let (_it, answer) = around(text).await;
        assert!(!answer.contains(VALUE), "{answer}");
        assert!(status(&answer) < 500, "{answer}");
    }
}

#[tokio::test]
async fn other_forms_of_the_secret_are_replaced_too() {
    let percent = "s3cret%2FValue%2B0123456789";
    let forms = [
        BASE64_STANDARD.encode(VALUE),
        BASE64_STANDARD.encode(format!("x:{VALUE}")),
        BASE64_STANDARD.encode(format!("xy:{VALUE}:after")),
        percent.to_owned(),
        percent.replace("%2F", "%2f").replace("%2B", "%2b"),
    ];
    for form in forms {
        let text =
            format!("HTTP/1.1 200 OK\r\nX-Form: {form}\r\nContent-Length: {}\r\n\r\n{form}", form.len());
        let (it, answer) = around(&text).await;
        // The bytes before and after the secret change the first and the last characters of its Base64 form.
        let middle = &form[4..form.len() - 4];
        assert!(!answer.contains(middle), "{form}: {answer}");
        assert_eq!(answer.matches(&it.placeholder).count(), 2, "{form}: {answer}");
    }
}

#[tokio::test]
async fn an_encoded_answer_is_refused_and_none_is_asked_for() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(VALUE.as_bytes()).unwrap();
    let body = gzip.finish().unwrap();
    for (passes, header) in [
        (false, "Content-Encoding: gzip"),
        (false, "content-encoding: identity, gzip"),
        (false, "Content-Encoding: br"),
        (false, "Content-Encoding: zstd"),
        (false, "Content-Encoding: deflate\r\nContent-Encoding: identity"),
        (false, "Content-Encoding: unknown"),
        (true, "Content-Encoding: identity"),
        // The control: the bytes would pass if the header did not tell their encoding.
        (true, "X-Encoding: gzip"),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{header}\r\nContent-Length: {}\r\n\r\n", body.len());
        let it = World::new(Reply::Bytes([head.as_bytes(), &body].concat().into())).await;
        let line = "Authorization: PLACEHOLDER\r\nAccept-Encoding: gzip, br, zstd\r\nRange: bytes=0-3\r\n";
        let answer = it.send(&it.target(), "GET /allowed", line, "").await;
        assert_eq!(status(&answer), if passes { 200 } else { 502 }, "{header}: {answer}");
        let seen = it.site.take();
        assert!(seen.contains("accept-encoding: identity\r\n") && !seen.contains("gzip"), "{seen}");
        assert!(!seen.contains("range"), "parts of an answer cannot be searched: {seen}");
    }
}

#[tokio::test]
async fn neither_reports_nor_debug_forms_contain_the_secret() {
    let mut it = World::new(Reply::Reflect).await;
    it.bearer().await;
    it.send(&it.target(), "GET /other", "Authorization: PLACEHOLDER\r\n", "").await;
    for _ in 0..2 {
        let report = format!("{:?}", it.execution.report().await);
        assert!(
            !report.contains(VALUE) && !report.contains("allowed") && !report.contains("placeholder"),
            "{report}"
        );
    }
    let secret = secret(&["web.test"], &[], 1);
    let shown = format!("{secret:?} {:?}", it.inspection);
    assert!(!shown.contains(VALUE) && !shown.contains("115, 51, 99"), "{shown}");
    assert!(!it.inspection.certificates().contains(VALUE));
}

#[tokio::test]
async fn a_request_to_aws_is_signed_again_within_the_binding() {
    let (fixture, site) = (Fixture::new(), Site::start(Reply::Reflect).await);
    let key = AwsKey {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret: SecretValue::new(VALUE.as_bytes().to_vec()),
        region: "eu-central-1".to_owned(),
        service: "sqs".to_owned(),
    };
    let bound = request_rules(&["POST web.test:PORT/allowed"], site.port);
    let secret = Secret { kind: SecretUse::Aws(key), bound, narrowed: Vec::new() };
    let rules = request_rules(&["web.test:PORT", "other.test:PORT"], site.port);
    let inspection = Arc::new(Inspection::new(site.trust(), rules, vec![secret]).unwrap());
    let execution = fixture.inspect(&allow(&["web.test", "other.test"], site.port), &inspection).await;
    let variables = inspection.variables();
    let placeholder = &variables[0].1;
    assert_eq!(variables[1], ("AWS_SECRET_ACCESS_KEY".to_owned(), placeholder.clone()));
    let long = "x".repeat(1024 * 1024 + 1);
    for (signs, host, line, scope, body) in [
        (true, "web.test", "POST /allowed", "20150830/eu-central-1/sqs", "body"),
        (true, "web.test", "POST /allowed", "20150830/eu-central-1/sqs", ""),
        (false, "web.test", "POST /allowed", "20150830/us-east-1/sqs", "body"),
        (false, "web.test", "POST /allowed", "20150830/eu-central-1/s3", "body"),
        (false, "web.test", "POST /allowed", "20150831/eu-central-1/sqs", "body"),
        (false, "web.test", "POST /other", "20150830/eu-central-1/sqs", "body"),
        (false, "web.test", "PUT /allowed", "20150830/eu-central-1/sqs", "body"),
        (false, "other.test", "POST /allowed", "20150830/eu-central-1/sqs", "body"),
        (false, "web.test", "POST /allowed", "20150830/eu-central-1/sqs", &long),
    ] {
        let target = format!("{host}:{}", site.port);
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {target}\r\nContent-Length: {}\r\nConnection: close\r\n\
             X-Amz-Date: 20150830T123600Z\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential={placeholder}/{scope}/aws4_request, SignedHeaders=host;x-amz-date, Signature=0\r\n\r\n{body}",
            body.len()
        );
        let answer = ask(&execution, &inspection, &target, &request).await;
        let seen = site.take();
        assert_eq!(seen.contains("Credential=AKIDEXAMPLE/20150830"), signs, "{line} {scope}: {seen}");
        assert_eq!(seen.contains("Signature=0\r\n"), !signs && body.len() < 10, "{line} {scope}");
        assert!(!seen.contains(VALUE) && !answer.contains(VALUE), "nobody gets the key");
        assert!(seen.is_empty() || seen.ends_with(body), "the body arrives");
    }
}
