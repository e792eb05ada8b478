//! The first message of a forwarded connection.

use airlock_proto::v1;

use super::{Case, ID, bad_ids, case};

const PATH: &str = "/airlock.v1.SessionService/Forward";

pub(super) fn forwards() -> Vec<Case> {
    let request = |session_id: String, port| {
        let open = v1::ForwardOpen { session_id, port };
        let message = Some(v1::session_service_forward_request::Message::Open(open));
        v1::SessionServiceForwardRequest { message }
    };
    let mut cases = Vec::new();
    for (said, id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        cases.push(case(PATH, "open.session_id", said, &request(id, 8000)));
    }
    for (said, port) in [("is 0", 0), ("is 65536", 65_536), ("is 4294967295", u32::MAX)] {
        cases.push(case(PATH, "open.port", said, &request(ID.to_owned(), port)));
    }
    cases.push(case(
        PATH,
        "open",
        "must be in the first message",
        &v1::SessionServiceForwardRequest::default(),
    ));
    cases
}
