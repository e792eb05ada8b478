//! The variables by which programs find the proxy of their execution.
//!
//! Pure. Must not name a program or file that a sandbox may lack.

use airlock_sandbox::PROXY_VARIABLE;

/// The user name that belongs to the credential. It has no meaning.
const USER: &str = "airlock";
/// Destinations that programs reach without the proxy: the session's own servers.
const DIRECT: &str = "localhost,127.0.0.1,::1";

/// The variable with options for every virtual machine of Java.
pub(crate) const JAVA_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Returns the variables for a proxy at this port of the session's loopback, which expects this credential.
///
/// * `HTTP_PROXY` is set in upper case too. CGI programs take it from a request header (httpoxy). Here this cannot
///   redirect them, because only the session's own loopback is reachable.
/// * The two spellings of `ALL_PROXY` have different schemes. Python's httpx reads the lower one, and fails if it names
///   SOCKS and no SOCKS library is installed. Programs that read only the upper one, such as those of Go, know SOCKS.
/// * `FTP_PROXY` is missing: the proxy does not translate FTP.
/// * pip, npm, uv, cargo, go, apt and git read `HTTPS_PROXY` or `https_proxy`, so they need no setting of their own.
/// * Java's clients send no credential that an option can set. The proxy recognizes them as processes of the execution.
///   Java does not use the proxy for `localhost` and `127.*` by default.
/// * ssh needs no variable: its configuration in the sandbox names the proxy.
pub(crate) fn proxy_variables(port: u16, token: &str) -> Vec<(String, String)> {
    let http = format!("http://{USER}:{token}@127.0.0.1:{port}");
    let socks = format!("socks5h://{USER}:{token}@127.0.0.1:{port}");
    let java =
        ["http", "https"].map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"));
    let java = java.join(" ");
    let one = [
        (PROXY_VARIABLE, http.as_str()),
        ("ALL_PROXY", &socks),
        ("all_proxy", &http),
        (JAVA_OPTIONS, &java),
        ("NODE_USE_ENV_PROXY", "1"),
    ];
    let both =
        [("HTTP_PROXY", http.as_str()), ("HTTPS_PROXY", &http), ("GRPC_PROXY", &http), ("NO_PROXY", DIRECT)];
    let lower = both.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    let upper = one.into_iter().chain(both).map(|(name, value)| (name.to_owned(), value.to_owned()));
    upper.chain(lower).collect()
}
