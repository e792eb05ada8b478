//! The published examples of AWS: its test suite of Signature Version 4, and the example of its documentation.

use super::*;
use crate::inspection::secret::SecretValue;

fn key(service: &str) -> AwsKey {
    AwsKey {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret: SecretValue::new(b"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_vec()),
        region: "us-east-1".to_owned(),
        service: service.to_owned(),
    }
}

fn signed(service: &str, method: &str, uri: &str, headers: &[(&str, &str)], body: &[u8]) -> Option<String> {
    let mut request = Request::builder().method(method).uri(uri).header("x-amz-date", "20150830T123600Z");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let given = format!(
        "AWS4-HMAC-SHA256 Credential=placeholder/20150830/us-east-1/{service}/aws4_request, \
         SignedHeaders=content-type;host;my-header1;x-amz-date, Signature=0"
    );
    let scope = Scope::parse(&given).unwrap();
    assert!(scope.fits("placeholder", &key(service)) && !scope.fits("other", &key(service)));
    let text = authorization(&key(service), &scope, &request.body(()).unwrap(), Some(body))?;
    let expected =
        format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request, ");
    assert!(text.starts_with(&expected), "{text}");
    Some(text.rsplit_once("Signature=").unwrap().1.to_owned())
}

#[test]
fn the_published_examples_have_the_published_signatures() {
    let host = ("host", "example.amazonaws.com");
    for (name, method, uri, headers, expected) in [
        (
            "get-vanilla",
            "GET",
            "/",
            &[host][..],
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "get-vanilla-query-order-key-case",
            "GET",
            "/?Param2=value2&Param1=value1",
            &[host],
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "post-vanilla",
            "POST",
            "/",
            &[host],
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
    ] {
        assert_eq!(signed("service", method, uri, headers, b"").as_deref(), Some(expected), "{name}");
    }
    let list =
        [("host", "iam.amazonaws.com"), ("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
    let list = signed("iam", "GET", "/?Action=ListUsers&Version=2010-05-08", &list, b"");
    assert_eq!(list.unwrap(), "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
    assert_eq!(
        hex::encode(&*signing_key(&key("iam"), "20150830").unwrap()),
        "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
    );
}

#[test]
fn what_changes_a_request_changes_its_signature() {
    let host = ("host", "example.amazonaws.com");
    let base = signed("service", "POST", "/a?b=c", &[host, ("my-header1", "x")], b"body").unwrap();
    for other in [
        signed("service", "PUT", "/a?b=c", &[host, ("my-header1", "x")], b"body"),
        signed("service", "POST", "/a2?b=c", &[host, ("my-header1", "x")], b"body"),
        signed("service", "POST", "/a?b=d", &[host, ("my-header1", "x")], b"body"),
        signed("service", "POST", "/a?b=c", &[host, ("my-header1", "y")], b"body"),
        signed("service", "POST", "/a?b=c", &[host, ("my-header1", "x")], b"other"),
        signed("service", "POST", "/a?b=c", &[host, ("my-header1", "x"), ("x-amz-acl", "z")], b"body"),
        signed("iam", "POST", "/a?b=c", &[host, ("my-header1", "x")], b"body"),
    ] {
        assert_ne!(other.unwrap(), base);
    }
    let same = signed("service", "POST", "/a?b=c", &[host, ("my-header1", "x"), ("unsigned", "z")], b"body");
    assert_eq!(same.unwrap(), base, "the control: a header that is not signed");
}

#[test]
fn a_request_that_cannot_be_signed_is_not() {
    let host = ("host", "example.amazonaws.com");
    for hash in ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "x", ""] {
        assert_eq!(signed("s3", "PUT", "/", &[host, (BODY_HASH, hash)], b""), None, "{hash}");
    }
    assert!(signed("s3", "PUT", "/", &[host, (BODY_HASH, UNSIGNED)], b"").is_some(), "the control");
    for header in [
        "",
        "Bearer x",
        "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host",
        "AWS4-HMAC-SHA256 Credential=a/1/r/s/aws4_request",
    ] {
        assert!(Scope::parse(header).is_none(), "{header}");
    }
}
