//! Invalid values in requests about a running command, its output, profiles and runners.

use super::*;
use v1::{execution_service_read_output_request::Selection, output_edge::Amount::Lines};

const READ: &str = "/airlock.v1.ExecutionService/ReadOutput";
const RESIZE: &str = "/airlock.v1.ExecutionService/Resize";
const WATCH: &str = "/airlock.v1.ExecutionService/Watch";
const UPDATE: &str = "/airlock.v1.SessionService/Update";
const GET_PROFILE: &str = "/airlock.v1.PolicyService/GetProfile";
const LIST_PROFILES: &str = "/airlock.v1.PolicyService/ListProfiles";

fn read(field: &'static str, said: &'static str, selection: Selection) -> Case {
    let selection = Some(selection);
    let request = v1::ExecutionServiceReadOutputRequest { execution_id: ID.to_owned(), stream: 0, selection };
    case(READ, field, said, &request)
}

fn searches() -> Vec<Case> {
    let good = || v1::OutputSearch { pattern: "x".to_owned(), ..Default::default() };
    let mut cases = Vec::new();
    let mut add = |field, said, search| cases.push(read(field, said, Selection::Search(search)));
    for (said, pattern) in [
        ("is missing", String::new()),
        ("at most 1024", long(limits::PATTERN_BYTES + 1)),
        ("", "(".to_owned()),
        ("", "(?=x)".to_owned()),
        ("", r"(x)\1".to_owned()),
        ("", "(((x{1000}){1000}){1000})".to_owned()),
    ] {
        add("search.pattern", said, v1::OutputSearch { pattern, ..good() });
    }
    for lines in [101, u32::MAX] {
        add("search.before", "at most 100", v1::OutputSearch { before: lines, ..good() });
        add("search.after", "at most 100", v1::OutputSearch { after: lines, ..good() });
    }
    for max_matches in [100_001, u32::MAX] {
        add("search.max_matches", "at most 100000", v1::OutputSearch { max_matches, ..good() });
    }
    cases
}

fn reads() -> Vec<Case> {
    let mut cases = searches();
    for lines in [limits::EDGE_LINES + 1, u64::MAX] {
        let edge = || v1::OutputEdge { amount: Some(Lines(lines)) };
        cases.push(read("head.lines", "1000000", Selection::Head(edge())));
        cases.push(read("tail.lines", "1000000", Selection::Tail(edge())));
    }
    for stream in [99, -1] {
        let request =
            v1::ExecutionServiceReadOutputRequest { execution_id: ID.to_owned(), stream, selection: None };
        cases.push(case(READ, "stream", UNKNOWN, &request));
    }
    cases
}

fn size(rows: u32, cols: u32) -> Option<v1::TerminalSize> {
    Some(v1::TerminalSize { rows, cols })
}

fn controls() -> Vec<Case> {
    let mut cases = Vec::new();
    for (said, id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        let alone = v1::ExecutionServiceDetachRequest { execution_id: id.clone() };
        for path in ["Detach", "ReadOutput", "WriteStdin"] {
            let path = match path {
                "Detach" => "/airlock.v1.ExecutionService/Detach",
                "ReadOutput" => READ,
                _ => "/airlock.v1.ExecutionService/WriteStdin",
            };
            cases.push(case(path, "execution_id", said, &alone));
        }
        let signal =
            v1::ExecutionServiceSignalRequest { execution_id: id.clone(), signal: v1::Signal::Int.into() };
        cases.push(case("/airlock.v1.ExecutionService/Signal", "execution_id", said, &signal));
        let resize = v1::ExecutionServiceResizeRequest { execution_id: id.clone(), size: size(24, 80) };
        cases.push(case(RESIZE, "execution_id", said, &resize));
        let session = v1::SessionServiceUpdateRequest { session_id: id, ..Default::default() };
        cases.push(case(UPDATE, "session_id", said, &session));
    }
    for (said, session_id) in bad_ids() {
        let request = v1::ExecutionServiceWatchRequest { session_id, ..Default::default() };
        cases.push(case(WATCH, "session_id", said, &request));
    }
    for cursor in [&b"garbage"[..], &[0; 64], &[1; limits::CURSOR_BYTES + 1]] {
        let cursor = Bytes::copy_from_slice(cursor);
        let request = v1::ExecutionServiceWatchRequest { cursor, ..Default::default() };
        cases.push(case(WATCH, "cursor", "", &request));
    }
    for signal in [0, 10, 99, -1] {
        let request = v1::ExecutionServiceSignalRequest { execution_id: ID.to_owned(), signal };
        cases.push(case("/airlock.v1.ExecutionService/Signal", "signal", "", &request));
    }
    for side in [0, 4097, u32::MAX] {
        for (field, size) in [("size.rows", size(side, 80)), ("size.cols", size(24, side))] {
            let request = v1::ExecutionServiceResizeRequest { execution_id: ID.to_owned(), size };
            cases.push(case(RESIZE, field, "must be 1 to 4096", &request));
        }
    }
    for mode in [99, -1] {
        let request =
            v1::SessionServiceUpdateRequest { session_id: ID.to_owned(), mode, ..Default::default() };
        cases.push(case(UPDATE, "mode", UNKNOWN, &request));
    }
    for (said, idle_timeout) in bad_times(24 * 3600 + 1) {
        let request =
            v1::SessionServiceUpdateRequest { session_id: ID.to_owned(), idle_timeout, ..Default::default() };
        cases.push(case(UPDATE, "idle_timeout", said, &request));
    }
    cases
}

fn profiles() -> Vec<Case> {
    let mut cases = Vec::new();
    for (said, name) in bad_names() {
        let request = v1::PolicyServiceGetProfileRequest { name: name.clone(), view: 0 };
        cases.push(case(GET_PROFILE, "name", said, &request));
        let filter = Some(v1::ProfileFilter { name_prefix: name });
        let request = v1::PolicyServiceListProfilesRequest { filter, ..Default::default() };
        cases.push(case(LIST_PROFILES, "filter.name_prefix", said, &request));
    }
    for view in [99, -1] {
        let request = v1::PolicyServiceGetProfileRequest { name: String::new(), view };
        cases.push(case(GET_PROFILE, "view", UNKNOWN, &request));
        let request = v1::PolicyServiceListProfilesRequest { view, ..Default::default() };
        cases.push(case(LIST_PROFILES, "view", UNKNOWN, &request));
    }
    for (field, said, page) in bad_pages() {
        let request = v1::PolicyServiceListProfilesRequest { page: Some(page), ..Default::default() };
        cases.push(case(LIST_PROFILES, field, said, &request));
    }
    for (_, runner_id) in bad_names() {
        let said = ALPHABET;
        let drain = v1::AdminServiceDrainRunnerRequest { runner_id: runner_id.clone(), undo: false };
        cases.push(case("/airlock.v1.AdminService/DrainRunner", "runner_id", said, &drain));
        let capabilities = v1::AdminServiceGetCapabilitiesRequest { runner_id };
        cases.push(case("/airlock.v1.AdminService/GetCapabilities", "runner_id", said, &capabilities));
    }
    cases
}

/// Returns every case.
pub(super) fn all() -> Vec<Case> {
    [reads(), controls(), profiles()].concat()
}
